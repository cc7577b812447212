/**
 * The step of a rollout that is allowed now, computed from the nodes as they are: the time of a node's change and which
 * rollout it was are remembered in its record, and a stop in the status of the pool. So a process that is killed loses no count.
 *
 * - in flight: changed by a rollout, and not Ready for settleSeconds since, or drained for the change. At most maxConcurrent
 *   are. A node that was NotReady when it was changed is in flight for settleSeconds: nobody knows when it will be Ready. If it
 *   is drained, nobody knows when its pods are gone: it gives its place away then, until it is Ready, and is drained last.
 * - canary: the first Ready nodes that this rollout changes; the others wait until so many of its Ready nodes have settled. A node
 *   that is NotReady, or that its owner is removing, is none.
 * - failed: a node of this rollout that turned NotReady after its change, or while it is drained. No further node is changed,
 *   until those that have failed are Ready: where a failed node is deleted, as auto-repair does, the next would fail in its
 *   place, one after the other. A node that its owner is removing has not failed. Nor has one that turned NotReady while it is
 *   cordoned or updated: it is in flight, and keeps its place in the canary, until it is Ready again or gone.
 *
 * Not guaranteed: that clocks agree. A time ahead of ours counts as now; one of more than MAX_AHEAD_MS is ignored, so nothing
 * waits for ever.
 */
import type { RolloutStrategy } from '../types.ts';

/** A node that stops is noticed after 50 s by default (node-monitor-grace-period). */
export const DEFAULT_SETTLE_SECONDS = 60;
const MAX_AHEAD_MS = 24 * 3_600_000;
/** Added to settleSeconds: the times have whole seconds, cut off, and a change is stamped before its request is sent. */
const MARGIN_MS = 2_000;

export interface RolloutNode {
  name: string;
  ready: boolean;
  /** Last transition of the condition Ready, in milliseconds. */
  readySince: number | undefined;
  /** When a rollout changed it, in milliseconds. */
  changed: number | undefined;
  /** Milliseconds since `changed` and `readySince`, where this process has measured them. */
  changedAgo?: number;
  readyAgo?: number;
  /** It was NotReady then, and has not been Ready since. */
  wasNotReady: boolean;
  /** Its owner is removing it: it stops nothing. */
  isLeaving?: boolean;
  /** It is cordoned or updated: while it is NotReady, that says nothing about the spec. */
  isInterrupted?: boolean;
  /** That rollout was of the current spec. */
  isOfThis: boolean;
  /** Since then another spec has reached nodes: the current one is an undo, and did not change this node. */
  isOfEarlier?: boolean;
  /** The current spec changes it. */
  isPending: boolean;
  /** Labels, taints and annotations of the current spec have reached it: what it changes is, with `unmanaged: Remove`, added since. */
  hasSpec?: boolean;
  /** It is being written: its place is taken, however short it takes to settle. */
  isUnderWay?: boolean;
  /** Its last write failed: the others come first, so that it does not keep a place from them. */
  isRefused: boolean;
  /** Its pods are evicted before the change is complete; it is pending until then. */
  isDraining?: boolean;
}

/** `waiting`: the current spec changes it, and it takes no place meanwhile. The others are as above. */
type Phase = 'waiting' | 'in flight' | 'failed' | 'settled';

export interface RolloutStep {
  nodes: number;
  /** How many the current spec still changes. */
  pending: number;
  settling: number;
  /** Their names, without `notReady`; those that were changed first come first: one that never settles holds it up. */
  unsettled: string[];
  /** Names, sorted. */
  failed: string[];
  /** A node has failed; it may be gone. */
  isStopped: boolean;
  /** What is to be remembered of the stop, also while no node waits for it. */
  stop: RolloutStop | undefined;
  /** In milliseconds: when a node turned Ready or NotReady last. A node that recovers turns Ready after it. */
  stoppedAt: number | undefined;
  /** None of the nodes that stopped it is a member any more. */
  isGone: boolean;
  /** Nodes without which it does not go on until they are Ready, or somebody resumes. Names, sorted. */
  notReady: string[];
  /** Ready nodes that cannot be the canary, as their owner is removing them, where there are no others. Names, sorted. */
  leaving: string[];
  canary: number;
  /** Whether the others wait for it. */
  isCanary: boolean;
  /** In flight at most; Infinity without a limit. */
  limit: number;
  /** Names of the nodes that may be changed now, in this order. */
  next: string[];
  /** Milliseconds until the first node in flight has settled, if it stays as it is. */
  settlesAfterMs: number | undefined;
}

