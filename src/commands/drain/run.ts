/** Cordons all nodes first, or each when its turn comes; drains pool after pool, a few nodes at a time. */

import { sleep } from '../../controller/clock.ts';
import { createLimiter, type Limiter } from '../../controller/limiter.ts';
import type { RemovalResult } from '../../kube/cluster.ts';
import { canReturn, type DrainPod, groupByOutcome, isStuck, podName } from '../../nodepool/drain/drain-filters.ts';
import { type DrainPace, DrainSlots, drainOrder } from '../../nodepool/drain/drain-slots.ts';
import { toleratesCordon } from '../../nodepool/drain/placement.ts';
import type { CordonChange } from '../../nodepool/drain/plan-cordon.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { Node } from '../../nodepool/types.ts';
import { Evictor, RETRY_MS } from '../../reconciler/evict/evictor.ts';
import { type CordonResult, cordonNode } from '../shared/cordon/cordon.ts';
import { valueOrRefusal } from '../shared/refusals.ts';
import { type PodReader, podReader } from './drain-pods.ts';
import type { DrainEvent, DrainOptions, NodeDrainState, PodEvent, PoolDrainState } from './options.ts';
import type { PlannedNode, PlannedPool, PoolsDrainPlan } from './plan-drain.ts';

/** Half of the transport's limit of requests, so that writes do not delay the lists that find out which pods are gone. */
const MAX_OBJECTS = 16;

interface PoolRun {
  options: DrainOptions;
  plan: PoolsDrainPlan;
  planned: PlannedPool;
  state: PoolDrainState;
  pods: PodReader;
  /** Bounds the pods and nodes that are written, over all pools together; requests are bounded by the transport. */
  limitObjects: Limiter;
  emit: (event: DrainEvent) => void;
}

/** Cordons the nodes of all pools, unless it is rolling, then drains pool after pool; yields the result of each pool at its end. */
export async function* drain(plan: PoolsDrainPlan, options: DrainOptions): AsyncGenerator<PoolDrainState> {
  const limitObjects = createLimiter(MAX_OBJECTS);
  const runs = plan.pools.map((planned): PoolRun => {
    const state: PoolDrainState = { pool: planned.pool, drains: notBegun(planned, options) };
    const emit = (event: DrainEvent) => options.onEvent?.(event, state);
    return { options, plan, planned, state, pods: podReader(options), limitObjects, emit };
  });
  if (!options.isRolling) {
    const wereOpen = new Set<string>();
    for (const run of runs)
      for (const name of await cordonAll(run.planned.nodes, run.state.drains, run)) wereOpen.add(name);
    // Not only when their turn comes, which may be hours later: the plan has just been made.
    for (const run of runs) finishEmpty(run, wereOpen);
  }
  for (const run of runs) {
    const { state } = run;
    await drainPool(run);
    if (options.dryRun === 'none' && !options.signal?.aborted) state.returned = await returnedPods(run);
    yield state;
  }
}

/** How many of its nodes may be drained at a time: a share is one of all members. */
export function paceOf({ nodes, otherMembers }: PlannedPool, { pace }: Pick<DrainOptions, 'pace'>): DrainPace {
  return pace(nodes.length + otherMembers.length);
}

function notBegun(pool: PlannedPool, options: DrainOptions): NodeDrainState[] {
  const { nodes: planned } = pool;
  const pods = new Map(planned.map(({ node, pods }) => [node.name, pods.length]));
  const nodes = planned.map(({ node }) => node);
  return drainOrder(nodes, paceOf(pool, options)).map(({ name }): NodeDrainState => {
    const terminating = new Set(planned.find(({ node }) => node.name === name)?.terminating);
    return { node: name, phase: 'pending', pods: pods.get(name) ?? 0, gone: 0, blockedPods: new Map(), terminating };
  });
}

