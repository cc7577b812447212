/**
 * Takes the pods off one node: asks for each to go, again and again where a budget holds it back, and waits until they
 * are gone. Killed at any point, the next run finds what is left.
 */
import { type Clock, sleep } from '../controller/clock.ts';
import type { Limiter } from '../controller/limiter.ts';
import { type DrainPod, groupByOutcome, isStuck, podName } from '../nodepool/drain-filters.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { DrainScope, PodReader } from './drain-pods.ts';
import type { DrainPort, Removal } from './drain-port.ts';

/** Between two looks whether pods are gone, as kubectl drain. */
const LOOK_MS = 1_000;
/** Between two tries to evict a pod that is held back, as kubectl drain. */
const RETRY_MS = 5_000;

export interface NodeDrain {
  node: string;
  phase: 'not begun' | 'under way' | 'drained' | 'failed';
  /** Pods that have to go, and those of them that are gone. */
  pods: number;
  gone: number;
  /** What pods wait for that do not go yet, by their name. */
  held: Map<string, string>;
}

export interface RemovalOptions extends DrainScope {
  gracePeriodSeconds: number | undefined;
  /** Deletes, which no budget holds back. */
  disableEviction: boolean;
  /** For one node, in milliseconds; 0: for ever. */
  timeoutMs: number;
  /** The server checks every removal and keeps the pods; what would wait, for whatever it is, is told and passed over. */
  dryRun: boolean;
}

/** What people see of it, in the order in which it happens. */
export type PodEvent =
  | { kind: 'asking' | 'gone' | 'stuck'; node: string; pod: string }
  /** @param why what it waits for */
  | { kind: 'held'; node: string; pod: string; why: string };

export interface NodeDrainDeps {
  port: DrainPort;
  pods: PodReader;
  clock: Clock;
  now: () => Date;
  tell: (event: PodEvent) => void;
  /** For what is written, of all nodes together. */
  limit: Limiter;
  /** Ends it where it is: what waits for a place of the limiter is not sent. */
  signal: AbortSignal;
}

interface PendingEviction {
  pod: DrainPod;
  /** By the clock; no time when it is on its way. */
  askAt: number | undefined;
  wasAsked: boolean;
}

/**
 * Writes its course into `drain`, and gives whether the node is drained: not when the signal is aborted first. Throws when it
 * cannot be drained.
 * @param listed the pods that have to go, as they were listed before the node was closed; undefined: they are listed now
 */
export async function drainNode(
  drain: NodeDrain,
  options: RemovalOptions,
  deps: NodeDrainDeps,
  listed?: readonly DrainPod[],
): Promise<boolean> {
  const { clock, signal } = deps;
  const began = clock.now();
  const { evict, refusals } = listed === undefined ? await deps.pods.read(drain.node) : { evict: listed, refusals: [] };
  if (refusals.length > 0) throw new NodepoolError('cluster', groupByOutcome(refusals).join('; '));
  drain.pods = drain.gone + evict.length;
  const left = new Map(
    evict.map((pod): [string, PendingEviction] => [pod.uid, { pod, askAt: began, wasAsked: false }]),
  );
  const known = listed === undefined || options.dryRun ? undefined : listed;
  const work: Work = { drain, options, deps, left, errors: [], known, replaced: new Set() };
  while ((left.size > 0 || work.known !== undefined) && !signal.aborted) {
    if (options.timeoutMs > 0 && clock.now() - began >= options.timeoutMs) throw timedOut(work);
    const due = [...left.values()].filter(({ askAt }) => askAt !== undefined && askAt <= clock.now());
    await Promise.all(due.map(pending => deps.limit(() => ask(pending, work))));
    if (left.size === 0 && work.known === undefined) break;
    if (left.size > 0) await sleep(clock, pauseMs(work, began), signal);
    if (!signal.aborted) await look(work);
  }
  if (work.errors.length > 0) throw new NodepoolError('cluster', work.errors.join('; '));
  return left.size === 0 && work.known === undefined;
}

interface Work {
  drain: NodeDrain;
  options: RemovalOptions;
  deps: NodeDrainDeps;
  /** By UID. */
  left: Map<string, PendingEviction>;
  /** Of pods that will not go; the others do all the same. */
  errors: string[];
  /** Until the first look: the pods that were listed before the node was closed. Others may have come until then. */
  known: readonly DrainPod[] | undefined;
  /** Names of pods that were another one, by their UID, when their eviction was asked for. */
  replaced: Set<string>;
}

