/**
 * Drains the nodes of pools: cordons all first, so that no pod moves to a node that is drained next, or each when its turn
 * comes; drains pool after pool, a few nodes at a time.
 */
import { createLimiter } from '../controller/limiter.ts';
import { type DrainPod, podName } from '../nodepool/drain-filters.ts';
import { type DrainPace, DrainSlots, drainOrder } from '../nodepool/drain-slots.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { Node } from '../nodepool/types.ts';
import { type CordonDeps, type CordonResult, cordonNode } from './cordon.ts';
import { drainNode, type NodeDrain, type NodeDrainDeps, type PodEvent, type RemovalOptions } from './drain-node.ts';
import { type PodReader, podReader } from './drain-pods.ts';
import type { DrainPlan, PlannedNode, PlannedPool } from './plan-drain.ts';

export type DrainEvent = PodEvent | { kind: 'drained'; node: string } | NodeWaits | CordonEvent | NodeFailure;
/** Only in a dry run. @param held as in NodeDrain */
type NodeWaits = { kind: 'waits'; node: string; held: ReadonlyMap<string, string> };
type CordonEvent = { kind: 'cordon'; result: CordonResult };
type NodeFailure = { kind: 'failed'; node: string; error: NodepoolError };

export interface DrainOptions extends Omit<RemovalOptions, 'dryRun'> {
  /** Only these members; empty: all. */
  nodes: readonly string[];
  /** Each node is cordoned right before it is drained, not all at the start. */
  isRolling: boolean;
  /** @param members of the pool */
  pace: (members: number) => DrainPace;
}

export interface PoolDrain {
  pool: string;
  /** In the order in which they are drained. Nodes whose phase is not `drained` are not drained. */
  drains: NodeDrain[];
}

export interface DrainDeps extends Omit<NodeDrainDeps, 'onEvent' | 'pods' | 'limitObjects'>, CordonDeps {
  /** @param state the pool and all its nodes as they are now */
  onEvent: (event: DrainEvent, state: PoolDrain) => void;
}

/** The deps while the nodes of a pool are drained: events are reported with all of them. */
type Work = Omit<DrainDeps, 'onEvent'> & Pick<NodeDrainDeps, 'limitObjects'> & { onEvent: (event: DrainEvent) => void };

/** Half of the transport's limit of requests, so that writes do not delay the lists that find out which pods are gone. */
const MAX_OBJECTS = 16;

/** Cordons the nodes of all pools, unless it is rolling, then drains pool after pool; yields the result of each pool at its end. */
export async function* drain(plan: DrainPlan, options: DrainOptions, given: DrainDeps): AsyncGenerator<PoolDrain> {
  const limitObjects = createLimiter(MAX_OBJECTS);
  const work = plan.pools.map(planned => {
    const state = { pool: planned.pool, drains: notBegun(planned, options) };
    const deps: Work = { ...given, limitObjects, onEvent: event => given.onEvent(event, state) };
    return { planned, state, deps };
  });
  if (!options.isRolling) {
    for (const { planned, state, deps } of work) await cordonAll(planned.nodes, state.drains, deps);
  }
  for (const { planned, state, deps } of work) {
    await drainPool(planned, state.drains, options, deps);
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
    return { node: name, phase: 'not begun', pods: pods.get(name) ?? 0, gone: 0, held: new Map() };
  });
}

