/**
 * Evicts the pods of one node, and waits until they are gone. Killed at any point, the next run finds the pods that are left.
 */
import { sleep } from '../../controller/clock.ts';
import type { Limiter } from '../../controller/limiter.ts';
import type { Removal } from '../../kube/cluster.ts';
import { canReturn, type DrainPod, groupByOutcome, isStuck, podName } from '../../nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { Evictor, RETRY_MS } from '../../reconciler/evict/evictor.ts';
import type { PodReader } from './drain-pods.ts';
import type { DrainOptions, NodeDrain, PodEvent } from './options.ts';

/** Between two lists of the pods that are left, as kubectl drain. */
const LOOK_MS = 1_000;

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

/**
 * Records its progress in `drain`. `not drained`: the signal was aborted first, or pods would wait in a dry run. `replaced`: the
 * node was deleted, and another one has its name. Throws when it cannot be drained.
 */
export async function drainNode(drain: NodeDrain, run: NodeRun): Promise<NodeEnd> {
  const { options, report } = run;
  const { clock, signal, timeoutMs, evictions } = options;
  const began = clock.now();
  // Pods that come later tolerate the cordon, and would be evicted again and again: they stay.
  const { evict, warnings, refusals, terminating } = await run.pods.read(drain.node);
  if (refusals.length > 0) throw new NodepoolError('cluster', groupByOutcome(refusals).join('; '));
  const late = warnings.filter(({ evicts }) => evicts !== undefined && !run.warned.has(evicts));
  for (const text of groupByOutcome(late)) report({ kind: 'warning', node: drain.node, text });
  drain.pods = evict.length;
  drain.terminating = new Set(terminating.map(podName));
  const evictor = new Evictor({
    ...{ node: drain.node, clock, signal, onEvent: report },
    isDryRun: options.dryRun === 'server',
    otherwise: ', or use --disable-eviction',
  });
  drain.held = evictor.held;
  const work: Work = {
    ...{ drain, options, report, evictor },
    left: new Map(evict.map(pod => [pod.uid, pod])),
    listed: new Set([...evict, ...terminating].map(({ uid }) => uid)),
    errors: [],
  };
  const { left, errors } = work;
  let askedAt = began;
  while (left.size > 0 && !signal?.aborted) {
    if (timeoutMs > 0 && clock.now() - began >= timeoutMs) throw timedOut(work);
    await evictor.evictAtOnce([...left.values()], evictions, run.limitObjects, (pod, answer) =>
      take(answer, pod, work),
    );
    if (left.size === 0) break;
    await sleep(clock, pauseMs(work, began), signal);
    if (signal?.aborted) break;
    await look(work);
    if (left.size > 0 && clock.now() - askedAt < RETRY_MS) continue;
    askedAt = clock.now();
    if (await run.isReplaced()) return 'replaced';
  }
  if (errors.length > 0) throw new NodepoolError('cluster', errors.join('; '));
  return left.size === 0 && drain.held.size === 0 ? 'drained' : 'not drained';
}

interface Work {
  drain: NodeDrain;
  options: DrainOptions;
  report: NodeRun['report'];
  evictor: Evictor;
  /** Pods that are to go, by UID. */
  left: Map<string, DrainPod>;
  /** UIDs of the pods that were listed first. */
  listed: ReadonlySet<string>;
  /** Of pods that cannot be evicted; the others are evicted all the same. */
  errors: string[];
}

/** A dry run does not wait: a pod that would go counts as gone, and one that would be held back is not asked about again. */
function take(answer: Removal | NodepoolError, pod: DrainPod, work: Work): void {
  const { options, evictor, left, errors } = work;
  const isDry = options.dryRun === 'server';
  if (answer instanceof NodepoolError) {
    left.delete(pod.uid);
    evictor.forget(pod.uid);
    errors.push(answer.next === undefined ? answer.message : `${answer.message} (${answer.next})`);
  } else if (answer.kind === 'gone' || (isDry && answer.kind === 'accepted')) finish('gone', pod, work);
  else if (isDry && evictor.held.has(pod.uid)) left.delete(pod.uid);
}

function finish(kind: 'gone' | 'stuck', pod: DrainPod, { drain, report, evictor, left }: Work): void {
  left.delete(pod.uid);
  evictor.forget(pod.uid);
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
  for (const pod of [...left.values()]) {
    const current = there.get(pod.uid);
    if (current === undefined) finish('gone', pod, work);
    else if (isStuck(current, options.rules.skipWaitForDeleteSeconds, options.now())) finish('stuck', current, work);
    else left.set(pod.uid, current);
  }
}

/** A list each second while a pod is terminating; else the delay until the next eviction. */
function pauseMs({ left, evictor, options: { clock, timeoutMs } }: Work, began: number): number {
  const asks = [...left.values()].map(pod => evictor.dueInMs(pod) ?? LOOK_MS);
  const end = timeoutMs > 0 ? began + timeoutMs - clock.now() : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(end, ...asks));
}

function timedOut({ evictor, options, left, errors }: Work): NodepoolError {
  const outcomes = [...left.values()].map(pod => {
    const why = evictor.held.get(pod.uid)?.why;
    return { what: why === undefined ? 'still terminating' : `waiting for ${why}`, pod: podName(pod) };
  });
  const pods = groupByOutcome(outcomes, (what, names) => `${names} ${what}`).join('; ');
  const late = `gave up after ${options.timeoutMs / 1000} s (--timeout): ${pods}`;
  return new NodepoolError('cluster', [...errors, late].join('; '));
}
