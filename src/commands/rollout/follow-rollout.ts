/** Follows how the spec of a pool reaches its nodes. */

import type { NodePoolsClient, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type RolloutState, rolloutState } from '../../nodepool/rollout/rollout-state.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { GROUP } from '../../nodepool/types.ts';
import { type FollowDeps, follow } from '../shared/follow.ts';
import type { NamesDeps } from '../shared/pools/not-found.ts';
import { existingPool } from './existing-pool.ts';

export interface FollowRolloutDeps extends FollowDeps, NamesDeps {
  pools: Pick<NodePoolsClient, 'get' | 'watchRaw' | 'firstNames'>;
  /** Gets each new state, the last one too. */
  onState: (state: RolloutState) => void;
}

/**
 * Follows until the rollout is done or has failed, which the last state says. Throws NodepoolError at the timeout, or
 * when the pool does not exist or is deleted.
 * @param timeoutMs 0: none; @param watch false: looks once
 */
export async function followRollout(
  name: string,
  { timeoutMs, watch }: { timeoutMs: number; watch: boolean },
  { pools, nodes, onState, ...deps }: FollowRolloutDeps,
): Promise<RolloutState> {
  const { metadata } = await existingPool('rollout', name, { pools, nodes });
  let last: RolloutState | undefined;
  const look = (pool: RawPool): RolloutState => {
    const state = rolloutState(coercePool(pool));
    if (state.text !== last?.text) onState(state);
    last = state;
    return state;
  };
  if (!watch) return look(await existingPool('rollout', name, { pools, nodes }));
  const over = new AbortController();
  let [isGone, isLate] = [false, false];
  const see = (pool: RawPool) => {
    if (over.signal.aborted) return;
    if (pool.metadata.uid !== metadata.uid) isGone = true;
    if (isGone || look(pool).kind !== 'waiting') over.abort();
  };
  const gone = () => {
    isGone = true;
    over.abort();
  };
  const late = () => {
    // The end was seen, and the watch is being closed.
    if (over.signal.aborted) return;
    isLate = true;
    over.abort();
  };
  const cancel = timeoutMs > 0 ? deps.clock.after(timeoutMs, late) : () => {};
  const following = follow<RawPool>(
    {
      resource: `nodepools.${GROUP}`,
      watched: pools.watchRaw({ names: [name] }),
      onStart(found) {
        if (found.length === 0) gone();
        for (const pool of found) see(pool);
      },
      onChanged: see,
      onDeleted: gone,
      signal: over.signal,
    },
    deps,
  );
  await following.finally(cancel);
  if (isGone) throw new NodepoolError('cluster', `nodepool ${name} was deleted`);
  if (isLate || last === undefined) throw new NodepoolError('cluster', 'timed out waiting for the condition');
  return last;
}
