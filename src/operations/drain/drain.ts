/**
 * Drains the nodes of pools: cordons all first, so that no pod moves to a node that is drained next, or each when its turn
 * comes; drains pool after pool, a few nodes at a time.
 */
import { createLimiter } from '../../controller/limiter.ts';
import { type DrainPod, podName } from '../../nodepool/drain-filters.ts';
import { type DrainPace, DrainSlots, drainOrder } from '../../nodepool/drain-slots.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { CordonChange, MaintenanceWish } from '../../nodepool/plan-cordon.ts';
import type { Node } from '../../nodepool/types.ts';
import type { Warning } from '../../nodepool/warning.ts';
import { type CordonDeps, type CordonResult, cordonNode } from '../cordon.ts';
import { drainNode, type NodeDrain, type NodeDrainDeps, type PodEvent, type RemovalOptions } from './drain-node.ts';
import { type PodReader, podReader } from './drain-pods.ts';
import type { DrainPlan, PlannedNode, PlannedPool } from './plan-drain.ts';

export type DrainEvent =
  | PodEvent
  | { kind: 'drained'; node: string }
  | NodeWaits
  | CordonEvent
  | NodeLeft
  | NodeFailure;
/** Only in a dry run. @param held as in NodeDrain */
type NodeWaits = { kind: 'waits'; node: string; held: ReadonlyMap<string, string> };
type CordonEvent = { kind: 'cordon'; result: CordonResult };
/** The node is no longer a member. */
type NodeLeft = { kind: 'left'; node: string; pool: string; isCordoned: boolean };
type NodeFailure = { kind: 'failed'; node: string; error: NodepoolError };

export interface DrainOptions extends Omit<RemovalOptions, 'dryRun'> {
  /** Only these members; empty: all. */
  nodes: readonly string[];
  /** Each node is cordoned right before it is drained, not all at the start. */
  isRolling: boolean;
  /** @param members of the pool */
  pace: (members: number) => DrainPace;
  /** As in CordonChange. */
  maintenance?: MaintenanceWish | undefined;
  takeover?: boolean;
}

export interface PoolDrain {
  pool: string;
  /** In the order in which they are drained. Nodes whose phase is not `drained` are not drained. */
  drains: NodeDrain[];
}

export interface DrainDeps extends Omit<NodeDrainDeps, 'onEvent' | 'pods' | 'limitObjects'>, CordonDeps {
  /** @param state the pool and all its nodes as they are now */
  onEvent: (event: DrainEvent, state: PoolDrain) => void;
  /** Of a maintenance that is not published. */
  onWarning: (warning: Warning) => void;
}

/** The deps while the nodes of a pool are drained: events are reported with all of them. */
type Work = Omit<DrainDeps, 'onEvent'> &
  Pick<NodeDrainDeps, 'limitObjects'> & { onEvent: (event: DrainEvent) => void; cordon: CordonChange };

/** @param isMember whether a node is a member of the pool, by the pools of the plan */
type PoolWork = Work & Pick<DrainPlan, 'blocked'> & { pool: string; isMember: (node: Node) => boolean };

/** Half of the transport's limit of requests, so that writes do not delay the lists that find out which pods are gone. */
const MAX_OBJECTS = 16;

/** Cordons the nodes of all pools, unless it is rolling, then drains pool after pool; yields the result of each pool at its end. */
export async function* drain(plan: DrainPlan, options: DrainOptions, given: DrainDeps): AsyncGenerator<PoolDrain> {
  const limitObjects = createLimiter(MAX_OBJECTS);
  const { maintenance, takeover = false } = options;
  const cordon: CordonChange = { unschedulable: true, maintenance, takeover };
  const work = plan.pools.map(planned => {
    const state = { pool: planned.pool, drains: notBegun(planned, options) };
    const deps: Work = { ...given, limitObjects, cordon, onEvent: event => given.onEvent(event, state) };
    return { planned, state, deps };
  });
  if (!options.isRolling) {
    for (const { planned, state, deps } of work) await cordonAll(nodesOf(planned), state.drains, deps);
    // Not only when their turn comes, which may be hours later: the plan has just been made.
    for (const { planned, state, deps } of work) finishEmpty(planned, state.drains, deps);
  }
  for (const { planned, state, deps } of work) {
    const { pool } = planned;
    const isMember = (node: Node) => plan.ownerOf(node) === pool;
    await drainPool(planned, state.drains, options, { ...deps, blocked: plan.blocked, pool, isMember });
    yield state;
  }
}