/** Why this spec is stopped. */
export interface RolloutStop {
  /** In milliseconds: when they turned NotReady. Times of nodes alone are compared: the clock of who notices may be another. */
  at: number;
  /** Names of the nodes that failed and are not Ready again, sorted; empty where they are not known. */
  nodes: readonly string[];
}

export interface RolloutTimes {
  /** In milliseconds, as all of them. */
  now: number;
  /** Until then, nodes that are NotReady are accepted. */
  resumed: number | undefined;
  /** All of this generation was done at the last reconcile: a node that fails later is no rollout. */
  wasComplete: boolean;
  /** As of the last reconcile, if this spec was stopped. */
  stopped: RolloutStop | undefined;
}

export function rolloutStep(
  nodes: readonly RolloutNode[],
  strategy: RolloutStrategy,
  times: RolloutTimes,
): RolloutStep {
  const limit = Math.max(1, scaled(strategy.maxConcurrent, nodes.length) ?? Number.POSITIVE_INFINITY);
  const canary = Math.min(nodes.length, scaled(strategy.canary, nodes.length) ?? 0);
  const pending = nodes.filter(({ isPending }) => isPending);
  const rules = rulesOf(strategy, times, pending);
  const phases = Map.groupBy(nodes, node => phaseOf(node, rules));
  const [waiting, settling] = [phases.get('waiting') ?? [], phases.get('in flight') ?? []];
  const [failed, settled] = [phases.get('failed') ?? [], phases.get('settled') ?? []];
  const inFlight = [...settling, ...failed];
  const [byTime, down] = [inFlight.filter(settlesByTime), inFlight.filter(node => !settlesByTime(node))];
  const changed = nodes.filter(node => node.isOfThis && !node.isPending && isUp(node));
  const isComplete = nodes.length > 0 && pending.length + inFlight.length === 0;
  const stop = isComplete ? undefined : stopOf(nodes, failed, times.stopped, rules);
  // What others add to nodes that have the spec is removed, too, where the rollout was complete.
  const keepsStop = pending.length > 0 && (rules.isUnfinished || !times.wasComplete);
  const isStopped = failed.length > 0 || (stop !== undefined && keepsStop);
  const needed = neededCanary(nodes, canary, rules);
  const isOpen = pending.length > 0 || nodes.some(({ isUnderWay }) => isUnderWay);
  const isCanary = isOpen && provenBy(settled, pending, rules) < needed;

  const mayGo = (node: RolloutNode) => !isCanary || isUp(node);
  // Nodes that are in flight already take no further place.
  const again = sorted(settling.filter(node => node.isPending && mayGo(node)));
  const free = sorted(waiting.filter(mayGo)).slice(0, Math.max(0, limit - inFlight.length));
  // Those that are NotReady are changed last.
  const isLast = (node: RolloutNode) => !isUp(node) && !node.isDraining;
  const order = [...again.filter(node => !isLast(node)), ...free, ...again.filter(isLast)];
  const most = isCanary
    ? Math.max(0, needed - changed.length - down.filter(({ isOfThis }) => isOfThis).length)
    : pending.length;
  const waits = inFlight
    .filter(node => !(node.isDraining && node.ready) && settlesByTime(node))
    .map(node => settlesIn(node, rules))
    // A write under way ends by itself.
    .filter(ms => ms > 0);
  // Nobody else can be its canary.
  const isAlone = isCanary && inFlight.length === 0 && !pending.some(isUp);
  return {
    nodes: nodes.length,
    pending: pending.length,
    settling: inFlight.length,
    unsettled: byTime.toSorted(byChange).map(({ name }) => name),
    failed: namesOf(failed),
    isStopped,
    stop,
    stoppedAt: isStopped ? Math.max(stop?.at ?? 0, latestTurn(nodes, rules)) : undefined,
    isGone: stop !== undefined && !nodes.some(({ name }) => stop.nodes.includes(name)),
    notReady: namesOf([...down, ...(isAlone ? pending.filter(({ ready }) => !ready) : [])]),
    leaving: namesOf(isAlone ? pending.filter(({ ready }) => ready) : []),
    canary,
    isCanary,
    limit,
    next: isStopped ? [] : order.slice(0, most).map(({ name }) => name),
    settlesAfterMs: waits.length === 0 ? undefined : Math.ceil(Math.min(...waits)),
  };
}

