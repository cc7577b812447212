/**
 * The step of a rollout that is allowed now, computed from the nodes as they are: nothing but the time of a node's change is
 * remembered, in its record. So a process that is killed loses no count.
 *
 * - in flight: changed by a rollout, and not Ready for settleSeconds since, or drained for the change. At most maxConcurrent are.
 * - canary: the first nodes that are changed; the others wait until these have settled.
 * - failed: a node that carries the current spec and turned NotReady after its change. No further node is changed.
 *
 * Not guaranteed: that clocks agree. A time of more than MAX_SKEW_MS ahead of ours is ignored, so nothing waits for ever.
 */
import type { RolloutStrategy } from './types.ts';

/** A node that stops is noticed after 50 s by default (node-monitor-grace-period). */
export const DEFAULT_SETTLE_SECONDS = 60;
const MAX_SKEW_MS = 5 * 60_000;

/** A member of the pool. */
export interface RolloutNode {
  name: string;
  ready: boolean;
  /** Last transition of the condition Ready, in milliseconds. */
  readySince: number | undefined;
  /** When a rollout changed it, in milliseconds. */
  changed: number | undefined;
  /** The current spec changes it. */
  isPending: boolean;
  /** Its pods are evicted before the change is complete. */
  isDraining?: boolean;
}

export interface RolloutStep {
  /** Number of members. */
  nodes: number;
  /** How many the current spec still changes. */
  pending: number;
  /** How many are in flight. */
  settling: number;
  /** Names, sorted. */
  failed: string[];
  /** Size of the canary. */
  canary: number;
  /** Whether the others wait for it. */
  isCanary: boolean;
  /** In flight at most; Infinity without a limit. */
  limit: number;
  /** Names of the nodes that may be changed now, in this order. */
  next: string[];
  /** Milliseconds until the first node in flight has settled, if it stays Ready. */
  settlesAfterMs: number | undefined;
}

export interface RolloutTimes {
  /** In milliseconds, as all of them. */
  now: number;
  /** Until then, nodes that are NotReady are accepted. */
  resumed: number | undefined;
  /** All of this generation was done at the last reconcile: a node that fails later is no rollout. */
  wasComplete: boolean;
}

export function rolloutStep(
  nodes: readonly RolloutNode[],
  strategy: RolloutStrategy,
  { now, resumed, wasComplete }: RolloutTimes,
): RolloutStep {
  const settleMs = (strategy.settleSeconds ?? DEFAULT_SETTLE_SECONDS) * 1000;
  const limit = Math.max(1, scaled(strategy.maxConcurrent, nodes.length) ?? Number.POSITIVE_INFINITY);
  const canary = Math.min(nodes.length, scaled(strategy.canary, nodes.length) ?? 0);
  const accepted = resumed !== undefined && resumed <= now + MAX_SKEW_MS ? resumed : undefined;
  const pending = nodes.filter(({ isPending }) => isPending);
  const isOver = pending.length === 0 && wasComplete;

  /** Whether the node is NotReady since before somebody resumed. */
  const isAccepted = ({ ready, readySince }: RolloutNode) =>
    !ready && accepted !== undefined && readySince !== undefined && readySince <= accepted;
  /** Whether it turned NotReady when it had settled already, as far as its last transition tells. */
  const failedLater = ({ ready, readySince = 0, changed = 0 }: RolloutNode) =>
    !ready && readySince >= changed + settleMs;
  const settlesIn = ({ changed, readySince }: RolloutNode) =>
    Math.max(...[changed, readySince].map(time => leftOf(time, settleMs, now)));
  const isSettled = (node: RolloutNode) => isAccepted(node) || (node.ready && settlesIn(node) <= 0);
  const isInFlight = (node: RolloutNode) => {
    if (node.isDraining) return true;
    if (node.changed === undefined || isOver || isSettled(node)) return false;
    // A failure long after the change takes no place from a new spec, and does not bring back a rollout that is done.
    return !((node.isPending || pending.length === 0) && failedLater(node));
  };

  const inFlight = new Set(nodes.filter(isInFlight));
  const changed = nodes.filter(node => !node.isPending && node.changed !== undefined);
  const failed = (strategy.stopOnNotReady ?? true) ? changed.filter(node => inFlight.has(node) && hasTurned(node)) : [];
  const settled = changed.filter(node => !inFlight.has(node)).length;
  const isCanary = pending.length > 0 && changed.length <= canary && settled < canary;

  // Nodes that are in flight already take no further place.
  const again = sorted(pending.filter(node => inFlight.has(node)));
  const free = sorted(pending.filter(node => !inFlight.has(node))).slice(0, Math.max(0, limit - inFlight.size));
  const most = isCanary ? canary - changed.length : pending.length;
  const waits = [...inFlight].filter(({ ready, isDraining }) => ready && !isDraining).map(settlesIn);
  return {
    nodes: nodes.length,
    pending: pending.length,
    settling: inFlight.size,
    failed: failed.map(({ name }) => name).toSorted(),
    canary,
    isCanary,
    limit,
    next: failed.length > 0 ? [] : [...again, ...free].slice(0, most).map(({ name }) => name),
    settlesAfterMs: waits.length === 0 ? undefined : Math.min(...waits),
  };
}

/** Whether the node turned NotReady after its change, or in the same second. */
function hasTurned({ ready, readySince, changed = 0 }: RolloutNode): boolean {
  return !ready && (readySince === undefined || readySince >= changed);
}

/** Milliseconds until so much time has passed; a time too far ahead is another clock's, and counts as passed. */
function leftOf(time: number | undefined, ms: number, now: number): number {
  return time === undefined || time > now + MAX_SKEW_MS ? 0 : time + ms - now;
}

/** Ready nodes first: the others cannot settle soon. */
function sorted(nodes: readonly RolloutNode[]): RolloutNode[] {
  return nodes.toSorted((a, b) => Number(b.ready) - Number(a.ready) || (a.name < b.name ? -1 : 1));
}

/** `5%` of 1000 is 50; rounded up, as maxSurge of a Deployment. */
export function scaled(value: number | string | undefined, total: number): number | undefined {
  if (typeof value !== 'string') return value;
  return Math.ceil((Number(value.slice(0, -1)) * total) / 100);
}
