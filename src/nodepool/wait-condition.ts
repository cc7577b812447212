/** What `wait --for` waits for. */
import { NodepoolError } from './errors.ts';
import type { NodePool } from './types.ts';

export type WaitCondition = { kind: 'delete' } | { kind: 'status' | 'nodes' | 'ready'; value: number };

/** Reads `status=N`, `nodes=N`, `ready=N` or `delete`. */
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

/**
 * Whether the pool's status says so. A status about an older spec says nothing, as for `kubectl wait`. Never true of
 * `delete`: a pool that is there is not deleted.
 */
export function isMet(condition: WaitCondition, { metadata, status }: NodePool): boolean {
  if (condition.kind === 'delete' || status === undefined) return false;
  const { generation = 0 } = metadata;
  if ((status.observedGeneration ?? generation) < generation) return false;
  const { kind, value } = condition;
  switch (kind) {
    case 'status':
      return status.status === value;
    case 'nodes':
      return status.nodeCount === value;
    case 'ready':
      return status.readyNodeCount === value;
  }
}
