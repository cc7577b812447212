/** The condition of `wait --for`. */
import { NEVER_OBSERVED } from '../spec/coerce.ts';
import type { NodePool } from '../types.ts';
import { deletionText } from './status.ts';

export type WaitCondition =
  | { kind: 'create' | 'delete' }
  | { kind: 'status' | 'nodes' | 'ready'; value: number }
  /** A condition of the status by its type, compared without regard to case. */
  | { kind: 'condition'; type: string; value: string }
  /** @param matches may throw NodepoolError, which ends the wait for the pool; then `current` does, too */
  | { kind: 'object'; matches: (pool: NodePool) => boolean; current: (pool: NodePool) => string };

/** Whether an existing pool meets the condition. As for `kubectl wait`, a status of an older generation does not count. */
export function isMet(condition: WaitCondition, pool: NodePool): boolean {
  switch (condition.kind) {
    case 'create':
      return true;
    case 'delete':
      return false;
    case 'status':
    case 'nodes':
    case 'ready':
      return !isOld(pool) && pool.status?.[FIELDS[condition.kind]] === condition.value;
    case 'condition': {
      const found = conditionOf(pool, condition.type);
      return found !== undefined && !isOld(pool, found.observedGeneration) && isSame(found.status, condition.value);
    }
    case 'object':
      return condition.matches(pool);
  }
}

/** What stands in the place of the condition now: `condition Applied is False (NodesDiffer)`. Undefined: only that the pool exists. */
export function currentText(condition: WaitCondition, pool: NodePool): string | undefined {
  switch (condition.kind) {
    case 'create':
      return undefined;
    case 'delete': {
      const text = deletionText(pool);
      return text && `it is ${text}`;
    }
    case 'status':
    case 'nodes':
    case 'ready': {
      const field = FIELDS[condition.kind];
      return `status.${field} is ${pool.status?.[field] ?? 'not set'}${ageText(pool)}`;
    }
    case 'condition': {
      const found = conditionOf(pool, condition.type);
      if (found === undefined) return `it has no condition ${condition.type}`;
      const { type, status, reason, observedGeneration } = found;
      return `condition ${type} is ${status}${reason ? ` (${reason})` : ''}${ageText(pool, observedGeneration)}`;
    }
    case 'object':
      return condition.current(pool);
  }
}

const FIELDS = { status: 'status', nodes: 'nodeCount', ready: 'readyNodeCount' } as const;

function conditionOf({ status }: NodePool, wanted: string) {
  return status?.conditions?.find(({ type }) => isSame(type, wanted));
}

function isOld({ metadata, status }: NodePool, observed = status?.observedGeneration): boolean {
  const { generation = 0 } = metadata;
  const seen = observed === NEVER_OBSERVED ? undefined : observed;
  return (seen ?? generation) < generation;
}

function ageText(pool: NodePool, observed = pool.status?.observedGeneration): string {
  return isOld(pool, observed)
    ? `, of generation ${observed}; the spec has generation ${pool.metadata.generation}`
    : '';
}

function isSame(a: string, b: string): boolean {
  return a.toLowerCase() === b.toLowerCase();
}
