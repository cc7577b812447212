/**
 * Plans one node, as the cluster state has it. What a pool sets or removes can itself make the node join or leave another
 * pool, and what that pool sets belongs to the same patch.
 */
import { defined } from '../nodepool/json.ts';
import { effective, patchedLabels } from '../nodepool/member-labels.ts';
import type { Ownership } from '../nodepool/membership.ts';
import { deepEqual } from '../nodepool/merge-patch.ts';
import type { PlanRules } from '../nodepool/merge-slots.ts';
import { allChanges, type Change, type NodePatch, type NodePlan, planNode } from '../nodepool/plan.ts';
import { planRepair } from '../nodepool/plan-repair.ts';
import { isPaused } from '../nodepool/rollout.ts';
import { transientKeysOf } from '../nodepool/transient-states.ts';
import type { Node, NodePool } from '../nodepool/types.ts';
import type { ClusterState } from './cluster-state.ts';

/**
 * Plans that are written at once: a node is planned for the plan of the cluster, before its turn, and for its write. A change of
 * the node or of any pool's spec replaces the ownership. Plans that wait would take memory (plan-facts.ts).
 */
const plans = new WeakMap<Ownership, NodePlan>();

/** Undefined when the node is not known. @param isCleared see planNode() */
export function planOf(state: ClusterState, name: string, isCleared = false): NodePlan | undefined {
  const node = state.node(name);
  const ownership = state.ownership(name);
  if (node === undefined || ownership === undefined) return undefined;
  if (state.upToDate.has(ownership)) {
    return { node, owner: ownership.owner, previous: ownership.record?.pool, changes: [], patch: undefined };
  }
  const known = isCleared ? undefined : plans.get(ownership);
  if (known !== undefined) return known;
  const plan = followed(state, [planStep(state, node, ownership, isCleared)]);
  if (!hasPlan(plan)) state.upToDate.add(ownership);
  else if (!isCleared && plan.patch !== undefined && !mayWait(plan)) plans.set(ownership, plan);
  return plan;
}

/** Whether it is a step of a rollout. One that cannot be written is reported, whenever its turn is. */
export function waitsForTurn(plan: NodePlan | undefined): boolean {
  return plan?.isRollout === true && plan.isOversized !== true;
}

/** What is done for a member whose turn in a rollout has not come. Nothing where that would move it to another pool. */
export function repairOf(state: ClusterState, name: string): NodePlan | undefined {
  const [node, ownership] = [state.node(name), state.ownership(name)];
  const pool = ownership?.owner === undefined ? undefined : state.pool(ownership.owner);
  if (node === undefined || pool === undefined || ownership?.record?.pool !== pool.metadata.name) return undefined;
  const rules = rulesFor(state, ownership.record.pool, pool);
  const plan = planRepair(node, ownership.record, pool, rules, state.births.of(node, pool));
  const { labels } = plan.patch ?? {};
  if (plan.patch === undefined || labels === undefined || !state.poolIndex.affectsMembership(labels)) return plan;
  const { owner } = state.poolIndex.ownership(patchedNode(node, plan.patch));
  return owner === pool.metadata.name ? plan : undefined;
}

function hasPlan({ patch, drain, circle, isOversized = false }: NodePlan): boolean {
  return patch !== undefined || drain !== undefined || circle !== undefined || isOversized;
}

/** Whether there is something to write or to report: a plan that cannot be written is reported by each run. */
export function isDue(plan: NodePlan): boolean {
  return plan.pausedBy === undefined && hasPlan(plan);
}

/**
 * Whether it may have to wait, although nothing fails: its pool is paused, its turn in a rollout has not come, or its pods are
 * not gone.
 */
export function mayWait({
  pausedBy,
  isRollout = false,
  drain,
}: Pick<NodePlan, 'pausedBy' | 'isRollout' | 'drain'> = {}): boolean {
  return pausedBy !== undefined || isRollout || drain !== undefined;
}

/** Whether labels, taints or annotations of the node are not as its pool says. A record alone that is due is no difference. */
export function differs(plan: NodePlan | undefined): boolean {
  if (plan === undefined) return false;
  const { circle, isOversized = false } = plan;
  return allChanges(plan).length > 0 || circle !== undefined || isOversized;
}

/** Names of the members whose labels, taints or annotations are not as the pool says. */
export function differing(state: ClusterState, pool: string): string[] {
  return state.members(pool).flatMap(({ name }) => (differs(planOf(state, name)) ? name : []));
}

/** The plan of the owner alone. @param isCleared see planNode() */
export function planStep(state: ClusterState, node: Node, ownership: Ownership, isCleared = false): NodePlan {
  const paused = pausedPool(state, ownership);
  const { record } = ownership;
  // A pool that is being deleted, or is gone, releases the node; what the paused pool would set there has to wait.
  if (paused !== undefined && record !== undefined && !state.isStaying(record.pool))
    return planNode(node, record, undefined, [], false, rulesFor(state, record.pool, undefined));
  const plan = planOwned(state, node, ownership, isCleared);
  return paused === undefined || !hasPlan(plan) ? plan : { ...plan, pausedBy: paused };
}