/** Nodes that the plan found empty and cordoned. A dry run cordons nothing. */
function finishEmpty(pool: PlannedPool, drains: readonly NodeDrain[], deps: Work): void {
  if (deps.dryRun === 'client') return;
  const cordoned = new Set(nodesOf(pool).flatMap(({ name, unschedulable }) => (unschedulable ? [name] : [])));
  for (const each of drains) {
    const isEmpty = each.phase === 'not begun' && each.pods === 0;
    if (isEmpty && (cordoned.has(each.node) || deps.dryRun === 'server')) finish(each, deps);
  }
}

function nodesOf({ nodes }: PlannedPool): Node[] {
  return nodes.map(({ node }) => node);
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
    return { node: name, phase: 'not begun', pods: pods.get(name) ?? 0, gone: 0, held: new Map() };
  });
}

async function drainPool(pool: PlannedPool, drains: NodeDrain[], options: DrainOptions, deps: PoolWork): Promise<void> {
  const planned = new Map(pool.nodes.map(each => [each.node.name, each]));
  if (deps.dryRun === 'client') {
    for (const each of drains) {
      if (options.isRolling) await cordonAll(nodesOf(pool), [each], deps);
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

/**
 * A node that cannot be cordoned is not drained; one that is gone counts as drained; none is cordoned after the signal.
 * @param isQuiet does not report those that are cordoned already
 */
async function cordonAll(
  nodes: readonly Node[],
  drains: readonly NodeDrain[],
  deps: Work,
  isQuiet = false,
): Promise<void> {
  const drainOf = new Map(drains.map(drain => [drain.node, drain]));
  const cordon = async (node: Node) => (deps.signal.aborted ? undefined : cordonNode(node, deps.cordon, deps));
  const writes = nodes.flatMap(node => {
    const drain = drainOf.get(node.name);
    return drain === undefined ? [] : [{ drain, result: deps.limitObjects(() => cordon(node)) }];
  });
  for (const { drain, result } of writes) {
    const outcome = await result;
    if (outcome === undefined) continue;
    if (!isQuiet || outcome.kind !== 'already') deps.onEvent({ kind: 'cordon', result: outcome });
    if ('warnings' in outcome) for (const warning of outcome.warnings) deps.onWarning(warning);
    if (outcome.kind === 'failed') drain.phase = 'failed';
    if (outcome.kind === 'gone') drain.phase = 'drained';
  }
}

async function drainOne(
  each: NodeDrain,
  planned: PlannedNode,
  options: DrainOptions,
  deps: PoolWork & { pods: PodReader },
): Promise<void> {
  const isDry = deps.dryRun === 'server';
  try {
    // A dry run has cordoned nothing.
    if (options.isRolling || !isDry) await cordonNow(each, planned, options, deps);
    if (each.phase !== 'not begun' || deps.signal.aborted) return;
    each.phase = 'under way';
    const isDrained = await drainNode(each, { ...options, dryRun: isDry }, deps, planned.warned);
    if (isDrained) finish(each, deps);
    else if (isDry && !deps.signal.aborted) waits(each, deps);
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    each.phase = 'failed';
    deps.onEvent({ kind: 'failed', node: each.node, error });
  }
}

/**
 * Reads the node when its turn comes, and cordons it if it is not: somebody may have made it schedulable since. Another node of its
 * name is left alone, as one that is gone, and so is one that has left the pool.
 */
async function cordonNow(
  each: NodeDrain,
  { node, isLeftAlone = false }: PlannedNode,
  { isRolling }: DrainOptions,
  deps: PoolWork,
): Promise<void> {
  const current = await deps.cluster.nodes.get(node.name);
  if (current?.uid !== node.uid) {
    each.phase = 'drained';
    deps.onEvent({ kind: 'cordon', result: { kind: 'gone', node: node.name } });
    return;
  }
  if (!deps.isMember(current)) {
    each.phase = 'failed';
    deps.onEvent({ kind: 'left', node: node.name, pool: deps.pool, isCordoned: current.unschedulable });
    return;
  }
  // Its pods were neither shown nor agreed to.
  if (isLeftAlone && (current.maintenance !== node.maintenance || !current.unschedulable))
    throw new NodepoolError('cluster', 'its maintenance ended after the drain began', 'run the command again');
  // A maintenance that somebody has begun since is not the one that was to be taken over.
  const takeover = deps.cordon.takeover === true && current.maintenance === node.maintenance;
  const work = { ...deps, cordon: { ...deps.cordon, takeover } };
  if (isRolling || !current.unschedulable) await cordonAll([current], [each], work);
  else if (current.maintenance !== undefined) await cordonAll([current], [each], work, true);
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

function waits(each: NodeDrain, { onEvent }: Work): void {
  each.phase = 'waits';
  onEvent({ kind: 'waits', node: each.node, held: each.held });
}

function finish(each: NodeDrain, { onEvent }: Work): void {
  each.phase = 'drained';
  onEvent({ kind: 'drained', node: each.node });
}
