/** What one reconcile of a pool did. */
import type { NodePoolStatus } from '../nodepool/types.ts';
import type { WriteFailure } from './failure.ts';
import type { NodeMove } from './node-move.ts';
import type { RuntimeClassOutcome } from './runtime-class-writer.ts';

export interface PoolOutcome {
  pool: string;
  /**
   * `released`: the pool is being deleted, or is gone already, and its nodes are released. `interrupted`: the run was
   * stopped before all of it was written.
   */
  kind: 'reconciled' | 'released' | 'interrupted';
  /** With a failure to write it among the failures: as it would be. Undefined, too, where the pace held it back. */
  status: NodePoolStatus | undefined;
  /** What the CRD that is installed lacks, and `kubectl nodepool install` adds: paths, as `status.conditions`. */
  lacking: string[];
  /** Whether the status was written: it differed. */
  statusWritten: boolean;
  /** Node writes of this call; a node that moved between pools stands in the outcome of one of them. */
  moves: NodeMove[];
  runtimeClass: RuntimeClassOutcome;
  /** What could not be written, in an order that does not change from run to run. */
  failures: WriteFailure[];
  /** Nodes that were not written because the run was interrupted. */
  unwritten: number;
  /** Milliseconds until the first of the nodes that are held back, or the status, may be written. */
  retryAfterMs?: number;
  /** What people should know and is no failure, each a sentence: events that could not be sent, nodes not to be written. */
  warnings: string[];
}

export function nothingDone(pool: string): PoolOutcome {
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
