/**
 * Computes the allowed step of a rollout from the current nodes. The record of a node has the time of its change and
 * the rollout; the status of the pool has a stop. So a killed process loses no state.
 *
 * - in flight: changed by a rollout, and not yet Ready for settleSeconds, or being drained for the change; at most
 *   maxConcurrent nodes. A node that was NotReady when it was changed is in flight for settleSeconds only, as it may
 *   never be Ready. If such a node is drained, its pods may never be gone: it then gives up its slot until it is Ready,
 *   and is drained last.
 * - canary: the first Ready nodes that this rollout changes; the others wait until that many Ready nodes have settled.
 *   A node that is NotReady, or that its owner is removing, cannot be a canary.
 * - failed: a node of this rollout that turned NotReady after its change, or while it is drained. No further node is
 *   changed until the failed nodes are Ready; if auto-repair deletes them, the rollout stays stopped, or one node after
 *   the other would fail. A node that its owner is removing has not failed. Nor has a node that turned NotReady while
 *   cordoned or updated: it stays in flight, and a canary, until it is Ready or gone.
 *
 * Not guaranteed: that clocks agree. A time in the future counts as now; if it is more than MAX_AHEAD_MS ahead, it is
 * ignored, so nothing waits forever.
 */
import type { RolloutStrategy } from '../types.ts';

/** A node that stops is detected after 50 s by default (node-monitor-grace-period). */
export const DEFAULT_SETTLE_SECONDS = 60;
const MAX_AHEAD_MS = 24 * 3_600_000;
/** The next look at a write that had not ended when the step was computed. */
const UNDER_WAY_MS = 1_000;
/** Added to settleSeconds: times are truncated to seconds, and the change's time is before its request. */
const MARGIN_MS = 2_000;

export interface RolloutNode {
  name: string;
  ready: boolean;
  /** Last transition of the condition Ready, in milliseconds. */
  readySince: number | undefined;
  /** When a rollout changed it, in milliseconds. */
  changed: number | undefined;
  /** Milliseconds since `changed` and `readySince`, if this process has measured them. */
  changedAgo?: number;
  readyAgo?: number;
  /** It was NotReady when changed, and has not been Ready since. */
  wasNotReady: boolean;
  /** Its owner is removing it: it does not stop the rollout. */
  isLeaving?: boolean;
  /** It is cordoned or updated: if it is NotReady, the spec is not the reason. */
  isInterrupted?: boolean;
  /** The rollout that changed it was of the current spec. */
  isOfThis: boolean;
  /** Another spec reached nodes since: the current spec is an undo, and did not change this node. */
  isOfEarlier?: boolean;
  /** The current spec still changes it. */
  isPending: boolean;
  /** It got the current spec; the pending changes remove what was added since (`unmanaged: Remove`). */
  hasSpec?: boolean;
  /** It is being written, and so occupies a slot even if settleSeconds is 0. */
  isUnderWay?: boolean;
  /** Its last write failed: other nodes come first, so that it does not block a slot. */
  isRefused: boolean;
  /** Its pods are being evicted to complete the change; until then it is pending. */
  isDraining?: boolean;
}

/** `waiting`: the current spec changes it, but it occupies no slot yet. The others are defined above. */
type Phase = 'waiting' | 'in flight' | 'failed' | 'settled';

export interface RolloutStep {
  nodes: number;
  /** Number of nodes that the current spec still changes. */
  pending: number;
  settling: number;
  /** Names without `notReady`, by time of change: a node that never settles comes first. */
  unsettled: string[];
  /** Names, sorted. */
  failed: string[];
  /** A node has failed; it may no longer exist. */
  isStopped: boolean;
  /** The stop to remember, even if no node waits for it. */
  stop: RolloutStop | undefined;
  /** In milliseconds: the last time a node turned Ready or NotReady. A node that recovers turns Ready later. */
  stoppedAt: number | undefined;
  /** None of the nodes that stopped it is still a member. */
  isGone: boolean;
  /** Nodes that must become Ready before the rollout continues, unless somebody resumes it. Names, sorted. */
  notReady: string[];
  /** Settled by time only, as they were NotReady before their change and still are. Names, sorted. */
  skipped: string[];
  /** If all Ready nodes are being removed, so that none can be the canary: their names, sorted. */
  leaving: string[];
  canary: number;
  /** Whether other nodes wait for the canary. */
  isCanary: boolean;
  /** Maximum number of nodes in flight; Infinity without a limit. */
  limit: number;
  /** Names of the nodes that may be changed now, in this order. */
  next: string[];
  /** Milliseconds until the first node in flight settles, if its state does not change. */
  settlesAfterMs: number | undefined;
}

