/** The condition of `wait --for`. */
import type { NodePool } from './types.ts';

export type WaitCondition =
  | { kind: 'create' | 'delete' }
  | { kind: 'status' | 'nodes' | 'ready'; value: number }
  /** A condition of the status by its type, compared without regard to case. */
  | { kind: 'condition'; type: string; value: string }
  /** @param matches may throw NodepoolError, which ends the wait for the pool */
  | { kind: 'object'; matches: (pool: NodePool) => boolean };

/** Whether an existing pool meets the condition. As for `kubectl wait`, a status of an older generation does not count. */
export function isMet(condition: WaitCondition, pool: NodePool): boolean {
  const { metadata, status } = pool;
  const { generation = 0 } = metadata;
  const isOld = (observed = status?.observedGeneration) => (observed ?? generation) < generation;
  switch (condition.kind) {
    case 'create':
      return true;
    case 'delete':
      return false;
    case 'status':
      return !isOld() && status?.status === condition.value;
    case 'nodes':
      return !isOld() && status?.nodeCount === condition.value;
    case 'ready':
      return !isOld() && status?.readyNodeCount === condition.value;
    case 'condition': {
      const found = status?.conditions?.find(({ type }) => isSame(type, condition.type));
      return found !== undefined && !isOld(found.observedGeneration) && isSame(found.status, condition.value);
    }
    case 'object':
      return condition.matches(pool);
  }
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
