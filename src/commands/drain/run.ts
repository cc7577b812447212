/** Cordons all nodes first, or each right before its drain; drains one pool after the other, a few nodes at a time. */

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

/** Half of the transport's request limit, so that writes do not delay the lists that show which pods are gone. */
const MAX_OBJECTS = 16;

interface PoolRun {
  options: DrainOptions;
  plan: PoolsDrainPlan;
  planned: PlannedPool;
  state: PoolDrainState;
  pods: PodReader;
  /** Limits the pods and nodes that are written at the same time, over all pools; the transport limits requests. */
  limitObjects: Limiter;
  emit: (event: DrainEvent) => void;
}

/** Cordons the nodes of all pools, unless it is rolling, then drains pool after pool; yields each pool's result. */
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
    // Right after the plan: the turn of these nodes may come hours later.
    for (const run of runs) finishEmpty(run, wereOpen);
  }
  for (const run of runs) {
    const { state } = run;
    await drainPool(run);
    if (options.dryRun === 'none' && !options.signal?.aborted) state.returned = await returnedPods(run);
    yield state;
  }
}

/** How many of its nodes may be drained at a time; a percentage refers to all members. */
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

/** Nodes that the plan found empty and cordoned. @param wereOpen nodes cordoned since: they may have new pods */
function finishEmpty({ options, planned, state, emit }: PoolRun, wereOpen: ReadonlySet<string>): void {
  if (options.dryRun === 'client') return;
  // Pods of nodes under maintenance by others were not read.
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
 * Pods that run on drained nodes again. They are looked for if an evicted pod tolerates a cordon, or if unlisted pods
 * appeared, and only after the last node, because pods of one node can return to another.
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
  // Nodes under maintenance by others fail, as planned: they come last, so that they use no other node's slot.
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
        // A dry run also shows the other nodes.
        slots.release(each.node, each.phase === 'drained' || each.phase === 'waits');
      });
      underWay.add(drained);
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/** Reports as if the server accepted every eviction except those that a budget rules out. */
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

/** Drains one node: reads it again, cordons it if necessary, and drains it. */
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

/** Reads the node right before its drain and cordons it if necessary. Skips replaced nodes and former members. */
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
  // A maintenance that began after the plan is not the one that the user wanted to take over.
  const takeover = options.cordon.takeover === true && current.maintenance === node.maintenance;
  const change = { ...options.cordon, takeover };
  if (options.isRolling || !current.unschedulable) await cordonAll([{ node: current }], [each], run, { change });
  else if (current.maintenance !== undefined)
    await cordonAll([{ node: current }], [each], run, { change, isQuiet: true });
}

type Cordonable = Pick<PlannedNode, 'node' | 'inOthersMaintenance'>;

/** A node that cannot be cordoned is not drained; a deleted one counts as drained. @returns nodes that it cordoned */
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

/** Undefined once the signal is aborted. */
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

/** Throws if the maintenance has ended: the user neither saw nor approved the pods of the node. */
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

// Evicts the pods of one node and waits until they are gone. If it is killed, the next run finds the remaining pods.
// reconciler/evict/node-drainer.ts must not block a queue of pools, and plans the node again before each eviction.

/** Interval of the lists of remaining pods, as in kubectl drain. */
const LIST_AGAIN_MS = 1_000;

interface NodeRun {
  options: DrainOptions;
  pods: PodReader;
  limitObjects: Limiter;
  emit: (event: PodEvent) => void;
  /** UIDs of pods whose warnings were already shown. */
  warned: ReadonlySet<string>;
  /** Whether another node has the name of the drained one in the meantime. */
  isReplaced: () => Promise<boolean>;
}

/**
 * Records its progress in `drain`. `not drained`: the signal was aborted first, or pods would wait in a dry run.
 * `replaced`: the node was deleted, and another one has its name. Throws if the node cannot be drained.
 */
async function drainNode(drain: NodeDrainState, run: NodeRun): Promise<'drained' | 'not drained' | 'replaced'> {
  const { options, emit } = run;
  const { clock, signal, timeoutMs, evictions } = options;
  const began = clock.now();
  // Pods that appear later tolerate the cordon and would be evicted repeatedly, so they stay.
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
  /** Pods still to be removed, by UID. */
  remaining: Map<string, DrainPod>;
  /** UIDs of the pods in the first list. */
  listed: ReadonlySet<string>;
  /** Errors of pods that cannot be evicted; the other pods are still evicted. */
  errors: string[];
}

/** A dry run does not wait: an accepted pod counts as gone, and a blocked one is not tried again. */
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

/** Lists which pods are gone: a pod with another UID is another pod. No selector, as labels may have changed. */
async function listAgain(removals: PodRemovals): Promise<void> {
  const { drain, options, remaining, listed } = removals;
  const there = new Map((await options.evictions.podsOn(drain.node)).map(pod => [pod.uid, pod]));
  const newcomers = [...there.values()].filter(pod => !listed.has(pod.uid) && canReturn(pod)).length;
  if (newcomers > 0) drain.hasNewcomers = true;
  // With a selector, the other pods were there before.
  if (options.podSelector === undefined) drain.returned = newcomers;
  for (const pod of [...remaining.values()]) {
    const current = there.get(pod.uid);
    if (current === undefined) podEnded('gone', pod, removals);
    else if (isStuck(current, options.rules.skipWaitForDeleteSeconds, options.now()))
      podEnded('stuck', current, removals);
    else remaining.set(pod.uid, current);
  }
}

/** One second while a pod terminates or differs from the first list; else the delay until the next eviction. */
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
