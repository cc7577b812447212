/** What `wait --for` waits for. */
import type { NodePool } from './types.ts';

export type WaitCondition = { kind: 'delete' } | { kind: 'status' | 'nodes' | 'ready'; value: number };

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
