/** The result of one pool, over several reconciles of it. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { warningText } from '../../nodepool/warning.ts';
import type { PoolOutcome } from '../../reconciler/pool-outcome.ts';

/** The result for one pool. */
export interface PoolResult {
  pool: string;
  outcome: PoolOutcome | undefined;
  /** Why the pool could not be reconciled at all. */
  error: NodepoolError | undefined;
}

/** Of both reconciles, as if they were one; the state of the pool is that after the second. */
export function merged(
  { pool, outcome: first, error: before }: PoolResult,
  { outcome, error }: PoolResult,
): PoolResult {
  if (first === undefined) return { pool, outcome, error: error ?? before };
  if (outcome === undefined) return { pool, outcome: first, error };
  const runtimeClass = outcome.runtimeClass.kind === 'unchanged' ? first.runtimeClass : outcome.runtimeClass;
  return {
    pool,
    outcome: {
      ...outcome,
      runtimeClass,
      lacking: [...new Set([...first.lacking, ...outcome.lacking])],
      statusWritten: first.statusWritten || outcome.statusWritten,
      moves: [...first.moves, ...outcome.moves],
      warnings: [...new Map([...first.warnings, ...outcome.warnings].map(each => [warningText(each), each])).values()],
    },
    error,
  };
}

/** A NodepoolError is the pool's; any other error is thrown. */
export async function resultOf(pool: string, work: Promise<PoolOutcome>): Promise<PoolResult> {
  try {
    return { pool, outcome: await work, error: undefined };
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { pool, outcome: undefined, error };
  }
}