/** Nodes that the plan found empty and cordoned. @param wereOpen until they were cordoned: pods may have come */
function finishEmpty({ options, planned, state, emit }: PoolRun, wereOpen: ReadonlySet<string>): void {
  if (options.dryRun === 'client') return;
  // Of those that are left alone, the pods were not read.
  const read = new Map(
    planned.nodes.flatMap(({ node, inOthersMaintenance }) => (inOthersMaintenance ? [] : [[node.name, node]])),
  );
  for (const each of state.drains) {
    const node = read.get(each.node);
    if (node === undefined || each.phase !== 'pending' || each.pods > 0) continue;
    const stayedCordoned = node.unschedulable && !wereOpen.has(node.name);
    if (stayedCordoned || options.dryRun === 'server') nodeDrained(each, emit);
  }
}

/**
 * Pods that run on drained nodes again. They are looked for where a pod that was evicted tolerates a cordon, or where some came that the
 * drain had not listed: after the last node, since pods of one node come back to another.
 */
async function returnedPods({ options, planned, state }: PoolRun): Promise<DrainPod[]> {
  const isExpected = planned.nodes.some(({ pods }) => pods.some(({ placement }) => toleratesCordon(placement)));
  if (!isExpected && !state.drains.some(({ hasNewcomers }) => hasNewcomers)) return [];
  const reader = podReader(options);
  const drained = state.drains.filter(({ phase, gone }) => phase === 'drained' && gone > 0);
  const read = await valueOrRefusal(() => Promise.all(drained.map(({ node }) => reader.read(node))));
  if ('refusal' in read) {
    const { oneLine, next } = read.refusal;
    options.onWarning({ message: `cannot tell whether pods came back: ${oneLine}`, next });
    return [];
  }
  return read.value.flatMap(({ evict, refused }) => [...evict, ...refused]).filter(canReturn);
}

