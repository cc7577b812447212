/**
 * Drains the nodes of pools: cordons all first, so that no pod moves to a node that is drained next, or each when its turn
 * comes; drains pool after pool, a few nodes at a time.
 */
import { createLimiter } from '../../controller/limiter.ts';
import { canReturn, type DrainPod, podName } from '../../nodepool/drain-filters.ts';
import { type DrainPace, DrainSlots, drainOrder } from '../../nodepool/drain-slots.ts';
import { toleratesCordon } from '../../nodepool/placement.ts';
import type { CordonChange } from '../../nodepool/plan-cordon.ts';
import type { Node } from '../../nodepool/types.ts';
import { attempt } from '../attempt.ts';
import type { NodeDrain } from './drain-node.ts';
import { podReader } from './drain-pods.ts';
import { cordonAll, drainOne } from './drain-turn.ts';
import {
  type DrainDeps,
  type DrainOptions,
  finish,
  type PoolDrain,
  type PoolWork,
  type Work,
  waits,
} from './drain-work.ts';
import type { DrainPlan, PlannedPool } from './plan-drain.ts';

/** Half of the transport's limit of requests, so that writes do not delay the lists that find out which pods are gone. */
const MAX_OBJECTS = 16;

/** Cordons the nodes of all pools, unless it is rolling, then drains pool after pool; yields the result of each pool at its end. */
export async function* drain(plan: DrainPlan, options: DrainOptions, given: DrainDeps): AsyncGenerator<PoolDrain> {
  const limitObjects = createLimiter(MAX_OBJECTS);
  const { maintenance, takeover = false } = options;
  const cordon: CordonChange = { unschedulable: true, maintenance, takeover };
  const work = plan.pools.map(planned => {
    const state: PoolDrain = { pool: planned.pool, drains: notBegun(planned, options) };
    const deps: Work = { ...given, limitObjects, cordon, onEvent: event => given.onEvent(event, state) };
    return { planned, state, deps };
  });
  if (!options.isRolling) {
    const wereOpen = new Set<string>();
    for (const { planned, state, deps } of work)
      for (const name of await cordonAll(planned.nodes, state.drains, deps)) wereOpen.add(name);
    // Not only when their turn comes, which may be hours later: the plan has just been made.
    for (const { planned, state, deps } of work) finishEmpty(planned, state.drains, deps, wereOpen);
  }
  for (const { planned, state, deps } of work) {
    const { pool } = planned;
    const isMember = (node: Node) => plan.ownerOf(node) === pool;
    await drainPool(planned, state.drains, options, { ...deps, blocked: plan.blocked, pool, isMember });
    if (deps.dryRun === 'none' && !deps.signal.aborted)
      state.returned = await returnedPods(planned, state.drains, options, deps);
    yield state;
  }
}

/**
 * Nodes that the plan found empty and cordoned. A dry run cordons nothing.
 * @param wereOpen those that were schedulable when they were cordoned: pods may have come
 */
function finishEmpty(
  { nodes }: PlannedPool,
  drains: readonly NodeDrain[],
  deps: Work,
  wereOpen: ReadonlySet<string>,
): void {
  if (deps.dryRun === 'client') return;
  // Of those that are left alone, the pods were not read.
  const read = new Map(nodes.flatMap(({ node, isLeftAlone }) => (isLeftAlone ? [] : [[node.name, node]])));
  for (const each of drains) {
    const node = read.get(each.node);
    if (node === undefined || each.phase !== 'not begun' || each.pods > 0) continue;
    const stayedCordoned = node.unschedulable && !wereOpen.has(node.name);
    if (stayedCordoned || deps.dryRun === 'server') finish(each, deps);
  }
}

/**
 * Pods that run on drained nodes again. They are looked for where a pod that was evicted tolerates a cordon, or where some came that the
 * drain had not listed: after the last node, since pods of one node come back to another.
 */
async function returnedPods(
  { nodes }: PlannedPool,
  drains: readonly NodeDrain[],
  options: DrainOptions,
  { port, now, onWarning }: Work,
): Promise<DrainPod[]> {
  const isExpected = nodes.some(({ pods }) => pods.some(({ placement }) => toleratesCordon(placement)));
  if (!isExpected && !drains.some(({ hasNewcomers }) => hasNewcomers)) return [];
  const reader = podReader(options, port, now);
  const drained = drains.filter(({ phase, gone }) => phase === 'drained' && gone > 0);
  const read = await attempt(() => Promise.all(drained.map(({ node }) => reader.read(node))));
  if ('refusal' in read) {
    onWarning({ message: `cannot tell whether pods came back: ${read.refusal.oneLine}`, next: read.refusal.next });
    return [];
  }
  return read.value.flatMap(({ evict, refused }) => [...evict, ...refused]).filter(canReturn);
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

async function drainPool(pool: PlannedPool, drains: NodeDrain[], options: DrainOptions, deps: PoolWork): Promise<void> {
  const planned = new Map(pool.nodes.map(each => [each.node.name, each]));
  if (deps.dryRun === 'client') {
    for (const each of drains) {
      if (options.isRolling) await cordonAll(pool.nodes, [each], deps);
      preview(each, planned.get(each.node)?.pods ?? [], deps);
    }
    return;
  }
  const waiting = drains.flatMap(each => {
    const found = planned.get(each.node);
    return found === undefined || each.phase !== 'not begun' ? [] : [{ each, found }];
  });
  const slots = new DrainSlots(paceOf(pool, options), [
    ...waiting.map(({ found }) => found.node),
    ...pool.otherMembers,
  ]);
  const pods = podReader(options, deps.port, deps.now);
  const underWay = new Set<Promise<void>>();
  for (;;) {
    while (waiting[0] !== undefined && !deps.signal.aborted && slots.acquire(waiting[0].each.node)) {
      const { each, found } = waiting[0];
      waiting.shift();
      const run = drainOne(each, found, options, { ...deps, pods }).finally(() => {
        underWay.delete(run);
        // A dry run shows the other nodes, too.
        slots.release(each.node, each.phase === 'drained' || each.phase === 'waits');
      });
      underWay.add(run);
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/** As if the server accepted every eviction but those that a budget rules out. */
function preview(each: NodeDrain, pods: readonly DrainPod[], deps: PoolWork): void {
  if (each.phase !== 'not begun') return;
  for (const pod of pods) deps.onEvent({ kind: 'asking', node: each.node, pod: podName(pod) });
  for (const pod of pods) {
    const why = deps.blocked.why.get(pod.uid);
    if (why === undefined) continue;
    each.held.set(podName(pod), why);
    deps.onEvent({ kind: 'held', node: each.node, pod: podName(pod), why });
  }
  each.gone = each.pods - each.held.size;
  if (each.held.size === 0) finish(each, deps);
  else waits(each, deps);
}
