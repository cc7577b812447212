/** `rollout status`: follows a rollout, words how far it is, and prints each state until it is done. */
import { parseDuration } from '../../cli/duration.ts';
import { EXIT, showError, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { systemClock } from '../../controller/clock.ts';
import type { NodePoolsClient, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { progressOf } from '../../nodepool/rollout/rollout.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { troubleIn } from '../../nodepool/status/status.ts';
import { ellipsize } from '../../nodepool/text.ts';
import { GROUP, type NodePool } from '../../nodepool/types.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import { type FollowDeps, follow } from '../shared/follow.ts';
import { existingPool, type NamesDeps } from '../shared/pools/not-found.ts';
import { assertLatest } from './history.ts';

/** A controller that runs takes a new spec within a second or two. */
const QUIET_MS = 10_000;

/** Returns the exit code. @param flags `revision`: that which is expected; 0: any */
export async function rolloutStatus(
  name: string,
  flags: { watch: boolean; timeout: string; revision: number },
  { io }: Deps,
  { cluster }: Connection,
): Promise<number> {
  const timeoutMs = parseDuration(flags.timeout, '--timeout');
  if (flags.revision > 0) await assertLatest(name, flags.revision, { cluster });
  // Without a controller it would wait for ever without output.
  const hint = {
    message: `no news for ${QUIET_MS / 1000} s`,
    next: 'if no controller runs, `kubectl nodepool reconcile --watch`, which does step after step',
  };
  let cancelHint = () => {};
  const state = await followRollout(
    name,
    { timeoutMs, watch: flags.watch },
    {
      ...cluster,
      clock: systemClock,
      random: Math.random,
      log: (level, message) => {
        if (level === 'warning') showWarning(io, message);
        if (level === 'error') showError(io, { message });
      },
      onState: ({ kind, text }) => {
        if (kind !== 'failed') io.out(sanitizeLine(text));
        cancelHint();
        if (kind === 'waiting' && flags.watch) cancelHint = systemClock.after(QUIET_MS, () => showWarning(io, hint));
      },
    },
  ).finally(() => cancelHint());
  if (state.kind !== 'failed') return EXIT.done;
  showError(io, { message: state.text });
  return EXIT.error;
}

// Follows how the spec of a pool reaches its nodes.

interface FollowRolloutDeps extends FollowDeps, NamesDeps {
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
  const showState = (pool: RawPool): RolloutState => {
    const state = rolloutState(coercePool(pool));
    if (state.text !== last?.text) onState(state);
    last = state;
    return state;
  };
  if (!watch) return showState(await existingPool('rollout', name, { pools, nodes }));
  const over = new AbortController();
  let [isGone, isLate] = [false, false];
  const see = (pool: RawPool) => {
    if (over.signal.aborted) return;
    if (pool.metadata.uid !== metadata.uid) isGone = true;
    if (isGone || showState(pool).kind !== 'waiting') over.abort();
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

// How far a spec has reached the nodes of its pool, as `kubectl rollout status` says it of a Deployment.

/** In bytes. A message of the server can have any length. */
const MAX_TEXT = 1024;

interface RolloutState {
  kind: 'done' | 'waiting' | 'failed';
  /** One line. */
  text: string;
}

/** By its status: of a pool without spec.rollout, too. */
export function rolloutState(pool: NodePool): RolloutState {
  const { kind, text } = stateOf(pool);
  return { kind, text: ellipsize(text, MAX_TEXT) };
}

function stateOf(pool: NodePool): RolloutState {
  const { metadata, status } = pool;
  const { name, generation } = metadata;
  const waiting = (what: string): RolloutState => ({
    kind: 'waiting',
    text: `Waiting for nodepool "${name}" rollout to finish: ${what}...`,
  });
  if (metadata.deletionTimestamp !== undefined) return { kind: 'failed', text: `nodepool "${name}" is being deleted` };
  if (status?.observedGeneration !== generation || status?.status === undefined) {
    return { kind: 'waiting', text: `Waiting for nodepool "${name}" spec update to be observed...` };
  }
  const stalled = status.conditions?.find(({ type, status: value }) => type === 'Stalled' && value === 'True');
  // A failed write is tried again.
  if (stalled !== undefined && status.status !== 500)
    return { kind: 'failed', text: `nodepool "${name}": ${stalled.message}` };
  // Waiting does not help: somebody has to change one of the pools, or the RuntimeClass.
  const conflict = status.conditions?.find(({ type, status: value }) => type === 'Conflict' && value === 'True');
  if (conflict !== undefined && status.status === 409)
    return { kind: 'failed', text: `nodepool "${name}": ${conflict.message}` };
  const progress = progressOf(pool);
  const done: RolloutState = { kind: 'done', text: `nodepool "${name}" successfully rolled out` };
  if (progress?.reason === 'RolloutInProgress') return waiting(progress.message);
  const { nodeCount, updatedNodeCount = nodeCount } = status;
  if (updatedNodeCount >= nodeCount && status.status !== 500) return done;
  if (progress?.reason === 'RolloutComplete' && status.status !== 500) return done;
  if (progress?.reason === 'Paused') return waiting(progress.message);
  return waiting(troubleIn(status)?.message ?? `${updatedNodeCount} of ${nodeCount} nodes updated`);
}
