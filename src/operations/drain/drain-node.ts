/**
 * Evicts the pods of one node, retries where a budget refuses, and waits until they are gone. Killed at any point, the next
 * run finds the pods that are left.
 */
import { sleep } from '../../controller/clock.ts';
import type { Limiter } from '../../controller/limiter.ts';
import { canReturn, type DrainPod, groupByOutcome, isStuck, podName } from '../../nodepool/drain-filters.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { holdText, manyBudgetsError } from '../../reconciler/eviction-hold.ts';
import type { Removal } from '../../reconciler/ports.ts';
import type { PodReader } from './drain-pods.ts';
import type { DrainOptions, NodeDrain, PodEvent } from './options.ts';

/** Between two lists of the pods that are left, as kubectl drain. */
const LOOK_MS = 1_000;
/** Between two evictions of a pod that a budget holds back, as kubectl drain. */
const RETRY_MS = 5_000;

/** The drain of one node. */
interface NodeRun {
  options: DrainOptions;
  pods: PodReader;
  limitObjects: Limiter;
  report: (event: PodEvent) => void;
  /** UIDs of pods whose warnings were shown. */
  warned: ReadonlySet<string>;
  /** Whether another node has the name of the drained one by now. */
  isReplaced: () => Promise<boolean>;
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
 */
export async function drainNode(drain: NodeDrain, run: NodeRun): Promise<NodeEnd> {
  const { options, report } = run;
  const { clock, signal, timeoutMs } = options;
  const began = clock.now();
  // Pods that come later tolerate the cordon, and would be evicted again and again: they stay.
  const { evict, warnings, refusals, terminating } = await run.pods.read(drain.node);
  if (refusals.length > 0) throw new NodepoolError('cluster', groupByOutcome(refusals).join('; '));
  const late = warnings.filter(({ evicts }) => evicts !== undefined && !run.warned.has(evicts));
  for (const text of groupByOutcome(late)) report({ kind: 'warning', node: drain.node, text });
  drain.pods = evict.length;
  drain.terminating = new Set(terminating.map(podName));
  const listed = new Set([...evict, ...terminating].map(({ uid }) => uid));
  const left = new Map(
    evict.map((pod): [string, PendingEviction] => [pod.uid, { pod, askAt: began, wasAsked: false }]),
  );
  const work: Work = { drain, options, report, left, listed, errors: [] };
  let askedAt = began;
  while (left.size > 0 && !signal?.aborted) {
    if (timeoutMs > 0 && clock.now() - began >= timeoutMs) throw timedOut(work);
    const due = [...left.values()].filter(({ askAt }) => askAt !== undefined && askAt <= clock.now());
    await Promise.all(due.map(pending => run.limitObjects(() => ask(pending, work))));
    if (left.size === 0) break;
    await sleep(clock, pauseMs(work, began), signal);
    if (signal?.aborted) break;
    await look(work);
    if (left.size > 0 && clock.now() - askedAt < RETRY_MS) continue;
    askedAt = clock.now();
    if (await run.isReplaced()) return 'replaced';
  }
  if (work.errors.length > 0) throw new NodepoolError('cluster', work.errors.join('; '));
  return left.size === 0 && drain.held.size === 0 ? 'drained' : 'not drained';
}

interface Work {
  drain: NodeDrain;
  options: DrainOptions;
  report: NodeRun['report'];
  /** By UID. */
  left: Map<string, PendingEviction>;
  /** UIDs of the pods that were listed first. */
  listed: ReadonlySet<string>;
  /** Of pods that cannot be evicted; the others are evicted all the same. */
  errors: string[];
}

/** A pod that cannot be evicted does not stop the others. */
async function ask(pending: PendingEviction, work: Work): Promise<void> {
  const { drain, options, report, left, errors } = work;
  const { pod } = pending;
  if (options.signal?.aborted) return;
  if (!pending.wasAsked) report({ kind: 'asking', node: drain.node, pod: podName(pod) });
  pending.wasAsked = true;
  try {
    take(await options.evictions.evict(pod), pending, work);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    left.delete(pod.uid);
    drain.held.delete(podName(pod));
    errors.push(error.next === undefined ? error.message : `${error.message} (${error.next})`);
  }
}

function take(removal: Removal, pending: PendingEviction, work: Work): void {
  const { pod } = pending;
  const { clock, dryRun } = work.options;
  const now = clock.now();
  switch (removal.kind) {
    case 'accepted':
      pending.askAt = undefined;
      work.drain.held.delete(podName(pod));
      if (dryRun === 'server') finish('gone', pod, work);
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
      if (pod.deletionTimestamp !== undefined && dryRun !== 'server') {
        pending.askAt = undefined;
        return;
      }
      hold(holdText(removal, pod), pending, work);
      pending.askAt = now + RETRY_MS;
  }
}

/** Reported once for each reason, not with each retry. */
function hold(why: string, { pod }: PendingEviction, { drain, options, report, left }: Work): void {
  const name = podName(pod);
  if (options.dryRun === 'server') left.delete(pod.uid);
  if (drain.held.get(name) === why) return;
  drain.held.set(name, why);
  report({ kind: 'held', node: drain.node, pod: name, why });
}

function finish(kind: 'gone' | 'stuck', pod: DrainPod, { drain, report, left }: Work): void {
  left.delete(pod.uid);
  drain.held.delete(podName(pod));
  if (kind === 'gone') drain.gone++;
  else {
    drain.pods--;
    drain.terminating?.add(podName(pod));
  }
  report({ kind, node: drain.node, pod: podName(pod) });
}

/** Lists which pods are gone: a pod with another UID is another pod. Labels may have changed, so no selector is used. */
async function look(work: Work): Promise<void> {
  const { drain, options, left, listed } = work;
  const there = new Map((await options.evictions.podsOn(drain.node)).map(pod => [pod.uid, pod]));
  const newcomers = [...there.values()].filter(pod => !listed.has(pod.uid) && canReturn(pod)).length;
  if (newcomers > 0) drain.hasNewcomers = true;
  // With a selector, others were there before.
  if (options.podSelector === undefined) drain.returned = newcomers;
  for (const pending of [...left.values()]) {
    const current = there.get(pending.pod.uid);
    if (current === undefined) finish('gone', pending.pod, work);
    else if (isStuck(current, options.rules.skipWaitForDeleteSeconds, options.now())) finish('stuck', current, work);
    else pending.pod = current;
  }
}

/** A list each second while a pod is terminating; else the delay until the next eviction. */
function pauseMs({ left, options: { clock, timeoutMs } }: Work, began: number): number {
  const asks = [...left.values()].map(({ askAt }) => (askAt === undefined ? LOOK_MS : askAt - clock.now()));
  const end = timeoutMs > 0 ? began + timeoutMs - clock.now() : Number.POSITIVE_INFINITY;
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
