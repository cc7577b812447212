/**
 * The step of a rollout that is allowed now, computed from the nodes as they are: nothing but the time of a node's change and
 * which rollout it was is remembered, in its record. So a process that is killed loses no count.
 *
 * - in flight: changed by a rollout, and not Ready for settleSeconds since, or drained for the change. At most maxConcurrent
 *   are. A node that was NotReady when it was changed is in flight for settleSeconds: nobody knows when it will be Ready. If it
 *   is drained, nobody knows when its pods are gone: it gives its place away then, until it is Ready, and is drained last.
 * - canary: the first nodes that this rollout changes; the others wait until so many of its nodes have settled.
 * - failed: a node of this rollout that turned NotReady after its change, or while it is drained. No further node is changed,
 *   until one that had failed is Ready: where a failed node is deleted, as auto-repair does, the next would fail in its place,
 *   one after the other.
 *
 * Not guaranteed: that clocks agree. A time of more than MAX_SKEW_MS ahead of ours is ignored, so nothing waits for ever.
 */
import type { RolloutStrategy } from './types.ts';

/** A node that stops is noticed after 50 s by default (node-monitor-grace-period). */
export const DEFAULT_SETTLE_SECONDS = 60;
const MAX_SKEW_MS = 5 * 60_000;
/** Added to settleSeconds: the times have whole seconds, cut off, and a change is stamped before its request is sent. */
const MARGIN_MS = 2_000;

/** A member of the pool. */
export interface RolloutNode {
  name: string;
  ready: boolean;
  /** Last transition of the condition Ready, in milliseconds. */
  readySince: number | undefined;
  /** When a rollout changed it, in milliseconds. */
  changed: number | undefined;
  /** It was NotReady then. */
  wasNotReady: boolean;
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
  /** Number of members. */
  nodes: number;
  /** How many the current spec still changes. */
  pending: number;
  /** How many are in flight. */
  settling: number;
  /** Names, sorted. */
  failed: string[];
  /** A node has failed; it may be gone. */
  isStopped: boolean;
  /**
   * In milliseconds, if it is stopped: the latest time that a node of this rollout turned Ready or NotReady. A node that recovers
   * turns Ready after it. Times of nodes alone are compared: the clock of the process that notices may be another.
   */
  stoppedAt: number | undefined;
  /** Those in flight that do not settle until they are Ready, or somebody resumes. Names, sorted. */
  notReady: string[];
  /** Size of the canary. */
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

export interface RolloutTimes {
  /** In milliseconds, as all of them. */
  now: number;
  /** Until then, nodes that are NotReady are accepted. */
  resumed: number | undefined;
  /** All of this generation was done at the last reconcile: a node that fails later is no rollout. */
  wasComplete: boolean;
  /** See RolloutStep.stoppedAt, if this generation was stopped at the last reconcile. */
  stopped: number | undefined;
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
  const changed = nodes.filter(({ isPending, isOfThis }) => isOfThis && !isPending);
  const begun = nodes.filter(({ isDraining, isOfThis }) => isOfThis && isDraining);
  const isStopped =
    failed.length > 0 || (pending.length > 0 && staysStopped([...changed, ...begun], times.stopped, rules));
  const isCanary = pending.length > 0 && settled.filter(({ isOfThis }) => isOfThis).length < canary;

