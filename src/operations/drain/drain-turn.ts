/** The turn of a node in a drain: it is read again, cordoned if it is not, and drained. */
import { NodepoolError } from '../../nodepool/errors.ts';
import type { Node } from '../../nodepool/types.ts';
import { type CordonResult, cordonNode } from '../cordon.ts';
import { drainNode, type NodeDrain } from './drain-node.ts';
import type { PodReader } from './drain-pods.ts';
import { type DrainOptions, finish, type PoolWork, type Work, waits } from './drain-work.ts';
import type { PlannedNode } from './plan-drain.ts';

type Planned = Pick<PlannedNode, 'node' | 'isLeftAlone'>;

/**
 * A node that cannot be cordoned is not drained; one that is gone counts as drained; none is cordoned after the signal.
 * @param isQuiet does not report those that are cordoned already
 * @returns names of those that were schedulable
 */
export async function cordonAll(
  nodes: readonly Planned[],
  drains: readonly NodeDrain[],
  deps: Work,
  isQuiet = false,
): Promise<Set<string>> {
  const drainOf = new Map(drains.map(drain => [drain.node, drain]));
  const writes = nodes.flatMap(planned => {
    const drain = drainOf.get(planned.node.name);
    return drain === undefined ? [] : [{ drain, result: deps.limitObjects(() => cordon(planned, deps)) }];
  });
  const wereOpen = new Set<string>();
  for (const { drain, result } of writes) {
    const outcome = await result;
    if (outcome === undefined) continue;
    if (!isQuiet || outcome.kind !== 'already') deps.onEvent({ kind: 'cordon', result: outcome });
    if ('warnings' in outcome) for (const warning of outcome.warnings) deps.onWarning(warning);
    if (outcome.kind === 'failed') drain.phase = 'failed';
    if (outcome.kind === 'gone') drain.phase = 'drained';
    if (outcome.kind === 'changed') wereOpen.add(drain.node);
  }
  return wereOpen;
}

/** Undefined after the signal. */
async function cordon({ node, isLeftAlone = false }: Planned, deps: Work): Promise<CordonResult | undefined> {
  if (deps.signal.aborted) return undefined;
  try {
    if (isLeftAlone) checkLeftAlone(node, await deps.cluster.nodes.get(node.name));
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    return { kind: 'failed', node: node.name, error };
  }
  return cordonNode(node, deps.cordon, deps);
}

/** Throws where the maintenance has ended: the pods of the node were neither shown nor agreed to. */
function checkLeftAlone(node: Node, current: Node | undefined): void {
  if (current?.uid !== node.uid || (current.maintenance === node.maintenance && current.unschedulable)) return;
  throw new NodepoolError('cluster', 'its maintenance ended after the drain began', 'run the command again');
}

export async function drainOne(
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
    const isReplaced = async () => {
      const current = await deps.cluster.nodes.get(each.node);
      return current !== undefined && current.uid !== planned.node.uid;
    };
    const end = await drainNode(each, { ...options, dryRun: isDry }, { ...deps, isReplaced }, planned.warned);
    if (end === 'drained') finish(each, deps);
    else if (end === 'replaced') {
      each.phase = 'failed';
      each.isReplaced = true;
      each.held.clear();
      deps.onEvent({ kind: 'replaced', node: each.node });
    } else if (isDry && !deps.signal.aborted) waits(each, deps);
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
  if (isLeftAlone) checkLeftAlone(node, current);
  // A maintenance that somebody has begun since is not the one that was to be taken over.
  const takeover = deps.cordon.takeover === true && current.maintenance === node.maintenance;
  const work = { ...deps, cordon: { ...deps.cordon, takeover } };
  if (isRolling || !current.unschedulable) await cordonAll([{ node: current }], [each], work);
  else if (current.maintenance !== undefined) await cordonAll([{ node: current }], [each], work, true);
}
