/**
 * Evicts the pods of one node, retries where a budget refuses, and waits until they are gone. Killed at any point, the next
 * run finds the pods that are left.
 */
import { type Clock, sleep } from '../../controller/clock.ts';
import type { Limiter } from '../../controller/limiter.ts';
import { canReturn, type DrainPod, groupByOutcome, isStuck, podName } from '../../nodepool/drain-filters.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { holdText, manyBudgetsError } from '../../reconciler/eviction-hold.ts';
import type { DrainPort, Removal } from '../drain-port.ts';
import type { DrainScope, PodReader } from './drain-pods.ts';

/** Between two lists of the pods that are left, as kubectl drain. */
const LOOK_MS = 1_000;
/** Between two evictions of a pod that a budget holds back, as kubectl drain. */
const RETRY_MS = 5_000;

export interface NodeDrain {
  node: string;
  /** `waits`: in a dry run, some of its pods would wait. */
  phase: 'not begun' | 'under way' | 'drained' | 'failed' | 'waits';
  /** Pods to evict, and those of them that are gone. */
  pods: number;
  gone: number;
  /** Why pods are not evicted yet, by their name. */
  held: Map<string, string>;
  /** Pods that are terminating for too long to be waited for, as `namespace/name`. */
  terminating?: Set<string>;
  /** Pods came that the drain did not list. */
  hasNewcomers?: boolean;
  /** How many of them are there at its last look; undefined: not known. */
  returned?: number;
  /** Another node has its name. */
  isReplaced?: boolean;
}

export interface RemovalOptions extends DrainScope {
  gracePeriodSeconds: number | undefined;
  /** Deletes pods instead of evicting them: no budget is checked. */
  disableEviction: boolean;
  /** For one node, in milliseconds; 0: no timeout. */
  timeoutMs: number;
  /** The server checks every removal and keeps the pods; a pod that would wait is reported and skipped. */
  dryRun: boolean;
}

/** Events for people, in order. */
export type PodEvent =
  | { kind: 'asking' | 'gone' | 'stuck'; node: string; pod: string }
  /** About pods that the plan did not have. */
  | { kind: 'warning'; node: string; text: string }
  /** @param why what it waits for */
  | { kind: 'held'; node: string; pod: string; why: string };

export interface NodeDrainDeps {
  port: DrainPort;
  pods: PodReader;
  clock: Clock;
  now: () => Date;
  onEvent: (event: PodEvent) => void;
  /** Bounds the pods and nodes that are written, over all nodes together; requests are bounded by the transport. */
  limitObjects: Limiter;
  /** Ends the drain: an object that waits for the limiter is not written. */
  signal: AbortSignal;
  /** Whether another node has the name of the drained one by now. Default: not asked. */
  isReplaced?: () => Promise<boolean>;
}

export type NodeEnd = 'drained' | 'not drained' | 'replaced';

interface PendingEviction {
  pod: DrainPod;
  /** By the clock; undefined while the pod is terminating. */
  askAt: number | undefined;
  wasAsked: boolean;
}

/**
 * Records its progress in `drain`. `not drained`: the signal was aborted first, or pods would wait in a dry run. `replaced`: the
 * node was deleted, and another one has its name. Throws when it cannot be drained.
 * @param warned UIDs of pods whose warnings were shown
 */
export async function drainNode(
  drain: NodeDrain,
  options: RemovalOptions,
  deps: NodeDrainDeps,
  warned: ReadonlySet<string>,
): Promise<NodeEnd> {
  const { clock, signal } = deps;
  const began = clock.now();
  // Pods that come later tolerate the cordon, and would be evicted again and again: they stay.
  const { evict, warnings, refusals, terminating } = await deps.pods.read(drain.node);
  if (refusals.length > 0) throw new NodepoolError('cluster', groupByOutcome(refusals).join('; '));
  const late = warnings.filter(({ evicts }) => evicts !== undefined && !warned.has(evicts));
  for (const text of groupByOutcome(late)) deps.onEvent({ kind: 'warning', node: drain.node, text });
  drain.pods = evict.length;
  drain.terminating = new Set(terminating.map(podName));
  const listed = new Set([...evict, ...terminating].map(({ uid }) => uid));
  const left = new Map(
    evict.map((pod): [string, PendingEviction] => [pod.uid, { pod, askAt: began, wasAsked: false }]),
  );
  const work: Work = { drain, options, deps, left, listed, errors: [] };
  let askedAt = began;
  while (left.size > 0 && !signal.aborted) {
    if (options.timeoutMs > 0 && clock.now() - began >= options.timeoutMs) throw timedOut(work);
    const due = [...left.values()].filter(({ askAt }) => askAt !== undefined && askAt <= clock.now());
    await Promise.all(due.map(pending => deps.limitObjects(() => ask(pending, work))));
    if (left.size === 0) break;
    await sleep(clock, pauseMs(work, began), signal);
    if (signal.aborted) break;
    await look(work);
    if (left.size > 0 && clock.now() - askedAt < RETRY_MS) continue;
    askedAt = clock.now();
    if (await deps.isReplaced?.()) return 'replaced';
  }
  if (work.errors.length > 0) throw new NodepoolError('cluster', work.errors.join('; '));
  return left.size === 0 && drain.held.size === 0 ? 'drained' : 'not drained';
}

