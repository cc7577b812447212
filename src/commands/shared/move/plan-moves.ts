/** Plans which nodes to add to a pool, remove from it or move, and checks everything before anything is written. */
import type { ClusterPort } from '../../../kube/cluster.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { labelsToJoin, labelsToLeave } from '../../../nodepool/membership/member-labels.ts';
import type { Ownership } from '../../../nodepool/membership/membership.ts';
import type { NodePatch } from '../../../nodepool/plan/plan.ts';
import { isPaused, pausedError } from '../../../nodepool/rollout/rollout.ts';
import { assertWhole } from '../../../nodepool/spec/schema.ts';
import { isSelectorKnown } from '../../../nodepool/spec/validation.ts';
import type { Node, NodePool } from '../../../nodepool/types.ts';
import { blockedError } from '../../../reconciler/plan/blocked.ts';
import { type ClusterPlan, planCluster } from '../../../reconciler/plan/cluster-plan.ts';
import type { Intent } from '../../../reconciler/plan/intent.ts';
import {
  type MembershipChange,
  type MembershipChanges,
  poolForNodes,
} from '../../../reconciler/plan/membership-change.ts';
import { patchedNode } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { loadClusterState } from '../pools/load-cluster-state.ts';
import { fullNames } from '../pools/node-names.ts';
import { selectNodes } from '../pools/nodes.ts';
import { poolNotFound } from '../pools/not-found.ts';
import { allPermitted } from '../refusals.ts';

export interface MoveOptions {
  kind: 'add' | 'remove' | 'move';
  /** The pool that gets the nodes; for `remove`, the pool that loses them. */
  pool: string;
  nodes: string[];
  /** A label selector instead of names; `remove` and `from` use only the matching nodes of their pool. */
  selector: string | undefined;
  /** For `move`: only nodes of this pool; without names and selector, all of them. */
  from: string | undefined;
}

/** The planned changes; nothing is written yet. */
export interface PlannedMoves {
  state: ClusterState;
  intent: Intent & { changes: MembershipChanges };
  plan: ClusterPlan;
  /** Nodes that need no change. */
  unchanged: string[];
  warnings: string[];
}

/** Throws NodepoolError if a node or pool does not exist, or cannot be moved as requested. */
export async function planMoves(options: MoveOptions, { cluster }: { cluster: ClusterPort }): Promise<PlannedMoves> {
  const { kind, pool: name, from } = options;
  checkChoice(options);
  const [state, selected] = await allPermitted([loadClusterState(cluster), namesBySelector(options, cluster)]);
  const missing = [name, ...(from === undefined ? [] : [from])].filter(each => state.pool(each) === undefined);
  const pool = options.nodes.find(each => state.pool(each) !== undefined);
  if (missing.includes(name) && kind !== 'move' && pool !== undefined && state.node(name) !== undefined)
    throw isSwapped(options, pool);
  if (missing.length > 0)
    throw poolNotFound(kind, missing, { pools: state.poolNames().filter(each => state.isActive(each)) });
  checkPool(state, name, kind);

  const names = selected === undefined ? nodesToMove(options, state) : meantNodes(selected, options, state);
  const to = kind === 'remove' ? undefined : name;
  const change: MembershipChange = { pool: name, to, labels: labelsFor(options, state) };
  const requested = [...new Set(names)];
  const wanted = new Map(requested.filter(node => !isDone(state, node, options)).map(node => [node, change]));
  const plan = planCluster(state, { pools: [name], changes: wanted });
  const [blocked] = plan.blocked;
  if (blocked !== undefined) throw blockedError(blocked);
  const planned = new Map(plan.nodes.map(each => [each.node.name, each.patch]));
  for (const node of wanted.keys()) checkEnd(state, node, planned.get(node), options);
  const changes = new Map(plan.nodes.map(({ node }) => [node.name, change]));
  const stripped = plan.nodes.flatMap(node => node.changes.filter(({ reason }) => reason === 'unmanaged'));
  const warnings = stripped.length === 0 ? [] : [stripWarning(name, stripped.length)];
  const unchanged = requested.filter(node => !changes.has(node));
  return { state, intent: { pools: [name], changes }, plan, unchanged, warnings };
}

function checkChoice({ nodes, selector, from, kind, pool }: MoveOptions): void {
  if (nodes.length > 0 && selector !== undefined) {
    throw new NodepoolError('usage', 'names of nodes and -l cannot be used together', 'use one of the two');
  }
  if (nodes.length === 0 && selector === undefined && from === undefined) {
    const [order, example] =
      kind === 'move'
        ? ['for example:', `move NODE... --to ${pool}`]
        : ['write the pool first, then the nodes:', `${kind} ${pool} NODE...`];
    throw new NodepoolError(
      'usage',
      `${kind} needs the names of nodes, or -l SELECTOR`,
      `${order} \`kubectl nodepool ${example}\``,
    );
  }
}

async function namesBySelector({ selector }: MoveOptions, cluster: ClusterPort): Promise<string[] | undefined> {
  if (selector === undefined) return undefined;
  return (await selectNodes(selector, cluster)).map(({ name }) => name);
}