async function drainPool(pool: PlannedPool, drains: NodeDrain[], options: DrainOptions, deps: Work): Promise<void> {
  const planned = new Map(pool.nodes.map(({ node, pods }) => [node.name, { node, pods }]));
  const nodes = pool.nodes.map(({ node }) => node);
  const { isRolling } = options;
  if (deps.dryRun === 'client') {
    for (const each of drains) {
      if (isRolling) await cordonAll(pool.nodes, [each], deps);
      preview(each, planned.get(each.node)?.pods ?? [], deps);
    }
    return;
  }
  const wasCordoned = (name: string) => planned.get(name)?.node.unschedulable === true;
  const isDry = deps.dryRun === 'server';
  // A node that was cordoned and empty before the plan has got no pod since; a dry run cordons nothing.
  const isDone = ({ node, pods, phase }: NodeDrain) =>
    !isRolling && phase === 'not begun' && pods === 0 && (wasCordoned(node) || isDry);
  for (const each of drains.filter(isDone)) finish(each, deps);
  // Evictions start from the plan's list: pods that came before the cordon are in the next list. That list has no selector;
  // with one, for empty nodes, and for nodes that are cordoned later, pods are listed again after the cordon.
  const listed = ({ node, pods }: NodeDrain) =>
    isDry || (pods > 0 && options.podSelector === undefined && !isRolling) ? planned.get(node)?.pods : undefined;
  const waiting = drains.filter(({ phase }) => phase === 'not begun');
  const slots = new DrainSlots(paceOf(pool, options), [
    ...nodes.filter(({ name }) => waiting.some(({ node }) => node === name)),
    ...pool.otherMembers,
  ]);
  const pods = podReader(options, deps.port, deps.now);
  const underWay = new Set<Promise<void>>();
  for (;;) {
    while (waiting[0] !== undefined && !deps.signal.aborted && slots.acquire(waiting[0].node)) {
      const next = waiting[0];
      waiting.shift();
      const begin = async () => {
        if (isRolling) await cordonAll(pool.nodes, [next], deps);
        if (next.phase === 'not begun' && !deps.signal.aborted)
          await drainOne(next, options, { ...deps, pods }, listed(next));
      };
      const run = begin().finally(() => {
        underWay.delete(run);
        // A dry run shows the other nodes, too.
        slots.release(next.node, next.phase === 'drained' || next.phase === 'waits');
      });
      underWay.add(run);
    }
    if (underWay.size === 0) return;
    await Promise.race(underWay);
  }
}

/** A node that cannot be cordoned is not drained; one that is gone counts as drained; none is cordoned after the signal. */
async function cordonAll(planned: readonly PlannedNode[], drains: readonly NodeDrain[], deps: Work): Promise<void> {
  const drainOf = new Map(drains.map(drain => [drain.node, drain]));
  const cordon = async (node: Node) => (deps.signal.aborted ? undefined : cordonNode(node, true, deps));
  const writes = planned.flatMap(({ node }) => {
    const drain = drainOf.get(node.name);
    return drain === undefined ? [] : [{ drain, result: deps.limitObjects(() => cordon(node)) }];
  });
  for (const { drain, result } of writes) {
    const outcome = await result;
    if (outcome === undefined) continue;
    deps.onEvent({ kind: 'cordon', result: outcome });
    if (outcome.kind === 'failed') drain.phase = 'failed';
    if (outcome.kind === 'gone') drain.phase = 'drained';
  }
}

async function drainOne(
  each: NodeDrain,
  options: DrainOptions,
  deps: Work & { pods: PodReader },
  listed: readonly DrainPod[] | undefined,
): Promise<void> {
  each.phase = 'under way';
  try {
    const isDrained = await drainNode(each, { ...options, dryRun: deps.dryRun === 'server' }, deps, listed);
    if (isDrained) finish(each, deps);
    else if (deps.dryRun !== 'none' && !deps.signal.aborted) {
      each.phase = 'waits';
      deps.onEvent({ kind: 'waits', node: each.node, held: each.held });
    }
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    each.phase = 'failed';
    deps.onEvent({ kind: 'failed', node: each.node, error });
  }
}

function preview(each: NodeDrain, pods: readonly DrainPod[], deps: Work): void {
  if (each.phase !== 'not begun') return;
  for (const pod of pods) deps.onEvent({ kind: 'asking', node: each.node, pod: podName(pod) });
  each.gone = each.pods;
  finish(each, deps);
}

function finish(each: NodeDrain, { onEvent }: Work): void {
  each.phase = 'drained';
  onEvent({ kind: 'drained', node: each.node });
}
