/** The value of `wait --for`. */
import { NodepoolError } from '../../nodepool/errors.ts';
import type { WaitCondition } from '../../nodepool/wait-condition.ts';

/**
 * Parses `status=N`, `nodes=N`, `ready=N`, and `create`, `delete`, `condition=TYPE[=VALUE]` and `jsonpath=PATH[=VALUE]` as
 * kubectl wait does. Throws a usage error.
 */
export async function parseWaitCondition(text: string): Promise<WaitCondition> {
  const lower = text.toLowerCase();
  if (lower === 'create' || lower === 'delete') return { kind: lower };
  const [, kind, number] = /^(status|nodes|ready)=(\d{1,9})$/.exec(text) ?? [];
  if (kind === 'status' || kind === 'nodes' || kind === 'ready') return { kind, value: Number(number) };
  const [, type, value = 'True'] = /^condition=([^=]+)(?:=(.+))?$/s.exec(text) ?? [];
  if (type !== undefined) return { kind: 'condition', type, value };
  const [, expression] = /^jsonpath=(.*)$/s.exec(text) ?? [];
  if (expression !== undefined) {
    const { jsonPathCondition } = await import('./jsonpath.ts');
    return { kind: 'object', ...jsonPathCondition(expression) };
  }
  throw new NodepoolError(
    'usage',
    `--for: unrecognized condition: ${JSON.stringify(text)}`,
    meantReady(text)
      ? 'write --for=condition=Ready, or --for=status=200 for the status Normal'
      : 'write it like status=200, nodes=3, ready=3, condition=Ready, jsonpath={.status.nodeCount}=3, create or delete',
  );
}

/** `ready`, `Ready`, `status=Normal`, `status=Ready`. */
function meantReady(text: string): boolean {
  return /^(?:(?:status|condition)[=:])?(?:ready|normal)$/i.test(text);
}
