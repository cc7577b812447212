/** Waits for a condition on pools: by a watch, and without one where the condition is met already. */

import { NodepoolError } from '../nodepool/errors.ts';
import { isMet, type WaitCondition } from '../nodepool/wait-condition.ts';
import type { NodePoolsClient } from '../reconciler/ports.ts';
import { chosenPools, type PoolChoice } from './choose-pools.ts';
import { type FollowDeps, follow } from './follow.ts';
import { poolNotFound } from './not-found.ts';
import type { RawPool } from './ports.ts';

export interface WaitOptions {
  pools: PoolChoice;
  condition: WaitCondition;
  /** In milliseconds; 0 looks once. */
  timeoutMs: number;
}

export interface WaitDeps extends FollowDeps {
  pools: Pick<NodePoolsClient, 'get' | 'list' | 'watchRaw'>;
  /** Called for each pool that meets the condition. */
  onMet: (pool: string) => void;
}

/**
 * Returns an error for each pool that does not meet the condition. A pool that does not exist, or is deleted, is an error,
 * unless the condition is its deletion; a pool that is recreated under the name counts as another one. Pools are selected
 * once, at the start; that none is selected is an error as well.
 */
export async function waitForPools(options: WaitOptions, deps: WaitDeps): Promise<NodepoolError[]> {
  const { condition, timeoutMs } = options;
  const { found, missing } = await chosenPools(options.pools, deps.pools);
  const isDelete = condition.kind === 'delete';
  // As kubectl wait.
  if (found.length + missing.length === 0 && !isDelete) return [new NodepoolError('input', 'no matching pools found')];
  const errors = isDelete ? [] : missing.map(name => poolNotFound([name]));
  const open = new Map<string, RawPool>();
  for (const pool of found) {
    if (isMet(condition, pool)) deps.onMet(pool.metadata.name);
    else open.set(pool.metadata.name, pool);
  }
  if (open.size > 0 && timeoutMs > 0) errors.push(...(await watch(open, options, deps)));
  const what = timeoutMs === 0 ? 'condition not met for' : 'timed out waiting for the condition on';
  for (const name of open.keys()) errors.push(new NodepoolError('cluster', `${what} nodepools/${name}`));
  return errors;
}

/** Takes out of `open` what is met or gone; ends when nothing is left in it, or when the time is up. */
async function watch(open: Map<string, RawPool>, options: WaitOptions, deps: WaitDeps): Promise<NodepoolError[]> {
  const { condition, timeoutMs } = options;
  const errors: NodepoolError[] = [];
  const over = new AbortController();
  const leave = (name: string) => {
    open.delete(name);
    if (open.size === 0) over.abort();
  };
  const met = (name: string) => {
    deps.onMet(name);
    leave(name);
  };
  const gone = (name: string) => {
    if (condition.kind === 'delete') met(name);
    else {
      errors.push(poolNotFound([name]));
      leave(name);
    }
  };
  const look = (pool: RawPool) => {
    const { name, uid } = pool.metadata;
    const before = open.get(name);
    if (before === undefined) return;
    if (condition.kind === 'delete' && before.metadata.uid !== uid) gone(name);
    else if (isMet(condition, pool)) met(name);
  };
  const cancel = deps.clock.after(timeoutMs, () => over.abort());
  const watching = follow<RawPool>(
    {
      resource: 'nodepools.nodes.lailin.xyz',
      watched: deps.pools.watchRaw({ names: [...open.keys()] }),
      onStart(pools) {
        const there = new Set(pools.map(({ metadata }) => metadata.name));
        for (const name of [...open.keys()]) if (!there.has(name)) gone(name);
        for (const pool of pools) look(pool);
      },
      onChanged: look,
      onDeleted: ({ metadata: { name } }) => {
        if (open.has(name)) gone(name);
      },
      signal: over.signal,
    },
    deps,
  );
  await watching.finally(cancel);
  return errors;
}