  // Nodes that are in flight already take no further place.
  const again = sorted(settling.filter(({ isPending }) => isPending));
  const free = sorted(waiting).slice(0, Math.max(0, limit - inFlight.length));
  const most = isCanary ? Math.max(0, canary - changed.length) : pending.length;
  const waits = inFlight
    .filter(node => !(node.isDraining && node.ready) && settlesByTime(node))
    .map(node => settlesIn(node, rules))
    // A write under way ends by itself.
    .filter(ms => ms > 0);
  return {
    nodes: nodes.length,
    pending: pending.length,
    settling: inFlight.length,
    failed: namesOf(failed),
    isStopped,
    stoppedAt: isStopped ? latestTurn(nodes, rules) : undefined,
    notReady: namesOf(inFlight.filter(node => !settlesByTime(node))),
    canary,
    isCanary,
    limit,
    next: isStopped ? [] : [...again, ...free].slice(0, most).map(({ name }) => name),
    settlesAfterMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
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
  const accepted = resumed === undefined || resumed > now + MAX_SKEW_MS ? Number.NEGATIVE_INFINITY : resumed;
  return {
    now,
    settleMs: settleSeconds === 0 ? 0 : settleSeconds * 1000 + MARGIN_MS,
    stopOnNotReady,
    accepted,
    resumed: resumed ?? Number.NEGATIVE_INFINITY,
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
  const isAccepted = !ready && readySince <= rules.accepted;
  if (isDraining) {
    // Whoever resumes goes on without it: it gives its place away, and is drained after the others.
    if (isAccepted) return rest;
    // So does one that was NotReady before: nobody knows when its pods are gone.
    if (!ready && isTimeUp) return rest;
    // The drain is the change: it turned NotReady by it.
    if (!isByTime && isOfThis && rules.stopOnNotReady) return 'failed';
    // However long its pods take.
    return 'in flight';
  }
  // It joined with its spec, or no rollout has reached it.
  if (changed === undefined) return rest;
  // A rollout that is done stays done, whatever happens to its nodes.
  if (rules.isOver) return rest;
  if (isTimeUp || isAccepted) return rest;
  // Ready, or NotReady before its change: it only has to settle.
  if (isByTime) return 'in flight';
  // From here on: it turned NotReady after its change.
  const isOfNow = isOfThis && (!isPending || hasSpec);
  const isLater = readySince >= changed + rules.settleMs;
  // Long after the change of another spec: it takes no place from this one.
  if (isLater && !isOfNow) return rest;
  // Long after the change, and all nodes have the spec: that does not bring back a rollout that is done.
  if (isLater && !rules.isUnfinished) return rest;
  return isOfNow && rules.stopOnNotReady ? 'failed' : 'in flight';
}

/** Whether nobody has resumed it, and none of its nodes has become Ready since it was stopped. */
function staysStopped(changed: readonly RolloutNode[], stopped: number | undefined, { resumed }: Rules): boolean {
  if (stopped === undefined || stopped <= resumed) return false;
  return !changed.some(({ ready, wasNotReady, readySince = 0 }) => ready && !wasNotReady && readySince > stopped);
}

function latestTurn(nodes: readonly RolloutNode[], { now, accepted }: Rules): number | undefined {
  const turns = nodes.flatMap(({ isOfThis, readySince }) => (isOfThis && readySince !== undefined ? readySince : []));
  const known = turns.filter(turn => turn <= now + MAX_SKEW_MS);
  // A stop after a resume is another one, whatever the clock of the node that failed says.
  const latest = known.reduce((a, b) => Math.max(a, b), accepted + 1_000);
  return Number.isFinite(latest) ? latest : undefined;
}

/** The others turned NotReady after their change. */
function settlesByTime({ ready, wasNotReady }: RolloutNode): boolean {
  return ready || wasNotReady;
}

function settlesIn({ ready, changed, readySince }: RolloutNode, { settleMs, now }: Rules): number {
  return Math.max(leftOf(changed, settleMs, now), ready ? leftOf(readySince, settleMs, now) : 0);
}

function namesOf(nodes: readonly RolloutNode[]): string[] {
  return nodes.map(({ name }) => name).toSorted();
}

/** Milliseconds until so much time has passed; a time too far ahead is another clock's, and counts as passed. */
function leftOf(time: number | undefined, ms: number, now: number): number {
  return time === undefined || time > now + MAX_SKEW_MS ? 0 : time + ms - now;
}

/** Ready nodes first: the others cannot settle soon. */
function sorted(nodes: readonly RolloutNode[]): RolloutNode[] {
  const last = ({ isRefused, ready }: RolloutNode) => (isRefused ? 2 : 0) + (ready ? 0 : 1);
  return nodes.toSorted((a, b) => last(a) - last(b) || (a.name < b.name ? -1 : 1));
}

/** `5%` of 1000 is 50; rounded up, as maxSurge of a Deployment. */
export function scaled(value: number | string | undefined, total: number): number | undefined {
  if (typeof value !== 'string') return value;
  return Math.ceil((Number(value.slice(0, -1)) * total) / 100);
}
