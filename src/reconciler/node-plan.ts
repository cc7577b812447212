/**
 * Plans one node, as the cluster state has it. What a pool sets or removes can itself make the node join or leave another
 * pool, and what that pool sets belongs to the same patch.
 */
import { NodepoolError } from '../nodepool/errors.ts';
import { effective, patchedLabels } from '../nodepool/member-labels.ts';
import type { Ownership } from '../nodepool/membership.ts';
import { deepEqual } from '../nodepool/merge-patch.ts';
import { type Change, type NodePatch, type NodePlan, planNode } from '../nodepool/plan.ts';
import { MAX_RECORD_LENGTH, MAX_RECORD_SLOTS } from '../nodepool/record.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import { arrivingNoExecute } from '../nodepool/toleration.ts';
import type { Node } from '../nodepool/types.ts';
import type { ClusterState } from './cluster-state.ts';

/** Undefined when the node is not known. */
export function planOf(state: ClusterState, name: string): NodePlan | undefined {
  const node = state.node(name);
  const ownership = state.ownership(name);
  if (node === undefined || ownership === undefined) return undefined;
  if (state.upToDate.has(ownership)) {
    return { node, owner: ownership.owner, previous: ownership.record?.pool, changes: [], patch: undefined };
  }
  const plan = followed(state, [planStep(state, node, ownership)]);
  if (!isDue(plan)) state.upToDate.add(ownership);
  return plan;
}

/** Whether there is something to write or to report: a plan that cannot be written is reported by each run. */
export function isDue({ patch, circle, isOversized = false }: NodePlan): boolean {
  return patch !== undefined || circle !== undefined || isOversized;
}

/** Whether labels or taints of the node are not as its pool says. A record alone that is due is no difference. */
export function differs(plan: NodePlan | undefined): boolean {
  const { changes = [], circle, isOversized = false } = plan ?? {};
  return changes.length > 0 || circle !== undefined || isOversized;
}

/** Names of the members whose labels or taints are not as the pool says. */
export function differing(state: ClusterState, pool: string): string[] {
  return state.members(pool).flatMap(({ name }) => (differs(planOf(state, name)) ? name : []));
}

/** The plan of the owner alone. */
export function planStep(state: ClusterState, node: Node, ownership: Ownership): NodePlan {
  const owner = ownership.owner === undefined ? undefined : state.pool(ownership.owner);
  const rivals =
    ownership.conflicting.length === 0 ? [] : ownership.conflicting.flatMap(other => state.pool(other) ?? []);
  const plan = planNode(node, ownership.record, owner, rivals);
  // A pool whose spec is invalid does not change its nodes.
  const frozen = ownership.owner !== undefined && state.poolIndex.errors(ownership.owner).length > 0;
  return frozen ? { ...plan, changes: [], patch: undefined } : plan;
}

/** Longer chains of pools are taken for circles. */
const MAX_STEPS = 10;

/** The steps and all steps that follow from them, as one plan for the node of the first. */
export function followed(state: ClusterState, steps: [NodePlan, ...NodePlan[]]): NodePlan {
  const all = [...steps];
  let last = steps.at(-1) ?? steps[0];
  // Mostly no pool selects by the labels that are set.
  while (last.patch?.labels !== undefined && state.poolIndex.affectsMembership(last.patch.labels)) {
    const node = patchedNode(last.node, last.patch);
    last = planStep(state, node, state.poolIndex.ownership(node));
    // A step that cannot be written cancels the plan: without it the node would be left between two pools.
    if (last.patch === undefined && !last.isOversized) break;
    all.push(last);
    if (all.length > MAX_STEPS) return circular(steps[0], all);
  }
  return all.length === 1 ? steps[0] : composed(steps[0], all);
}

function composed({ node, previous }: NodePlan, steps: NodePlan[]): NodePlan {
  if (steps.some(({ isOversized }) => isOversized)) {
    return { node, owner: previous, previous, changes: [], patch: undefined, isOversized: true };
  }
  const patch: NodePatch = { resourceVersion: node.resourceVersion };
  for (const step of steps) {
    const { labels, taints, record } = step.patch ?? {};
    if (labels !== undefined) patch.labels = { ...patch.labels, ...labels };
    if (taints !== undefined) patch.taints = taints;
    if (record !== undefined) patch.record = record;
  }
  patch.labels = effective(node, patch.labels ?? {});
  if (Object.keys(patch.labels).length === 0) delete patch.labels;
  if (deepEqual(patch.taints, node.taints)) delete patch.taints;
  if (patch.record === (node.record ?? null)) delete patch.record;
  const changes = composedChanges(steps.flatMap(step => step.changes));
  const owner = steps.at(-1)?.owner;
  const isSame = Object.keys(patch).length === 1;
  return { node, owner, previous, changes, patch: isSame ? undefined : patch };
}

/** One change for each label and taint, from the first value to the last. */
function composedChanges(changes: Change[]): Change[] {
  const byKey = Map.groupBy(changes, ({ kind, key, effect = '' }) => `${kind} ${key}:${effect}`);
  return [...byKey.values()].flatMap(([first, ...others]): Change[] => {
    const last = others.at(-1);
    if (first === undefined || last === undefined) return first === undefined ? [] : [first];
    if (first.from === last.to) return [];
    const { from: _from, ...rest } = last;
    if (first.from === undefined) return [{ ...rest, action: 'add' }];
    return [{ ...rest, from: first.from, action: last.action === 'add' ? 'change' : last.action }];
  });
}

function circular({ node, previous }: NodePlan, steps: NodePlan[]): NodePlan {
  const owners = steps.flatMap(({ owner }) => owner ?? []);
  const circle = [...new Set(owners)].toSorted();
  return { node, owner: previous, previous, changes: [], patch: undefined, circle };
}

/** The labels of each of these pools make the node a member of another: it is not written. */
export function circleError(node: string, circle: readonly string[]): NodepoolError {
  return new NodepoolError(
    'cluster',
    `node ${node} was not written: the labels of each of the pools ${circle.join(', ')} make it a member of another, without end`,
    'change the labels or the nodeSelector of one of them',
    { isPermanent: true },
  );
}

export function oversizedError(node: string): NodepoolError {
  const limits = `${MAX_RECORD_SLOTS} labels, ${MAX_RECORD_SLOTS} taints or ${MAX_RECORD_LENGTH} bytes`;
  return new NodepoolError(
    'cluster',
    `node ${node} was not written: its pool has unmanaged: Remove, and what that removes does not fit into the record (${limits})`,
    'remove labels or taints from the node, or set unmanaged: Keep',
    { isPermanent: true },
  );
}

/** The node as the patch leaves it. */
export function patchedNode(node: Node, patch: NodePatch): Node {
  const { record: _record, ...rest } = node;
  const record = patch.record === undefined ? node.record : (patch.record ?? undefined);
  return {
    ...rest,
    labels: patchedLabels(node.labels, patch.labels ?? {}),
    taints: patch.taints ?? node.taints,
    ...(record === undefined ? {} : { record }),
  };
}

/** The taints with the effect NoExecute that the plans add to nodes, each as `node key=value:NoExecute`. */
export function noExecuteOf(plans: readonly Pick<NodePlan, 'node' | 'patch'>[]): Set<string> {
  return new Set(
    plans.flatMap(({ node, patch }) =>
      arrivingNoExecute(node.taints, patch?.taints ?? []).map(taint => `${node.name} ${formatTaint(taint)}`),
    ),
  );
}
