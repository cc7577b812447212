import { NodepoolError } from '../nodepool/errors.ts';

/** What --transient-keys names. Throws NodepoolError when it is invalid. */
export async function transientKeysFrom(text: string | undefined): Promise<readonly string[] | undefined> {
  if (text === undefined) return undefined;
  const { parseTransientKeys, transientKeysProblem } = await import('../nodepool/plan/transient-states.ts');
  const problem = transientKeysProblem(text);
  if (problem !== undefined) throw new NodepoolError('usage', `--transient-keys: ${problem}`);
  return parseTransientKeys(text);
}
