/** The result of one pool, over several reconciles of it. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { mergedOutcome, type PoolOutcome } from '../../reconciler/pool-outcome.ts';

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
  return { pool, outcome: mergedOutcome(first, outcome), error };
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
