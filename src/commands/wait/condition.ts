/** The value of `wait --for`. */
import { NodepoolError } from '../../nodepool/errors.ts';
import type { WaitCondition } from '../../nodepool/wait-condition.ts';

/** Parses `status=N`, `nodes=N`, `ready=N` or `delete`. */
export function parseWaitCondition(text: string): WaitCondition {
  if (text.toLowerCase() === 'delete') return { kind: 'delete' };
  const [, kind, value] = /^(status|nodes|ready)=(\d{1,9})$/.exec(text) ?? [];
  if (kind === 'status' || kind === 'nodes' || kind === 'ready') return { kind, value: Number(value) };
  throw new NodepoolError(
    'usage',
    `--for: unrecognized condition: ${JSON.stringify(text)}`,
    'write it like status=200, nodes=3, ready=3 or delete',
  );
}