/** So many of the canary as there are Ready nodes; where there is none, nobody knows, unless somebody has accepted that. */
function neededCanary(nodes: readonly RolloutNode[], canary: number, rules: Rules): number {
  const up = nodes.filter(isUp).length;
  if (up > 0) return Math.min(canary, up);
  const down = nodes.filter(({ ready }) => !ready);
  return down.length > 0 && down.every(node => isAccepted(node, rules)) ? 0 : canary;
}

/** How many Ready nodes have settled with the spec. Those that joined with it count where no other is left: an undo has only them. */
function provenBy(settled: readonly RolloutNode[], pending: readonly RolloutNode[], rules: Rules): number {
  const isUpLeft = pending.some(isUp);
  const counts = (node: RolloutNode) => (isUpLeft ? node.isOfThis : settlesIn(node, rules) <= 0);
  return settled.filter(node => isUp(node) && counts(node)).length;
}

/** Whether the spec broke it is known once it is Ready again. */
function isUnknown(node: RolloutNode): boolean {
  return node.isInterrupted === true && !settlesByTime(node);
}

function isUp({ ready, isLeaving = false }: RolloutNode): boolean {
  return ready && !isLeaving;
}

interface Rules {
  now: number;
  settleMs: number;
  stopOnNotReady: boolean;
  /** Nodes that are NotReady since then, or longer, are accepted. */
  accepted: number;
  /** A stop of then, or before, is over: both times are of one clock, so it does not matter whether it was ahead. */
  resumed: number;
  /** The spec has not reached all nodes. */
  isUnfinished: boolean;
  /** It was complete, and the spec changes no node now. */
  isOver: boolean;
}

function rulesOf(
  { settleSeconds = DEFAULT_SETTLE_SECONDS, stopOnNotReady = true }: RolloutStrategy,
  { now, resumed, wasComplete }: RolloutTimes,
  pending: readonly RolloutNode[],
): Rules {
  const accepted = resumed === undefined || isTooFarAhead(resumed, now) ? Number.NEGATIVE_INFINITY : resumed;
  return {
    now,
    settleMs: settleSeconds === 0 ? 0 : settleSeconds * 1000 + MARGIN_MS,
    stopOnNotReady,
    accepted,
    resumed: accepted,
    isUnfinished: pending.some(({ hasSpec = false }) => !hasSpec),
    isOver: pending.length === 0 && wasComplete,
  };
}

function phaseOf(node: RolloutNode, rules: Rules): Phase {
  const { ready, readySince = 0, changed, isPending, hasSpec = false, isDraining = false } = node;
  const isOfThis = node.isOfThis && !node.isOfEarlier;
  const rest = node.isUnderWay ? 'in flight' : isPending ? 'waiting' : 'settled';
  const isByTime = settlesByTime(node);
  const isTimeUp = isByTime && settlesIn(node, rules) <= 0;
  if (isDraining) {
    // Whoever resumes goes on without it: it gives its place away, and is drained after the others.
    if (isAccepted(node, rules)) return rest;
    // So does one that was NotReady before: nobody knows when its pods are gone.
    if (!ready && isTimeUp) return rest;
    // The drain is the change: it turned NotReady by it.
    if (!isByTime && isOfThis && rules.stopOnNotReady && !isUnknown(node)) return 'failed';
    // However long its pods take.
    return 'in flight';
  }
  // It joined with its spec, or no rollout has reached it.
  if (changed === undefined) return rest;
  // A rollout that is done stays done, whatever happens to its nodes.
  if (rules.isOver) return rest;
  if (isTimeUp || isAccepted(node, rules)) return rest;
  // Ready, or NotReady before its change: it only has to settle.
  if (isByTime) return 'in flight';
  // From here on: it turned NotReady after its change.
  const isOfNow = isOfThis && (!isPending || hasSpec);
  // By another spec: it does not keep its place from this one for longer than others.
  if (!isOfNow && elapsed(changed, node.changedAgo, rules.now) >= rules.settleMs) return rest;
  // Long after the change, and all nodes have the spec: that does not bring back a rollout that is done.
  if (readySince >= changed + rules.settleMs && !rules.isUnfinished) return rest;
  return isOfNow && rules.stopOnNotReady && !isUnknown(node) ? 'failed' : 'in flight';
}

