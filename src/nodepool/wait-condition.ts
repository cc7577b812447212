/** The condition of `wait --for`. */
import type { NodePool } from './types.ts';

export type WaitCondition = { kind: 'delete' } | { kind: 'status' | 'nodes' | 'ready'; value: number };

/**
 * Whether the status meets the condition. As for `kubectl wait`, a status of an older generation does not count. Always
 * false for `delete`: the pool exists.
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
