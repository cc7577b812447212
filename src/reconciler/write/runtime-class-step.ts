/** Writes the RuntimeClass of a pool as a part of its reconcile. */
import type { NodePool } from '../../nodepool/types.ts';
import { attemptHeld } from '../failure.ts';
import type { WriteRateLimiter } from '../limits/write-rate-limiter.ts';
import type { ReconcilerOptions } from '../options.ts';
import type { PoolOutcome } from '../pool-outcome.ts';
import { applyRuntimeClass, forgetRest } from './runtime-class-writer.ts';

/** False when it failed: the outcome says why. */
export async function writeRuntimeClass(
  pool: NodePool,
  outcome: PoolOutcome,
  options: ReconcilerOptions & { writeLimiter: WriteRateLimiter },
): Promise<boolean> {
  const { limitObjects } = options;
  const error = await attemptHeld(outcome, async () => {
    const done = await limitObjects(() => applyRuntimeClass(pool, options));
    if (done.kind !== 'unchanged') outcome.runtimeClass = done;
    if (done.kind !== 'foreign') await limitObjects(() => forgetRest(pool, options));
  });
  return error === undefined;
}
