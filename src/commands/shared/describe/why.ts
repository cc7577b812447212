/** Why a node is in a pool or not, and has the pool's values or not: for `why`, `nodes --why` and the dashboard. */
import type { Deps } from '../../../cli/factory.ts';
import { terminalWidth } from '../../../cli/io.ts';
import type { ClusterReader, NodesClient } from '../../../kube/cluster.ts';
import { ForbiddenError, NodepoolError } from '../../../nodepool/errors.ts';
import { explain, type MembershipExplanation } from '../../../nodepool/membership/explain.ts';
import type { Change, NodePlan } from '../../../nodepool/plan/plan.ts';
import type { Node } from '../../../nodepool/types.ts';
import { blockedItem } from '../../../reconciler/plan/blocked.ts';
import { nodePlan } from '../../../reconciler/plan/node-plan.ts';
import { clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { readAnnotations } from '../../../reconciler/state/unread-annotations.ts';
import { withSetters } from '../changes/drift-setters.ts';
import { selectPools } from '../pools/load-cluster-state.ts';
import { namedNodes } from '../pools/node-names.ts';
import { type PoolNode, poolNodeOf } from '../pools/nodes.ts';
import { allPermitted } from '../refusals.ts';

export interface NodeExplanation extends MembershipExplanation {
  /** Values that the owner set and that are still there. */
  applied?: PoolNode['applied'];
  /** What the next reconcile would change. */
  changes?: Change[];
  /** What the changes wait for, or what applies them. */
  next?: string;
  /** Why no run changes the node. */
  blocked?: ReturnType<typeof blockedItem>;
}

interface WhyDeps {
  cluster: ClusterReader & { nodes: Pick<NodesClient, 'get' | 'fieldSetters'> };
}

/** Prints the explanation. @param pools to explain; empty: all */
export async function showWhy(
  node: string,
  pools: readonly string[],
  output: 'json' | 'yaml' | undefined,
  { io, connect }: Deps,
): Promise<void> {
  const explanation = await whyNode(node, pools, await connect());
  if (output !== undefined) {
    const { printDocument } = await import('../../../print/printers.ts');
    io.out(printDocument('NodeExplanation', explanation, output));
    return;
  }
  const { renderWhy } = await import('./print-why.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  io.out(renderWhy(explanation, makeStyle(io.color), io.serverNow(), terminalWidth(io)));
}

/** Throws if the node or a pool does not exist. @param name may be a short name @param pools empty: all */
export async function whyNode(name: string, pools: readonly string[], { cluster }: WhyDeps): Promise<NodeExplanation> {
  const [known, found] = await allPermitted([cluster.pools.listCoerced(), findNode(name, cluster.nodes)]);
  if ('error' in found) {
    throw known.some(({ metadata }) => metadata.name === name) ? isPool(name, pools) : found.error;
  }
  const state = clusterStateOf(cluster, known, [found]);
  const meant = selectPools('why', state, [...pools]);
  await readAnnotations(state, async () => [(await cluster.nodes.get(found.name)) ?? found]);
  const node = state.node(found.name) ?? found;
  const { poolIndex } = state;
  const whole = explain(node, known, poolIndex.ownership(node), pool => poolIndex.errors(pool));
  const row = poolNodeOf(state, node);
  const [{ pool, applied, changes, blocked } = row] = (await withSetters([row], cluster.nodes)).planned;
  const next = changes.length === 0 ? undefined : nextOf(nodePlan(state, node.name), pool);
  return {
    ...whole,
    pools: whole.pools.filter(each => meant.includes(each.pool)),
    applied,
    changes,
    ...(next === undefined ? {} : { next }),
    ...(blocked === undefined ? {} : { blocked: blockedItem(blocked) }),
  };
}

async function findNode(name: string, nodes: Pick<NodesClient, 'get' | 'list'>): Promise<Node | { error: unknown }> {
  try {
    const [node] = await namedNodes([name], nodes);
    if (node !== undefined) return node;
    throw new Error(`no node and no error for ${name}`);
  } catch (error) {
    if (!(error instanceof NodepoolError) || error instanceof ForbiddenError) throw error;
    return { error };
  }
}

/** Error for `why gpu node-a`, or `why gpu`. */
function isPool(name: string, [node]: readonly string[]): NodepoolError {
  const next =
    node === undefined
      ? `list the nodes of the pool with \`kubectl nodepool nodes ${name}\``
      : `write the node first: \`kubectl nodepool why ${node} ${name}\``;
  return new NodepoolError('input', `node "${name}" not found: it is a pool`, next);
}

function nextOf(plan: NodePlan | undefined, pool: string | undefined): string | undefined {
  switch (plan?.kind) {
    case 'paused':
      return `pool ${plan.pool} is paused; to resume: \`kubectl nodepool rollout resume ${plan.pool}\``;
    case 'rollout step':
      return `\`kubectl nodepool reconcile ${pool}\` makes these changes once it is the node's turn in the rollout`;
    case 'write':
    case 'unread':
      return `\`kubectl nodepool reconcile ${pool}\` makes these changes`;
    default:
      return undefined;
  }
}
