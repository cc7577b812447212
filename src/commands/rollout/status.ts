/** `rollout status`: follows a rollout and prints each state until it is done. */
import { parseDuration } from '../../cli/duration.ts';
import { EXIT, showError, showWarning } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { terminalWidth } from '../../cli/io.ts';
import { systemClock } from '../../controller/clock.ts';
import type { NodePoolsClient, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { GROUP, type NodePool } from '../../nodepool/types.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import { wrapWords } from '../../print/width.ts';
import { type FollowDeps, follow } from '../shared/follow.ts';
import { controllerRuns } from '../shared/leases.ts';
import { existingPool, type NamesDeps } from '../shared/pools/not-found.ts';
import { type RolloutState, rolloutState, withDueNodes } from '../shared/rollout-state.ts';
import { assertLatest } from './history.ts';

/** A running controller starts with a new spec within a second or two. */
const QUIET_MS = 10_000;

/** Returns the exit code. @param flags `revision`: the expected one; 0: any */
export async function rolloutStatus(
  name: string,
  flags: { watch: boolean; timeout: string; revision: number },
  { io }: Deps,
  { cluster, lease }: Connection,
): Promise<number> {
  const timeoutMs = parseDuration(flags.timeout, '--timeout');
  if (flags.revision > 0) await assertLatest(name, flags.revision, { cluster });
  const reconcile = `\`kubectl nodepool reconcile ${name} --wait\``;
  // `reconcile --wait` of a paused pool ends at once with exit code 3.
  let isPausedNow = false;
  let cancelHint = () => {};
  const over = new AbortController();
  let [isSaid, isLookedFor] = [false, false];
  // Without a controller the command would wait forever without output.
  const hint = (message: string) => {
    const first = isPausedNow ? `\`kubectl nodepool rollout resume ${name}\`, then ` : '';
    if (!over.signal.aborted && !isSaid) showWarning(io, { message, next: `run ${first}${reconcile}` });
    isSaid = true;
  };
  /** @param isQuiet nothing has changed for QUIET_MS */
  const lookForController = async (isQuiet: boolean) => {
    const runs = await controllerRuns({ cluster, lease }, over.signal);
    if (runs === false)
      hint('no controller is running: this pool is not reconciled, unless `reconcile --watch` runs elsewhere');
    else if (isQuiet && runs === true) watchQuiet();
    // Leases may not be read.
    else if (isQuiet) hint(`no progress for ${QUIET_MS / 1000} s: is a controller running?`);
  };
  // Again and again: a controller may exit while a rollout settles.
  const watchQuiet = () => {
    cancelHint();
    // A paused pool makes no progress.
    if (isPausedNow || isSaid || over.signal.aborted) return;
    cancelHint = systemClock.after(QUIET_MS, () => void lookForController(true));
  };
  const state = await followRollout(
    name,
    { timeoutMs, watch: flags.watch },
    {
      ...cluster,
      dueNodes: async pool => (await import('./due-nodes.ts')).dueNodes(pool, cluster),
      clock: systemClock,
      random: Math.random,
      log: (level, message) => {
        if (level === 'warning') showWarning(io, message);
        if (level === 'error') showError(io, { message });
      },
      onState: ({ kind, text }, pool) => {
        isPausedNow = isPaused(pool);
        if (kind !== 'failed') io.out(wrapWords(sanitizeLine(text), terminalWidth(io) ?? Infinity).join('\n'));
        cancelHint();
        if (kind !== 'waiting' || !flags.watch) return;
        if (!isLookedFor) void lookForController(false);
        isLookedFor = true;
        watchQuiet();
      },
    },
  ).finally(() => {
    cancelHint();
    over.abort();
  });
  if (state.kind !== 'failed') return EXIT.done;
  showError(io, { message: state.text });
  return EXIT.error;
}

interface FollowRolloutDeps extends FollowDeps, NamesDeps {
  pools: Pick<NodePoolsClient, 'get' | 'watchRaw' | 'firstNames'>;
  /** Number of nodes that a reconcile would change now; undefined if nodes cannot be read. */
  dueNodes: (pool: NodePool) => Promise<{ nodes: number; due: number } | undefined>;
  /** Called with each new state, including the last one, and its pool. */
  onState: (state: RolloutState, pool: NodePool) => void;
}

/** Follows until it is done or has failed. Throws on timeout, or if the pool is deleted. @param timeoutMs 0: none */
export async function followRollout(
  name: string,
  { timeoutMs, watch }: { timeoutMs: number; watch: boolean },
  { pools, nodes, dueNodes, onState, ...deps }: FollowRolloutDeps,
): Promise<RolloutState> {
  const { metadata } = await existingPool('rollout', name, { pools, nodes });
  let last: RolloutState | undefined;
  const showState = (raw: RawPool): RolloutState => {
    const pool = coercePool(raw);
    const state = rolloutState(pool);
    if (state.text !== last?.text) onState(state, pool);
    last = state;
    return state;
  };
  if (!watch) {
    const pool = coercePool(await existingPool('rollout', name, { pools, nodes }));
    const known = rolloutState(pool);
    // The status may be outdated: then nobody reconciles the nodes.
    const found = known.kind === 'done' ? await dueNodes(pool) : undefined;
    const state = found === undefined || found.due === 0 ? known : withDueNodes(pool, found);
    onState(state, pool);
    return state;
  }
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
    // The final state was seen, and the watch is closing.
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
  if (isGone) throw new NodepoolError('cluster', `pool ${name} was deleted`);
  if (isLate || last === undefined) throw new NodepoolError('cluster', 'timed out waiting for the condition');
  return last;
}
