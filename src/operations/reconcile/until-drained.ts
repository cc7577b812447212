/** Reconciles a pool until no node of it waits for its pods to be evicted, as the queue of a watch does. */
import type { Clock } from '../../controller/clock.ts';
import { drainingText } from '../../nodepool/no-execute.ts';
import { isPaused } from '../../nodepool/rollout.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { addOnce, specChangedFailure } from '../../reconciler/failure.ts';
import { isSamePool } from '../../reconciler/live-reads.ts';
import { planOf } from '../../reconciler/node-plan.ts';
import type { ClusterPort } from '../../reconciler/ports.ts';
import type { Reconciler } from '../../reconciler/reconciler.ts';
import { attempt } from '../attempt.ts';
import { merged, type PoolResult, resultOf } from './pool-result.ts';

/** As of `drain`. */
export const EVICTION_TIMEOUT_MS = 15 * 60_000;

interface UntilDrainedDeps {
  cluster: Pick<ClusterPort, 'pools'>;
  state: ClusterState;
  clock: Pick<Clock, 'now'>;
  sleep: (ms: number, signal?: AbortSignal) => Promise<void>;
  signal?: AbortSignal;
}

/**
 * Gives up, with a failure, when for `timeoutMs` no pod was evicted and no node was finished; 0: never. It ends, too, when the
 * signal is aborted or the pool is edited. What is left goes on with the next run.
 */
export async function untilDrained(
  pool: string,
  reconciler: Pick<Reconciler, 'reconcile'>,
  { timeoutMs = EVICTION_TIMEOUT_MS }: { timeoutMs?: number },
  { cluster, state, clock, sleep, signal }: UntilDrainedDeps,
): Promise<PoolResult> {
  const known = new KnownSpec(pool, state);
  let result = await resultOf(pool, reconciler.reconcile(pool));
  let [least, since] = [Number.POSITIVE_INFINITY, clock.now()];
  for (;;) {
    const { outcome, error } = result;
    const drain = outcome?.drain;
    if (outcome?.kind === 'interrupted') return interrupted(result, state);
    if (outcome === undefined || error !== undefined || drain?.afterMs === undefined) return result;
    const left = drain.nodes.length + drain.pods;
    if (left < least) [least, since] = [left, clock.now()];
    if (timeoutMs > 0 && clock.now() - since >= timeoutMs) {
      const message = `gave up after ${timeoutMs / 1000} s without an eviction: ${drainingText(drain)}`;
      outcome.failures.push({ message, next: `continue with \`kubectl nodepool reconcile ${pool}\`` });
      return result;
    }
    await sleep(Math.min(drain.afterMs, ...(timeoutMs > 0 ? [since + timeoutMs - clock.now()] : [])), signal);
    if (signal?.aborted) return interrupted(result, state);
    if (await known.isChanged(cluster)) {
      addOnce(outcome.failures, specChangedFailure(pool));
      return result;
    }
    result = merged(result, await resultOf(pool, reconciler.reconcile(pool)));
  }
}

/** Of the nodes that it has begun to drain, those that are not finished are left; the last reconcile may have finished some. */
function interrupted(result: PoolResult, state: ClusterState): PoolResult {
  const { pool, outcome } = result;
  if (outcome === undefined) return result;
  const waiting = state.members(pool).filter(({ name }) => {
    const plan = planOf(state, name);
    return plan?.drain?.hasBegun === true && plan.pausedBy === undefined;
  });
  const unwritten = Math.max(outcome.unwritten, waiting.length);
  const unfinished = waiting.map(({ name }) => name);
  return { ...result, outcome: { ...outcome, kind: 'interrupted', unwritten, unfinished } };
}

/** The spec with which a run began. It writes the pool as it was read; while pods are evicted there is time to notice a change. */
class KnownSpec {
  readonly #name: string;
  readonly #state: ClusterState;
  readonly #pool: NodePool | undefined;

  constructor(name: string, state: ClusterState) {
    [this.#name, this.#state, this.#pool] = [name, state, state.pool(name)];
  }

  /** Reads the pool. One that was paused, or resumed with the spec of before, is not: the next reconcile sees that. */
  async isChanged({ pools }: Pick<ClusterPort, 'pools'>): Promise<boolean> {
    const asked = this.#state.beginRead();
    const read = await attempt(() => pools.getCoerced(this.#name));
    // It could be read when the run began.
    const latest = 'refusal' in read ? this.#state.pool(this.#name) : read.value;
    if (this.#pool === undefined) return latest !== undefined;
    if (latest === undefined || latest.metadata.uid !== this.#pool.metadata.uid) return true;
    if (!isPaused(latest) && !isSamePool(this.#pool, latest)) return true;
    this.#state.setPool(latest, asked);
    return false;
  }
}