/** A pod that can never go does not stop the others. */
async function ask(pending: PendingEviction, work: Work): Promise<void> {
  const { drain, options, deps, left, errors } = work;
  const { pod } = pending;
  const { gracePeriodSeconds, dryRun, disableEviction } = options;
  if (deps.signal.aborted) return;
  if (!pending.wasAsked) deps.tell({ kind: 'asking', node: drain.node, pod: podName(pod) });
  pending.wasAsked = true;
  try {
    const removal = { gracePeriodSeconds, dryRun };
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
      // The next look finds out whether it is another pod by now.
      work.replaced.add(podName(pod));
      pending.askAt = now + LOOK_MS;
      return;
    case 'budget': {
      const { budget, message } = removal;
      const name = budget === undefined ? 'a PodDisruptionBudget' : `PodDisruptionBudget ${pod.namespace}/${budget}`;
      hold(`${name}: ${message}`, pending, work);
      pending.askAt = now + RETRY_MS;
      return;
    }
    case 'busy':
      hold(`the server: ${removal.message}`, pending, work);
      pending.askAt = now + Math.max(RETRY_MS, removal.afterMs ?? 0);
      return;
    case 'namespace ends':
      if (pod.deletionTimestamp !== undefined && !work.options.dryRun) {
        pending.askAt = undefined;
        return;
      }
      hold(`the end of its namespace: ${removal.message}`, pending, work);
      pending.askAt = now + RETRY_MS;
  }
}

/** Told once for each reason, not with each try. */
function hold(why: string, { pod }: PendingEviction, { drain, options, deps, left }: Work): void {
  const name = podName(pod);
  if (options.dryRun) left.delete(pod.uid);
  if (drain.held.get(name) === why) return;
  drain.held.set(name, why);
  deps.tell({ kind: 'held', node: drain.node, pod: name, why });
}

function finish(kind: 'gone' | 'stuck', pod: DrainPod, { drain, deps, left }: Work): void {
  left.delete(pod.uid);
  drain.held.delete(podName(pod));
  drain.gone++;
  deps.tell({ kind, node: drain.node, pod: podName(pod) });
}

/** Sees who is gone: whoever has another UID is another pod. Labels may have changed, so the selector is left out. */
async function look(work: Work): Promise<void> {
  const { drain, options, deps, left, known } = work;
  const there = new Map((await deps.port.podsOn(drain.node)).map(pod => [pod.uid, pod]));
  if (known !== undefined) await addLate([...there.values()], known, work);
  work.known = undefined;
  for (const pending of [...left.values()]) {
    const current = there.get(pending.pod.uid);
    if (current === undefined) finish('gone', pending.pod, work);
    else if (isStuck(current, options.rules.skipWaitForDeleteSeconds, deps.now())) finish('stuck', current, work);
    else pending.pod = current;
  }
}

/**
 * Those that came between the list and the cordon go, too. Only once: what comes later tolerates the cordon, and would be
 * evicted for ever. So does one that took the name of a known pod after its eviction; what had the name before that may be
 * older than the cordon.
 */
async function addLate(there: readonly DrainPod[], known: readonly DrainPod[], work: Work): Promise<void> {
  const { drain, deps, left, errors, replaced } = work;
  const uids = new Set(known.map(({ uid }) => uid));
  const names = new Set(known.map(podName).filter(name => !replaced.has(name)));
  const late = there.filter(pod => !uids.has(pod.uid) && !names.has(podName(pod)));
  const { evict, refusals } = await deps.pods.judge(late);
  errors.push(...groupByOutcome(refusals));
  for (const pod of evict) left.set(pod.uid, { pod, askAt: deps.clock.now(), wasAsked: false });
  drain.pods += evict.length;
}

/** A look each second while anything is on its way; else until the next pod may be asked again. */
function pauseMs({ left, options, deps: { clock } }: Work, began: number): number {
  const asks = [...left.values()].map(({ askAt }) => (askAt === undefined ? LOOK_MS : askAt - clock.now()));
  const end = options.timeoutMs > 0 ? began + options.timeoutMs - clock.now() : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(end, ...asks));
}

function timedOut({ drain, options, left, errors }: Work): NodepoolError {
  const fates = [...left.values()].map(({ pod }) => {
    const name = podName(pod);
    const why = drain.held.get(name);
    return { what: why === undefined ? 'still terminating' : `waiting for ${why}`, pod: name };
  });
  const late = `gave up after ${options.timeoutMs / 1000} s: ${groupByOutcome(fates).join('; ')}`;
  return new NodepoolError('cluster', [...errors, late].join('; '));
}