/** The pool whose pause forbids a write of the node: the one that holds it, or the one that would get it. */
export function pausedPool(
  state: ClusterState,
  { record, owner }: Pick<Ownership, 'record' | 'owner'>,
): string | undefined {
  const pools = [record?.pool, owner].flatMap(name => (name === undefined ? [] : (state.pool(name) ?? [])));
  return pools.find(isPaused)?.metadata.name;
}

/** @param holder the pool of the record */
export function rulesFor(state: ClusterState, holder: string | undefined, owner: NodePool | undefined): PlanRules {
  const { transient = [] } = state.rules;
  const held = holder === undefined || holder === owner?.metadata.name ? undefined : state.pool(holder);
  const more = [...transientKeysOf(owner), ...transientKeysOf(held)];
  return more.length === 0 ? state.rules : { ...state.rules, transient: [...transient, ...more] };
}

function planOwned(state: ClusterState, node: Node, ownership: Ownership, isCleared: boolean): NodePlan {
  const owner = ownership.owner === undefined ? undefined : state.pool(ownership.owner);
  const rivals =
    ownership.conflicting.length === 0 ? [] : ownership.conflicting.flatMap(other => state.pool(other) ?? []);
  const { drain, ...plan } = planNode(
    node,
    ownership.record,
    owner,
    rivals,
    isCleared,
    rulesFor(state, ownership.record?.pool, owner),
    state.births.of(node, owner),
  );
  // A pool whose spec is invalid does not change its nodes.
  const frozen = ownership.owner !== undefined && state.poolIndex.errors(ownership.owner).length > 0;
  if (frozen) return { ...plan, changes: [], patch: undefined };
  return drain === undefined ? plan : { ...plan, drain };
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
    // A node that was released is not between two pools.
    if (last.pausedBy !== undefined && all.at(-1)?.owner === undefined) break;
    all.push(last);
    if (all.length > MAX_STEPS) return circular(steps[0], all);
  }
  return all.length === 1 ? steps[0] : composed(steps[0], all);
}

function composed({ node, previous }: NodePlan, steps: NodePlan[]): NodePlan {
  const pausedBy = steps.find(step => step.pausedBy !== undefined)?.pausedBy;
  const marks = {
    ...(steps.some(({ isUnread }) => isUnread) ? { isUnread: true } : {}),
    ...(pausedBy === undefined ? {} : { pausedBy }),
    ...(steps.some(({ isRollout }) => isRollout) ? { isRollout: true } : {}),
    ...defined({ drain: steps.at(-1)?.drain }),
    ...(steps.some(({ withheld }) => withheld) ? { withheld: steps.flatMap(({ withheld = [] }) => withheld) } : {}),
  };
  if (steps.some(({ isOversized }) => isOversized)) {
    return { node, owner: previous, previous, changes: [], patch: undefined, isOversized: true, ...marks };
  }
  const patch: NodePatch = { resourceVersion: node.resourceVersion };
  for (const step of steps) {
    const { labels, taints, annotations, record, dropsMark } = step.patch ?? {};
    if (labels !== undefined) patch.labels = { ...patch.labels, ...labels };
    if (annotations !== undefined) patch.annotations = { ...patch.annotations, ...annotations };
    if (taints !== undefined) patch.taints = taints;
    if (record !== undefined) patch.record = record;
    if (dropsMark !== undefined) patch.dropsMark = dropsMark;
  }
  patch.labels = effective(node.labels, patch.labels ?? {});
  if (Object.keys(patch.labels).length === 0) delete patch.labels;
  patch.annotations = effective(node.annotations ?? {}, patch.annotations ?? {});
  if (Object.keys(patch.annotations).length === 0) delete patch.annotations;
  if (deepEqual(patch.taints, node.taints)) delete patch.taints;
  if (patch.record === (node.record ?? null)) delete patch.record;
  const changes = composedChanges(steps.flatMap(step => step.changes));
  const owner = steps.at(-1)?.owner;
  const isSame = Object.keys(patch).length === 1;
  return { node, owner, previous, changes, patch: isSame ? undefined : patch, ...marks };
}

/** One change for each label, taint and annotation, from the first value to the last. */
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

/** The node as the patch leaves it. */
export function patchedNode(node: Node, patch: NodePatch): Node {
  const { record: _record, mark: _mark, annotations: _annotations, ...rest } = node;
  const record = patch.record === undefined ? node.record : (patch.record ?? undefined);
  return {
    ...rest,
    labels: patchedLabels(node.labels, patch.labels ?? {}),
    taints: patch.taints ?? node.taints,
    ...patchedAnnotations(node, patch),
    ...(record === undefined ? {} : { record }),
    ...(node.mark === undefined || patch.dropsMark ? {} : { mark: node.mark }),
  };
}

function patchedAnnotations({ annotations }: Node, patch: NodePatch): Pick<Node, 'annotations'> {
  if (patch.annotations === undefined) return annotations === undefined ? {} : { annotations };
  return { annotations: patchedLabels(annotations ?? {}, patch.annotations) };
}