/** Why this spec is stopped. */
export interface RolloutStop {
  /** In milliseconds: when the nodes turned NotReady. Compared only with times of nodes, not of other clocks. */
  at: number;
  /** Names of failed nodes that are not Ready again, sorted; empty if they are not known. */
  nodes: readonly string[];
}

export interface RolloutTimes {
  /** In milliseconds, like the other times. */
  now: number;
  /** Nodes that turned NotReady before this time are accepted. */
  resumed: number | undefined;
  /** At the last reconcile, this generation was complete: a later failure of a node does not stop it. */
  wasComplete: boolean;
  /** The stop at the last reconcile, if this spec was stopped. */
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
  // After a complete rollout, what others add to the nodes is removed in spite of a stop.
  const keepsStop = pending.length > 0 && (rules.isUnfinished || !times.wasComplete);
  const isStopped = failed.length > 0 || (stop !== undefined && keepsStop);
  const needed = neededCanary(nodes, canary, rules);
  const isOpen = pending.length > 0 || nodes.some(({ isUnderWay }) => isUnderWay);
  const isCanary = isOpen && provenBy(settled, pending, rules) < needed;

  const mayGo = (node: RolloutNode) => !isCanary || isUp(node);
  // Nodes that are already in flight need no further slot.
  const again = sorted(settling.filter(node => node.isPending && mayGo(node)));
  const free = sorted(waiting.filter(mayGo)).slice(0, Math.max(0, limit - inFlight.length));
  // NotReady nodes are changed last.
  const isLast = (node: RolloutNode) => !isUp(node) && !node.isDraining;
  const order = [...again.filter(node => !isLast(node)), ...free, ...again.filter(isLast)];
  const most = isCanary
    ? Math.max(0, needed - changed.length - down.filter(({ isOfThis }) => isOfThis).length)
    : pending.length;
  // Nodes that joined prove the canary once they have settled.
  const joined = isCanary && !pending.some(isUp) ? settled.filter(isUp) : [];
  const waits = [
    ...inFlight.flatMap(node => endsIn(node, rules) ?? []),
    ...joined.map(node => settlesIn(node, rules)),
  ].filter(ms => ms > 0);
  // No other node can be the canary.
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
    skipped: namesOf(settled.filter(node => node.isOfThis && node.wasNotReady && !node.ready)),
    leaving: namesOf(isAlone ? pending.filter(({ ready }) => ready) : []),
    canary,
    isCanary,
    limit,
    next: isStopped ? [] : order.slice(0, most).map(({ name }) => name),
    settlesAfterMs: waits.length === 0 ? undefined : Math.ceil(Math.min(...waits)),
  };
}

/** At most the Ready nodes. If none is Ready, the full canary, unless somebody has accepted all NotReady nodes. */
function neededCanary(nodes: readonly RolloutNode[], canary: number, rules: Rules): number {
  const up = nodes.filter(isUp).length;
  if (up > 0) return Math.min(canary, up);
  const down = nodes.filter(({ ready }) => !ready);
  return down.length > 0 && down.every(node => isAccepted(node, rules)) ? 0 : canary;
}

/** Ready nodes that settled with the spec; if none is left to change (undo), also those that joined with it. */
function provenBy(settled: readonly RolloutNode[], pending: readonly RolloutNode[], rules: Rules): number {
  const isUpLeft = pending.some(isUp);
  const counts = (node: RolloutNode) => (isUpLeft ? node.isOfThis : settlesIn(node, rules) <= 0);
  return settled.filter(node => isUp(node) && counts(node)).length;
}