async function drainPool(run: PoolRun): Promise<void> {
  const { options, planned, state } = run;
  const byName = new Map(planned.nodes.map(each => [each.node.name, each]));
  if (options.dryRun === 'client') {
    for (const each of state.drains) {
      if (options.isRolling) await cordonAll(planned.nodes, [each], run);
      preview(each, byName.get(each.node)?.pods ?? [], run);
    }
    return;
  }
  const waiting = state.drains.flatMap(each => {
    const found = byName.get(each.node);
    return found === undefined || each.phase !== 'pending' ? [] : [{ each, found }];
  });
  // Those in somebody else's maintenance fail, as the plan says: last, so that they take no other node's place.
  waiting.sort((a, b) => Number(a.found.inOthersMaintenance === true) - Number(b.found.inOthersMaintenance === true));
  const slots = new DrainSlots(paceOf(planned, options), [
    ...waiting.map(({ found }) => found.node),
    ...planned.otherMembers,
  ]);
  const underWay = new Set<Promise<void>>();
  for (;;) {
    while (waiting[0] !== undefined && !options.signal?.aborted && slots.acquire(waiting[0].each.node)) {
      const { each, found } = waiting[0];
      waiting.shift();
      const drained = drainOne(each, found, run).finally(() => {
        underWay.delete(drained);
        // A dry run shows the other nodes, too.
        slots.release(each.node, each.phase === 'drained' || each.phase === 'waits');
      });
      underWay.add(drained);
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/** As if the server accepted every eviction but those that a budget rules out. */
function preview(each: NodeDrainState, pods: readonly DrainPod[], { plan, emit }: PoolRun): void {
  if (each.phase !== 'pending') return;
  for (const pod of pods) emit({ kind: 'asking', node: each.node, pod: podName(pod) });
  for (const pod of pods) {
    const why = plan.blocked.why.get(pod.uid);
    if (why === undefined) continue;
    each.blockedPods.set(pod.uid, { pod: podName(pod), why });
    emit({ kind: 'blocked', node: each.node, pod: podName(pod), why });
  }
  each.gone = each.pods - each.blockedPods.size;
  if (each.blockedPods.size === 0) nodeDrained(each, emit);
  else waits(each, emit);
}

/** The turn of a node: it is read again, cordoned if it is not, and drained. */
async function drainOne(each: NodeDrainState, planned: PlannedNode, run: PoolRun): Promise<void> {
  const { options, emit } = run;
  const { cluster, signal } = options;
  const isDry = options.dryRun === 'server';
  try {
    // A dry run has cordoned nothing.
    if (options.isRolling || !isDry) await cordonNow(each, planned, run);
    if (each.phase !== 'pending' || signal?.aborted) return;
    each.phase = 'in progress';
    const isReplaced = async () => {
      const current = await cluster.nodes.get(each.node);
      return current !== undefined && current.uid !== planned.node.uid;
    };
    const end = await drainNode(each, { ...run, warned: planned.warned, isReplaced });
    if (end === 'drained') nodeDrained(each, emit);
    else if (end === 'replaced') {
      each.phase = 'failed';
      each.isReplaced = true;
      each.blockedPods.clear();
      emit({ kind: 'replaced', node: each.node });
    } else if (isDry && !signal?.aborted) waits(each, emit);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    each.phase = 'failed';
    emit({ kind: 'failed', node: each.node, error });
  }
}

/** Reads the node when its turn comes, and cordons it if need be. Another node of its name, or one that left, stays. */
async function cordonNow(
  each: NodeDrainState,
  { node, inOthersMaintenance = false }: PlannedNode,
  run: PoolRun,
): Promise<void> {
  const { options, plan, state, emit } = run;
  const current = await options.cluster.nodes.get(node.name);
  if (current?.uid !== node.uid) {
    each.phase = 'drained';
    emit({ kind: 'cordon', result: { kind: 'gone', node: node.name } });
    return;
  }
  if (plan.ownerOf(current) !== state.pool) {
    each.phase = 'failed';
    emit({ kind: 'left', node: node.name, pool: state.pool, isCordoned: current.unschedulable });
    return;
  }
  if (inOthersMaintenance) checkOthersMaintenance(node, current);
  // A maintenance that somebody has begun since is not the one that was to be taken over.
  const takeover = options.cordon.takeover === true && current.maintenance === node.maintenance;
  const change = { ...options.cordon, takeover };
  if (options.isRolling || !current.unschedulable) await cordonAll([{ node: current }], [each], run, { change });
  else if (current.maintenance !== undefined)
    await cordonAll([{ node: current }], [each], run, { change, isQuiet: true });
}

type Cordonable = Pick<PlannedNode, 'node' | 'inOthersMaintenance'>;

/** A node that cannot be cordoned is not drained; one that is gone counts as drained. @returns those that were open */
async function cordonAll(
  nodes: readonly Cordonable[],
  drains: readonly NodeDrainState[],
  { options, limitObjects, emit }: PoolRun,
  { change = options.cordon, isQuiet = false }: { change?: CordonChange; isQuiet?: boolean } = {},
): Promise<Set<string>> {
  const drainOf = new Map(drains.map(drain => [drain.node, drain]));
  const writes = nodes.flatMap(planned => {
    const drain = drainOf.get(planned.node.name);
    return drain === undefined ? [] : [{ drain, result: limitObjects(() => cordon(planned, change, options)) }];
  });
  const wereOpen = new Set<string>();
  for (const { drain, result } of writes) {
    const outcome = await result;
    if (outcome === undefined) continue;
    if (!isQuiet || outcome.kind !== 'already') emit({ kind: 'cordon', result: outcome });
    if ('warnings' in outcome) for (const warning of outcome.warnings) options.onWarning(warning);
    if (outcome.kind === 'failed') drain.phase = 'failed';
    if (outcome.kind === 'gone') drain.phase = 'drained';
    if (outcome.kind === 'changed') wereOpen.add(drain.node);
  }
  return wereOpen;
}

/** Undefined after the signal. */
async function cordon(
  { node, inOthersMaintenance = false }: Cordonable,
  change: CordonChange,
  options: DrainOptions,
): Promise<CordonResult | undefined> {
  if (options.signal?.aborted) return undefined;
  try {
    if (inOthersMaintenance) checkOthersMaintenance(node, await options.cluster.nodes.get(node.name));
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { kind: 'failed', node: node.name, error };
  }
  return cordonNode(node, change, options);
}

/** Throws where the maintenance has ended: the pods of the node were neither shown nor agreed to. */
function checkOthersMaintenance(node: Node, current: Node | undefined): void {
  if (current?.uid !== node.uid || (current.maintenance === node.maintenance && current.unschedulable)) return;
  throw new NodepoolError('cluster', "the node's maintenance ended after the drain began", 'run the command again');
}

function waits(each: NodeDrainState, emit: PoolRun['emit']): void {
  each.phase = 'waits';
  emit({ kind: 'waits', node: each.node, blockedPods: each.blockedPods });
}

function nodeDrained(each: NodeDrainState, emit: PoolRun['emit']): void {
  each.phase = 'drained';
  emit({ kind: 'drained', node: each.node, returned: each.returned ?? 0 });
}

// Evicts the pods of one node, and waits until they are gone. Killed at any point, the next run finds the pods that are left.
// Not by reconciler/evict/node-drainer.ts: that may not block a queue of pools, and plans the node again before each eviction.

/** Between two lists of the pods that are left, as kubectl drain. */
const LIST_AGAIN_MS = 1_000;

interface NodeRun {
  options: DrainOptions;
  pods: PodReader;
  limitObjects: Limiter;
  emit: (event: PodEvent) => void;
  /** UIDs of pods whose warnings were shown. */
  warned: ReadonlySet<string>;
  /** Whether another node has the name of the drained one by now. */
  isReplaced: () => Promise<boolean>;
}

/**
 * Records its progress in `drain`. `not drained`: the signal was aborted first, or pods would wait in a dry run. `replaced`: the
 * node was deleted, and another one has its name. Throws when it cannot be drained.
 */
async function drainNode(drain: NodeDrainState, run: NodeRun): Promise<'drained' | 'not drained' | 'replaced'> {
  const { options, emit } = run;
  const { clock, signal, timeoutMs, evictions } = options;
  const began = clock.now();
  // Pods that come later tolerate the cordon, and would be evicted again and again: they stay.
  const { evict, warnings, refusals, terminating } = await run.pods.read(drain.node);
  if (refusals.length > 0) throw new NodepoolError('cluster', groupByOutcome(refusals).join('; '));
  const late = warnings.filter(({ evicts }) => evicts !== undefined && !run.warned.has(evicts));
  for (const text of groupByOutcome(late)) emit({ kind: 'warning', node: drain.node, text });
  drain.pods = evict.length;
  drain.terminating = new Set(terminating.map(podName));
  const evictor = new Evictor({
    ...{ node: drain.node, clock, signal, onEvent: emit },
    isDryRun: options.dryRun === 'server',
    otherwise: ', or use --disable-eviction',
  });
  drain.blockedPods = evictor.blockedPods;
  const removals: PodRemovals = {
    ...{ drain, options, emit, evictor },
    remaining: new Map(evict.map(pod => [pod.uid, pod])),
    listed: new Set([...evict, ...terminating].map(({ uid }) => uid)),
    errors: [],
  };
  const { remaining, errors } = removals;
  let checkedAt = began;
  while (remaining.size > 0 && !signal?.aborted) {
    if (timeoutMs > 0 && clock.now() - began >= timeoutMs) throw timedOut(removals);
    await evictor.evictAtOnce([...remaining.values()], evictions, run.limitObjects, (pod, answer) =>
      takeAnswer(answer, pod, removals),
    );
    if (remaining.size === 0) break;
    await sleep(clock, pauseMs(removals, began), signal);
    if (signal?.aborted) break;
    await listAgain(removals);
    if (remaining.size > 0 && clock.now() - checkedAt < RETRY_MS) continue;
    checkedAt = clock.now();
    if (await run.isReplaced()) return 'replaced';
  }
  if (errors.length > 0) throw new NodepoolError('cluster', errors.join('; '));
  return remaining.size === 0 && drain.blockedPods.size === 0 ? 'drained' : 'not drained';
}

interface PodRemovals {
  drain: NodeDrainState;
  options: DrainOptions;
  emit: NodeRun['emit'];
  evictor: Evictor;
  /** Pods that are to go, by UID. */
  remaining: Map<string, DrainPod>;
  /** UIDs of the pods that were listed first. */
  listed: ReadonlySet<string>;
  /** Of pods that cannot be evicted; the others are evicted all the same. */
  errors: string[];
}

/** A dry run does not wait: a pod that would go counts as gone, and one that would be held back is not asked about again. */
function takeAnswer(answer: RemovalResult | NodepoolError, pod: DrainPod, removals: PodRemovals): void {
  const { options, evictor, remaining, errors } = removals;
  const isDry = options.dryRun === 'server';
  if (answer instanceof NodepoolError) {
    remaining.delete(pod.uid);
    evictor.forget(pod.uid);
    errors.push(answer.next === undefined ? answer.message : `${answer.message} (${answer.next})`);
  } else if (answer.kind === 'gone' || (isDry && answer.kind === 'accepted')) podEnded('gone', pod, removals);
  else if (isDry && evictor.blockedPods.has(pod.uid)) remaining.delete(pod.uid);
}

function podEnded(kind: 'gone' | 'stuck', pod: DrainPod, { drain, emit, evictor, remaining }: PodRemovals): void {
  remaining.delete(pod.uid);
  evictor.forget(pod.uid);
  if (kind === 'gone') drain.gone++;
  else {
    drain.pods--;
    drain.terminating?.add(podName(pod));
  }
  emit({ kind, node: drain.node, pod: podName(pod) });
}

/** Lists which pods are gone: a pod with another UID is another pod. Labels may have changed, so no selector is used. */
async function listAgain(removals: PodRemovals): Promise<void> {
  const { drain, options, remaining, listed } = removals;
  const there = new Map((await options.evictions.podsOn(drain.node)).map(pod => [pod.uid, pod]));
  const newcomers = [...there.values()].filter(pod => !listed.has(pod.uid) && canReturn(pod)).length;
  if (newcomers > 0) drain.hasNewcomers = true;
  // With a selector, others were there before.
  if (options.podSelector === undefined) drain.returned = newcomers;
  for (const pod of [...remaining.values()]) {
    const current = there.get(pod.uid);
    if (current === undefined) podEnded('gone', pod, removals);
    else if (isStuck(current, options.rules.skipWaitForDeleteSeconds, options.now()))
      podEnded('stuck', current, removals);
    else remaining.set(pod.uid, current);
  }
}

/** A list each second while a pod terminates, or is not as it was listed; else the delay until the next eviction. */
function pauseMs({ remaining, evictor, options: { clock, timeoutMs } }: PodRemovals, began: number): number {
  const asks = [...remaining.values()].map(pod => evictor.dueInMs(pod) || LIST_AGAIN_MS);
  const end = timeoutMs > 0 ? began + timeoutMs - clock.now() : Number.POSITIVE_INFINITY;
  return Math.max(0, Math.min(end, ...asks));
}

function timedOut({ evictor, options, remaining, errors }: PodRemovals): NodepoolError {
  const outcomes = [...remaining.values()].map(pod => {
    const why = evictor.blockedPods.get(pod.uid)?.why;
    return { what: why === undefined ? 'still terminating' : `waiting for ${why}`, pod: podName(pod) };
  });
  const pods = groupByOutcome(outcomes, (what, names) => `${names} ${what}`).join('; ');
  const late = `gave up after ${options.timeoutMs / 1000} s (--timeout): ${pods}`;
  return new NodepoolError('cluster', [...errors, late].join('; '));
}