/** Somebody has resumed the rollout since the node turned NotReady. */
function isAccepted({ ready, readySince = 0 }: RolloutNode, { accepted }: Rules): boolean {
  return !ready && readySince <= accepted;
}

/** Of before, unless somebody has resumed it or its nodes are Ready again; and of the nodes that have failed since. */
function stopOf(
  nodes: readonly RolloutNode[],
  failed: readonly RolloutNode[],
  stopped: RolloutStop | undefined,
  rules: Rules,
): RolloutStop | undefined {
  const before = stopped === undefined || stopped.at <= rules.resumed ? undefined : stopped;
  // A node that has the spec may be pending for what others have added since (`unmanaged: Remove`).
  const isBack = ({ isOfThis, isPending, hasSpec = false, isDraining = false, ready, readySince = 0 }: RolloutNode) =>
    before !== undefined && isOfThis && (!isPending || hasSpec || isDraining) && ready && readySince >= before.at;
  const back = nodes.filter(isBack);
  const left = before?.nodes.filter(name => !back.some(node => node.name === name)) ?? [];
  // Where their names are not known: one that was NotReady before its change has not failed.
  const hasFailed = ({ wasNotReady, readySince = 0 }: RolloutNode) => !wasNotReady && readySince > (before?.at ?? 0);
  const isOver = before?.nodes.length === 0 ? back.some(hasFailed) : left.length === 0;
  const kept = isOver ? undefined : before;
  if (failed.length === 0) return kept && { at: kept.at, nodes: left };
  const names = namesOf(failed);
  const isKnown = kept !== undefined && names.every(name => left.includes(name));
  const turned = failed.map(({ readySince = 0 }) => readySince);
  const at = isKnown ? kept.at : Math.max(kept?.at ?? 0, ...turned);
  return { at, nodes: [...new Set([...left, ...names])].toSorted() };
}

function latestTurn(nodes: readonly RolloutNode[], { now, accepted }: Rules): number {
  const readyTimes = nodes.flatMap(({ isOfThis, readySince }) =>
    isOfThis && readySince !== undefined ? readySince : [],
  );
  const known = readyTimes.filter(time => time <= now + MAX_AHEAD_MS);
  // A stop after a resume is another one, whatever the clock of the node that failed says.
  const latest = known.reduce((a, b) => Math.max(a, b), accepted + 1_000);
  return Number.isFinite(latest) ? latest : 0;
}

/** The others turned NotReady after their change. */
function settlesByTime({ ready, wasNotReady, isLeaving = false }: RolloutNode): boolean {
  return ready || wasNotReady || isLeaving;
}

function settlesIn(node: RolloutNode, { settleMs, now }: Rules): number {
  const sinceChange = settleMs - elapsed(node.changed, node.changedAgo, now);
  return isUp(node) ? Math.max(sinceChange, settleMs - elapsed(node.readySince, node.readyAgo, now)) : sinceChange;
}

function byChange(a: RolloutNode, b: RolloutNode): number {
  const [first, second] = [a.changed ?? Number.MAX_VALUE, b.changed ?? Number.MAX_VALUE];
  return first === second ? (a.name < b.name ? -1 : 1) : first - second;
}

function namesOf(nodes: readonly RolloutNode[]): string[] {
  return nodes.map(({ name }) => name).toSorted();
}

/** No clock is that wrong. */
export function isTooFarAhead(time: number, now: number): boolean {
  return time > now + MAX_AHEAD_MS;
}

/** Milliseconds since then. A time ahead is another clock's, and counts as now; one too far ahead, as long ago. */
export function elapsed(time: number | undefined, measured: number | undefined, now: number): number {
  if (measured !== undefined) return measured;
  if (time === undefined || isTooFarAhead(time, now)) return Number.POSITIVE_INFINITY;
  return Math.max(0, now - time);
}

/** Ready nodes first: the others cannot settle soon. */
function sorted(nodes: readonly RolloutNode[]): RolloutNode[] {
  const last = (node: RolloutNode) => (node.isRefused ? 2 : 0) + (isUp(node) ? 0 : 1);
  return nodes.toSorted((a, b) => last(a) - last(b) || (a.name < b.name ? -1 : 1));
}

/** `5%` of 1000 is 50; rounded up, as maxSurge of a Deployment. */
export function scaled(value: number | string | undefined, total: number): number | undefined {
  if (typeof value !== 'string') return value;
  return Math.ceil((Number(value.slice(0, -1)) * total) / 100);
}