interface Work {
  drain: NodeDrain;
  options: RemovalOptions;
  deps: NodeDrainDeps;
  /** By UID. */
  left: Map<string, PendingEviction>;
  /** UIDs of the pods that were listed first. */
  listed: ReadonlySet<string>;
  /** Of pods that cannot be evicted; the others are evicted all the same. */
  errors: string[];
}

/** A pod that cannot be evicted does not stop the others. */
async function ask(pending: PendingEviction, work: Work): Promise<void> {
  const { drain, options, deps, left, errors } = work;
  const { pod } = pending;
  const { gracePeriodSeconds, disableEviction } = options;
  if (deps.signal.aborted) return;
  if (!pending.wasAsked) deps.onEvent({ kind: 'asking', node: drain.node, pod: podName(pod) });
  pending.wasAsked = true;
  try {
    const removal = { gracePeriodSeconds };
    take(await (disableEviction ? deps.port.delete(pod, removal) : deps.port.evict(pod, removal)), pending, work);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    left.delete(pod.uid);
    drain.held.delete(podName(pod));
    errors.push(error.next === undefined ? error.message : `${error.message} (${error.next})`);
  }
}

function take(removal: Removal, pending: PendingEviction, work: Work): void {
  const { pod } = pending;
  const now = work.deps.clock.now();
  switch (removal.kind) {
    case 'accepted':
      pending.askAt = undefined;
      work.drain.held.delete(podName(pod));
      if (work.options.dryRun) finish('gone', pod, work);
      return;
    case 'gone':
      finish('gone', pod, work);
      return;
    case 'changed':
      // The next list finds out whether the name is another pod's by now.
      pending.askAt = now + LOOK_MS;
      return;
    case 'budget':
      hold(holdText(removal, pod), pending, work);
      pending.askAt = now + RETRY_MS;
      return;
    case 'busy':
      hold(holdText(removal, pod), pending, work);
      pending.askAt = now + Math.max(RETRY_MS, removal.afterMs ?? 0);
      return;
    case 'many budgets':
      throw manyBudgetsError(pod, removal.budgets, ', or use --disable-eviction');
    case 'namespace ends':
      if (pod.deletionTimestamp !== undefined && !work.options.dryRun) {
        pending.askAt = undefined;
        return;
      }
      hold(holdText(removal, pod), pending, work);
      pending.askAt = now + RETRY_MS;
  }
}

/** Reported once for each reason, not with each retry. */
function hold(why: string, { pod }: PendingEviction, { drain, options, deps, left }: Work): void {
  const name = podName(pod);
  if (options.dryRun) left.delete(pod.uid);
  if (drain.held.get(name) === why) return;
  drain.held.set(name, why);
  deps.onEvent({ kind: 'held', node: drain.node, pod: name, why });
}

function finish(kind: 'gone' | 'stuck', pod: DrainPod, { drain, deps, left }: Work): void {
  left.delete(pod.uid);
  drain.held.delete(podName(pod));
  if (kind === 'gone') drain.gone++;
  else {
    drain.pods--;
    drain.terminating?.add(podName(pod));
  }
  deps.onEvent({ kind, node: drain.node, pod: podName(pod) });
}

/** Lists which pods are gone: a pod with another UID is another pod. Labels may have changed, so no selector is used. */
async function look(work: Work): Promise<void> {
  const { drain, options, deps, left, listed } = work;
  const there = new Map((await deps.port.podsOn(drain.node)).map(pod => [pod.uid, pod]));
  const newcomers = [...there.values()].filter(pod => !listed.has(pod.uid) && canReturn(pod)).length;
  if (newcomers > 0) drain.hasNewcomers = true;
  // With a selector, others were there before.
  if (options.podSelector === undefined) drain.returned = newcomers;
  for (const pending of [...left.values()]) {
    const current = there.get(pending.pod.uid);
    if (current === undefined) finish('gone', pending.pod, work);
    else if (isStuck(current, options.rules.skipWaitForDeleteSeconds, deps.now())) finish('stuck', current, work);
    else pending.pod = current;
  }
}

/** A list each second while a pod is terminating; else the delay until the next eviction. */
function pauseMs({ left, options, deps: { clock } }: Work, began: number): number {
  const asks = [...left.values()].map(({ askAt }) => (askAt === undefined ? LOOK_MS : askAt - clock.now()));
  const end = options.timeoutMs > 0 ? began + options.timeoutMs - clock.now() : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(end, ...asks));
}

function timedOut({ drain, options, left, errors }: Work): NodepoolError {
  const outcomes = [...left.values()].map(({ pod }) => {
    const name = podName(pod);
    const why = drain.held.get(name);
    return { what: why === undefined ? 'still terminating' : `waiting for ${why}`, pod: name };
  });
  const pods = groupByOutcome(outcomes, (what, names) => `${names} ${what}`).join('; ');
  const late = `gave up after ${options.timeoutMs / 1000} s (--timeout): ${pods}`;
  return new NodepoolError('cluster', [...errors, late].join('; '));
}