/** Whether the spec broke the node is only known once it is Ready again. */
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
  /** Nodes that turned NotReady by this time are accepted. */
  accepted: number;
  /** A stop at or before this time is over. Both times are of one clock, so a wrong clock does not matter. */
  resumed: number;
  /** The spec has not reached all nodes. */
  isUnfinished: boolean;
  /** The rollout was complete, and the spec changes no node now. */
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
  const { ready, readySince = 0, changed, isPending, isDraining = false } = node;
  const isOfThis = node.isOfThis && !node.isOfEarlier;
  const rest = node.isUnderWay ? 'in flight' : isPending ? 'waiting' : 'settled';
  const isByTime = settlesByTime(node);
  const isTimeUp = isByTime && settlesIn(node, rules) <= 0;
  if (isDraining) {
    // A resumed rollout continues without the node: it gives up its slot, and is drained last.
    if (isAccepted(node, rules)) return rest;
    // The same for a node that was NotReady before: its pods may never be gone.
    if (!ready && isTimeUp) return rest;
    // The drain is part of the change, so the change made the node NotReady.
    if (!isByTime && isOfThis && rules.stopOnNotReady && !isUnknown(node)) return 'failed';
    // However long the eviction of its pods takes.
    return 'in flight';
  }
  // It joined with its spec, or no rollout has changed it.
  if (changed === undefined) return rest;
  // A completed rollout stays complete, whatever happens to its nodes.
  if (rules.isOver) return rest;
  if (isTimeUp || isAccepted(node, rules)) return rest;
  // Ready, or NotReady before its change: it only has to settle.
  if (isByTime) return 'in flight';
  // From here on, the node turned NotReady after its change.
  const isOfNow = hasCurrentSpec(node);
  // Changed by another spec: it occupies a slot of this rollout no longer than other nodes.
  if (!isOfNow && elapsed(changed, node.changedAgo, rules.now) >= rules.settleMs) return rest;
  // Long after the change, and all nodes have the spec: a completed rollout does not reopen.
  if (readySince >= changed + rules.settleMs && !rules.isUnfinished) return rest;
  return isOfNow && rules.stopOnNotReady && !isUnknown(node) ? 'failed' : 'in flight';
}

/** Whether this rollout changed the node, and changes nothing more. */
function hasCurrentSpec({ isOfThis, isOfEarlier = false, isPending, hasSpec = false }: RolloutNode): boolean {
  return isOfThis && !isOfEarlier && (!isPending || hasSpec);
}

/** Milliseconds until a node in flight frees its slot, by phaseOf(); undefined if that is not a matter of time. */
function endsIn(node: RolloutNode, rules: Rules): number | undefined {
  // A reconcile of another pool may write it, and fail: then no event tells that the slot is free.
  if (node.isUnderWay) return Math.max(UNDER_WAY_MS, settlesIn(node, rules));
  if (node.isDraining && node.ready) return undefined;
  if (settlesByTime(node)) return settlesIn(node, rules);
  if (node.isDraining || hasCurrentSpec(node)) return undefined;
  return rules.settleMs - elapsed(node.changed, node.changedAgo, rules.now);
}

/** Whether somebody resumed the rollout after the node turned NotReady. */
function isAccepted({ ready, readySince = 0 }: RolloutNode, { accepted }: Rules): boolean {
  return !ready && readySince <= accepted;
}

/** The earlier stop, unless somebody resumed or its nodes are Ready again, plus nodes that failed since. */
function stopOf(
  nodes: readonly RolloutNode[],
  failed: readonly RolloutNode[],
  stopped: RolloutStop | undefined,
  rules: Rules,
): RolloutStop | undefined {
  const before = stopped === undefined || stopped.at <= rules.resumed ? undefined : stopped;
  // A node with the spec may be pending because of what others added since (`unmanaged: Remove`).
  const isBack = ({ isOfThis, isPending, hasSpec = false, isDraining = false, ready, readySince = 0 }: RolloutNode) =>
    before !== undefined && isOfThis && (!isPending || hasSpec || isDraining) && ready && readySince >= before.at;
  const back = nodes.filter(isBack);
  const left = before?.nodes.filter(name => !back.some(node => node.name === name)) ?? [];
  // If the names are not known: a node that was NotReady before its change has not failed.
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
  // A stop after a resume is a new one, even if the clock of the failed node is behind.
  const latest = known.reduce((a, b) => Math.max(a, b), accepted + 1_000);
  return Number.isFinite(latest) ? latest : 0;
}

/** False for nodes that turned NotReady after their change. */
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

/** Clocks are never that wrong. */
export function isTooFarAhead(time: number, now: number): boolean {
  return time > now + MAX_AHEAD_MS;
}

/** Milliseconds since `time`. A time in the future counts as now; one too far ahead, as long ago. */
export function elapsed(time: number | undefined, measured: number | undefined, now: number): number {
  if (measured !== undefined) return measured;
  if (time === undefined || isTooFarAhead(time, now)) return Number.POSITIVE_INFINITY;
  return Math.max(0, now - time);
}

/** Ready nodes first, because the others cannot settle soon. */
function sorted(nodes: readonly RolloutNode[]): RolloutNode[] {
  const last = (node: RolloutNode) => (node.isRefused ? 2 : 0) + (isUp(node) ? 0 : 1);
  return nodes.toSorted((a, b) => last(a) - last(b) || (a.name < b.name ? -1 : 1));
}

/** `5%` of 1000 is 50; rounded up, as for maxSurge of a Deployment. */
export function scaled(value: number | string | undefined, total: number): number | undefined {
  if (typeof value !== 'string') return value;
  return Math.ceil((Number(value.slice(0, -1)) * total) / 100);
}
