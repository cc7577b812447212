/** What one reconcile of a pool did. */

import { type Warning, warningText } from '../nodepool/errors.ts';
import type { NodePoolStatus } from '../nodepool/types.ts';
import type { DrainState } from './evict/drain-entries.ts';
import type { WriteFailure } from './failure.ts';
import type { NodeMove } from './plan/node-move.ts';
import type { RuntimeClassOutcome } from './write/runtime-class-writer.ts';

export interface PoolOutcome {
  pool: string;
  /**
   * `released`: the pool is being deleted, or is gone already, and its nodes are released. `interrupted`: the run was
   * stopped before all of it was written.
   */
  kind: 'reconciled' | 'released' | 'interrupted';
  /** As written, or as it would be where the write is among the failures. Undefined, too, where it was held back. */
  status: NodePoolStatus | undefined;
  /** Fields that the installed CRD lacks: paths, as `status.conditions`. `kubectl nodepool install` adds them. */
  lacking: string[];
  /** Whether the status was written: it differed. */
  statusWritten: boolean;
  /** Node writes of this call; a node that moved between two pools is in the outcome of one of them. */
  moves: NodeMove[];
  runtimeClass: RuntimeClassOutcome;
  /** Writes that failed, in a stable order. */
  failures: WriteFailure[];
  /** The pool was changed or deleted meanwhile, and the cluster state has that: it is reconciled again now. */
  isChanged?: boolean;
  /** Nodes that were not written because the run was interrupted. */
  unwritten: number;
  /** Of these, nodes that a drain has written in part: their taints wait for the pods. */
  unfinished?: readonly string[];
  /** Milliseconds until the first node that is held back, or the status, may be written. */
  retryAfterMs?: number;
  /** Members whose pods are evicted before they get a taint: another reconcile goes on with them. */
  drain?: DrainState;
  /** Sentences for people that are no failures: Events that could not be sent, nodes that this run does not write. */
  warnings: Warning[];
}

/** Of two reconciles, as if they were one; the state of the pool is that after the second. */
export function mergedOutcome(first: PoolOutcome, again: PoolOutcome): PoolOutcome {
  const warnings = [...first.warnings, ...again.warnings].map(warning => [warningText(warning), warning] as const);
  return {
    ...again,
    runtimeClass: again.runtimeClass.kind === 'unchanged' ? first.runtimeClass : again.runtimeClass,
    lacking: [...new Set([...first.lacking, ...again.lacking])],
    statusWritten: first.statusWritten || again.statusWritten,
    moves: [...first.moves, ...again.moves],
    warnings: [...new Map(warnings).values()],
  };
}

export function emptyOutcome(pool: string): PoolOutcome {
  return {
    pool,
    kind: 'reconciled',
    status: undefined,
    lacking: [],
    statusWritten: false,
    moves: [],
    runtimeClass: { kind: 'unchanged' },
    failures: [],
    unwritten: 0,
    warnings: [],
  };
}