function nodesToMove({ nodes, from }: MoveOptions, state: ClusterState): string[] {
  if (nodes.length === 0 && from !== undefined) return state.members(from).map(node => node.name);
  const known = [...state.nodes()].map(({ name }) => name);
  return fullNames(nodes, known);
}

/** Of the selected nodes, those in the pool: `remove` and `--from` only concern that pool's nodes. */
function meantNodes(selected: string[], options: MoveOptions, state: ClusterState): string[] {
  const { kind, from } = options;
  return selected.filter(node => {
    if (state.node(node) === undefined) return false;
    if (kind === 'remove') return !isDone(state, node, options);
    return from === undefined || state.ownership(node)?.owner === from;
  });
}

function checkPool(state: ClusterState, name: string, kind: MoveOptions['kind']): void {
  if (kind !== 'remove') {
    poolForNodes(state, name);
    return;
  }
  const pool = state.pool(name);
  if (pool?.metadata.deletionTimestamp !== undefined) {
    throw new NodepoolError(
      'input',
      `pool ${name} is being deleted and releases all its nodes`,
      `finish the deletion with \`kubectl nodepool delete ${name}\``,
    );
  }
  if (pool === undefined) return;
  assertKnown(pool);
  if (isPaused(pool)) throw pausedError('no node is removed', name);
}

function assertKnown(pool: NodePool): void {
  assertWhole(pool);
  if (isSelectorKnown(pool)) return;
  const { name } = pool.metadata;
  throw new NodepoolError(
    'input',
    `pool ${name} has an unreadable selector: the labels of its members are unknown`,
    `fix the selector with \`kubectl nodepool edit ${name}\``,
  );
}

/** A node that left the pool but still has its labels or taints is not completely removed. */
function isDone(state: ClusterState, node: string, { kind, pool }: MoveOptions): boolean {
  return kind === 'remove' ? !state.poolsOf(node).includes(pool) : state.ownership(node)?.owner === pool;
}

/** Called again with the changed node after a conflict. */
function labelsFor({ kind, pool: name, from }: MoveOptions, state: ClusterState): MembershipChange['labels'] {
  return (node, { owner, conflicting, record }: Ownership) => {
    const pool = state.pool(name);
    if (pool === undefined) throw new NodepoolError('cluster', `pool ${name} was deleted meanwhile`);
    if (kind === 'remove') {
      const rivals = [owner, ...conflicting].flatMap(rival =>
        rival === undefined || rival === name ? [] : (state.pool(rival) ?? []),
      );
      const isMatching = owner === name || conflicting.includes(name);
      return isMatching ? labelsToLeave(node, pool, rivals, owner === name) : {};
    }
    if (kind === 'add' && owner !== undefined && owner !== name) throw isElsewhere(node, name, owner);
    if (from !== undefined && owner !== from && owner !== name) throw isNotIn(node, from, owner);
    const source = owner === undefined || owner === name ? undefined : state.pool(owner);
    if (source !== undefined) assertKnown(source);
    return labelsToJoin(node, record, pool, source);
  };
}

/** Labels that pools set or restore can make the node a member again: simulates that before the first write. */
function checkEnd(state: ClusterState, name: string, patch: NodePatch | undefined, { kind, pool }: MoveOptions): void {
  const node = state.node(name);
  if (node === undefined) return;
  const ownership = state.poolIndex.ownership(patch === undefined ? node : patchedNode(node, patch));
  const isOwner = ownership.owner === pool;
  const isMatching = isOwner || ownership.conflicting.includes(pool);
  if (kind === 'remove' ? !isMatching : isOwner) return;
  const giver = ownership.owner === undefined ? 'another pool' : `pool ${ownership.owner}`;
  throw new NodepoolError(
    'input',
    kind === 'remove'
      ? `node ${name} would match pool ${pool} again: ${giver} sets the labels that pool ${pool} selects`
      : `node ${name} would not stay in pool ${pool}: ${giver} would own the node`,
    `to see why: \`kubectl nodepool why ${name}\``,
  );
}

function isSwapped({ kind, pool: node, nodes }: MoveOptions, pool: string): NodepoolError {
  const names = [node, ...nodes.filter(each => each !== pool)].join(' ');
  return new NodepoolError(
    'input',
    `nodepool "${node}" not found: it is a node, and "${pool}" is a pool`,
    `write the pool first: \`kubectl nodepool ${kind} ${pool} ${names}\``,
  );
}

function isElsewhere({ name }: Node, pool: string, owner: string): NodepoolError {
  return new NodepoolError(
    'input',
    `node ${name} belongs to pool ${owner}`,
    `move the node: \`kubectl nodepool move ${name} --to ${pool}\``,
  );
}

function isNotIn({ name }: Node, pool: string, owner: string | undefined): NodepoolError {
  return new NodepoolError(
    'input',
    `--from ${pool}: node ${name} ${owner === undefined ? 'is in no pool' : `belongs to pool ${owner}`}`,
    'leave out the node, or --from',
  );
}

function stripWarning(pool: string, count: number): string {
  return `pool ${pool} has unmanaged: Remove: other labels and taints of these nodes (${count} in all) are removed, including those of cloud, CNI and GPU software; they are restored when the pool releases the nodes`;
}
