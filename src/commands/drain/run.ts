/**
 * Drains the nodes of pools: cordons all first, so that no pod moves to a node that is drained next, or each when its turn
 * comes; drains pool after pool, a few nodes at a time.
 */
import { createLimiter, type Limiter } from '../../controller/limiter.ts';
import { canReturn, type DrainPod, podName } from '../../nodepool/drain/drain-filters.ts';
import { type DrainPace, DrainSlots, drainOrder } from '../../nodepool/drain/drain-slots.ts';
import { toleratesCordon } from '../../nodepool/drain/placement.ts';
import type { CordonChange } from '../../nodepool/drain/plan-cordon.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { Node } from '../../nodepool/types.ts';
import { attempt } from '../shared/attempt.ts';
import { type CordonResult, cordonNode } from '../shared/cordon/cordon.ts';
import { drainNode } from './drain-node.ts';
import { type PodReader, podReader } from './drain-pods.ts';
import type { DrainEvent, DrainOptions, NodeDrain, PoolDrain } from './options.ts';
import type { DrainPlan, PlannedNode, PlannedPool } from './plan-drain.ts';

/** Half of the transport's limit of requests, so that writes do not delay the lists that find out which pods are gone. */
const MAX_OBJECTS = 16;

/** The drain of one pool. */
interface PoolRun {
  options: DrainOptions;
  plan: DrainPlan;
  planned: PlannedPool;
  state: PoolDrain;
  pods: PodReader;
  /** Bounds the pods and nodes that are written, over all pools together; requests are bounded by the transport. */
  limitObjects: Limiter;
  report: (event: DrainEvent) => void;
}

/** Cordons the nodes of all pools, unless it is rolling, then drains pool after pool; yields the result of each pool at its end. */
export async function* drain(plan: DrainPlan, options: DrainOptions): AsyncGenerator<PoolDrain> {
  const limitObjects = createLimiter(MAX_OBJECTS);
  const runs = plan.pools.map((planned): PoolRun => {
    const state: PoolDrain = { pool: planned.pool, drains: notBegun(planned, options) };
    const report = (event: DrainEvent) => options.onEvent?.(event, state);
    return { options, plan, planned, state, pods: podReader(options), limitObjects, report };
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

function notBegun(pool: PlannedPool, options: DrainOptions): NodeDrain[] {
  const { nodes: planned } = pool;
  const pods = new Map(planned.map(({ node, pods }) => [node.name, pods.length]));
  const nodes = planned.map(({ node }) => node);
  return drainOrder(nodes, paceOf(pool, options)).map(({ name }): NodeDrain => {
    const terminating = new Set(planned.find(({ node }) => node.name === name)?.terminating);
    return { node: name, phase: 'not begun', pods: pods.get(name) ?? 0, gone: 0, held: new Map(), terminating };
  });
}

/**
 * Nodes that the plan found empty and cordoned. A dry run cordons nothing.
 * @param wereOpen those that were schedulable when they were cordoned: pods may have come
 */
function finishEmpty({ options, planned, state, report }: PoolRun, wereOpen: ReadonlySet<string>): void {
  if (options.dryRun === 'client') return;
  // Of those that are left alone, the pods were not read.
  const read = new Map(
    planned.nodes.flatMap(({ node, inOthersMaintenance }) => (inOthersMaintenance ? [] : [[node.name, node]])),
  );
  for (const each of state.drains) {
    const node = read.get(each.node);
    if (node === undefined || each.phase !== 'not begun' || each.pods > 0) continue;
    const stayedCordoned = node.unschedulable && !wereOpen.has(node.name);
    if (stayedCordoned || options.dryRun === 'server') finish(each, report);
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
  const read = await attempt(() => Promise.all(drained.map(({ node }) => reader.read(node))));
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
    return found === undefined || each.phase !== 'not begun' ? [] : [{ each, found }];
  });
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
function preview(each: NodeDrain, pods: readonly DrainPod[], { plan, report }: PoolRun): void {
  if (each.phase !== 'not begun') return;
  for (const pod of pods) report({ kind: 'asking', node: each.node, pod: podName(pod) });
  for (const pod of pods) {
    const why = plan.blocked.why.get(pod.uid);
    if (why === undefined) continue;
    each.held.set(pod.uid, { pod: podName(pod), why });
    report({ kind: 'held', node: each.node, pod: podName(pod), why });
  }
  each.gone = each.pods - each.held.size;
  if (each.held.size === 0) finish(each, report);
  else waits(each, report);
}

/** The turn of a node: it is read again, cordoned if it is not, and drained. */
async function drainOne(each: NodeDrain, planned: PlannedNode, run: PoolRun): Promise<void> {
  const { options, report } = run;
  const { cluster, signal } = options;
  const isDry = options.dryRun === 'server';
  try {
    // A dry run has cordoned nothing.
    if (options.isRolling || !isDry) await cordonNow(each, planned, run);
    if (each.phase !== 'not begun' || signal?.aborted) return;
    each.phase = 'under way';
    const isReplaced = async () => {
      const current = await cluster.nodes.get(each.node);
      return current !== undefined && current.uid !== planned.node.uid;
    };
    const end = await drainNode(each, { ...run, warned: planned.warned, isReplaced });
    if (end === 'drained') finish(each, report);
    else if (end === 'replaced') {
      each.phase = 'failed';
      each.isReplaced = true;
      each.held.clear();
      report({ kind: 'replaced', node: each.node });
    } else if (isDry && !signal?.aborted) waits(each, report);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    each.phase = 'failed';
    report({ kind: 'failed', node: each.node, error });
  }
}

/**
 * Reads the node when its turn comes, and cordons it if it is not: somebody may have made it schedulable since. Another node of its
 * name is left alone, as one that is gone, and so is one that has left the pool.
 */
async function cordonNow(
  each: NodeDrain,
  { node, inOthersMaintenance = false }: PlannedNode,
  run: PoolRun,
): Promise<void> {
  const { options, plan, state, report } = run;
  const current = await options.cluster.nodes.get(node.name);
  if (current?.uid !== node.uid) {
    each.phase = 'drained';
    report({ kind: 'cordon', result: { kind: 'gone', node: node.name } });
    return;
  }
  if (plan.ownerOf(current) !== state.pool) {
    each.phase = 'failed';
    report({ kind: 'left', node: node.name, pool: state.pool, isCordoned: current.unschedulable });
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

/**
 * A node that cannot be cordoned is not drained; one that is gone counts as drained; none is cordoned after the signal.
 * @param how `isQuiet` does not report those that are cordoned already
 * @returns names of those that were schedulable
 */
async function cordonAll(
  nodes: readonly Cordonable[],
  drains: readonly NodeDrain[],
  { options, limitObjects, report }: PoolRun,
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
    if (!isQuiet || outcome.kind !== 'already') report({ kind: 'cordon', result: outcome });
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
  throw new NodepoolError('cluster', 'its maintenance ended after the drain began', 'run the command again');
}

function waits(each: NodeDrain, report: PoolRun['report']): void {
  each.phase = 'waits';
  report({ kind: 'waits', node: each.node, held: each.held });
}

function finish(each: NodeDrain, report: PoolRun['report']): void {
  each.phase = 'drained';
  report({ kind: 'drained', node: each.node, returned: each.returned ?? 0 });
}
