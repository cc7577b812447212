/** What an edit of a pool would do to its nodes, and to workloads that use its RuntimeClass. */
import type { ClusterPort, DryRun } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import { type Warning, warningText } from '../../../nodepool/errors.ts';
import { deepEqual } from '../../../nodepool/json.ts';
import { isEmpty, membershipSelector, partsOf, requiredLabel } from '../../../nodepool/membership/selector.ts';
import { isPaused } from '../../../nodepool/rollout/rollout.ts';
import { coercePool } from '../../../nodepool/spec/coerce.ts';
import { taintId } from '../../../nodepool/spec/taints.ts';
import { isSelectorKnown, validatePool } from '../../../nodepool/spec/validation.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import type { Node, NodePool } from '../../../nodepool/types.ts';
import { nodesText } from '../../../print/names.ts';
import { changedNodes } from '../../../print/question.ts';
import { type ClusterPlan, planCluster, planRollouts } from '../../../reconciler/plan/cluster-plan.ts';
import { type Intent, stateAfter } from '../../../reconciler/plan/intent.ts';
import { noExecuteOf } from '../../../reconciler/plan/node-plan.ts';
import { type ClusterState, clusterStateOf } from '../../../reconciler/state/cluster-state.ts';
import { type Approve, NO_CHANGE, type Proposal, planOrError } from '../consent/consent.ts';
import { noMatchWarnings } from '../consent/no-match.ts';
import { deletedClasses, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { leavesText, wideWarning } from '../consent/warnings.ts';
import { allPermitted, valueOrRefusal } from '../refusals.ts';

/** The options of an edit, one type for all of its parts, also for `rollout undo`. */
export interface EditOptions {
  cluster: ClusterPort;
  workloads: () => Promise<WorkloadsPort>;
  /** `client`: the result is what would be written. */
  dryRun: DryRun;
  approve: Approve;
  /** Called with the warnings of each proposal. */
  warn: (warnings: readonly Warning[]) => void;
  /** The command reconciles the pool after the edit; otherwise the controller does, if there is one. */
  reconciles: boolean;
  /** Also plan what a reconcile of the edited pool would do to all its nodes, if they can be read. */
  looksAhead?: boolean;
}

export interface ProposedEdit extends Proposal {
  /** Warnings about a selector that matches the control plane, every node or none. */
  warnings: string[];
  /** Nodes that a reconcile releases after the edit, including earlier ones; undefined without a new selector. */
  released: ReadonlySet<string> | undefined;
  /** The cluster state that was read to look ahead. */
  seen: ClusterState | undefined;
}

interface LeavingNode {
  node: string;
  /** The node's owner after the edit. */
  to: string | undefined;
}

/** Maximum number of leaving nodes in a warning. */
const MAX_NAMED = 5;

/** Reads only what the edited fields need. */
export async function proposeEdit(before: NodePool, after: NodePool, options: EditOptions): Promise<ProposedEdit> {
  // managedFields still has fields that the edit removes, which would count as dropped by the CRD.
  const { managedFields: _managed, ...metadata } = after.metadata as NodePool['metadata'] & { managedFields?: unknown };
  const [was, is] = [coercePool(before), coercePool({ ...after, metadata })];
  let released: LeavingNode[] | undefined;
  let members = new Set<string>();
  const selection: Warning[] = [];
  let reading: Promise<{ state: ClusterState; nodes: Node[] }> | undefined;
  const read = () => {
    reading ??= readState(options);
    return reading;
  };
  const plan = await planOrError(async () => {
    if (!isResumed(was, is) && deepEqual(deciding(was), deciding(is))) return NO_CHANGE;
    const { state, nodes } = await read();
    if (!deepEqual(membershipSelector(was), membershipSelector(is))) {
      members = new Set(state.members(is.metadata.name).map(({ name }) => name));
      released = releasedNodes(state, is);
      selection.push(...[wideWarning(is, nodes) ?? []].flat(), ...noMatchWarnings([is], nodes));
    }
    return planEvictions(state, is);
  });
  const ahead = options.looksAhead ? await valueOrRefusal(read) : undefined;
  const users = await usersOf(was, is, options);
  const { name } = is.metadata;
  const asksImpactOf =
    ahead === undefined || 'refusal' in ahead
      ? undefined
      : planAhead(ahead.value.state, { pools: [name], specs: [is] }, options.cluster.nodes.serverTime());
  const leaving = (released ?? []).filter(({ node }) => members.has(node));
  const changed = changedNodes(asksImpactOf?.nodes ?? []);
  const change = changed.length === 0 ? '' : `, to change ${nodesText(changed)}`;
  const proposed = {
    plan,
    action: `Save pool ${name}${options.reconciles ? ' and reconcile it' : ''}${change}`,
    asksImpactOf,
    warnings: selection.map(warningText),
    released: released && new Set(released.map(({ node }) => node)),
    seen: ahead !== undefined && 'value' in ahead ? ahead.value.state : undefined,
  };
  const opens = requiresNoLabel(was, is) ? [`pool ${name} would require no label: new nodes join automatically`] : [];
  const losses = [
    ...opens,
    ...(leaving.length === 0 ? [] : [leavingText(name, leaving, members.size)]),
    ...users.losses,
  ];
  if (losses.length === 0) return proposed;
  const covers = [...opens, ...leaving.map(({ node }) => leavesText(node)), ...users.covers];
  return { ...proposed, question: { losses, covers, needsYes: [] } };
}

/** All nodes that will change, and the steps of the rollout. */
function planAhead(state: ClusterState, intent: Intent, now: Date): ClusterPlan {
  return { ...planCluster(state, intent), rollouts: planRollouts(state, intent, now) };
}

async function readState({ cluster }: EditOptions) {
  const [pools, nodes] = await allPermitted([cluster.pools.listCoerced(), cluster.nodes.list()]);
  return { state: clusterStateOf(cluster, pools, nodes), nodes };
}

/** Whether a new selector matches nodes without labels, unless it only adds requirements to the previous one. */
function requiresNoLabel(was: NodePool, is: NodePool): boolean {
  const [before, after] = [membershipSelector(was), membershipSelector(is)];
  if (!isSelectorKnown(is) || isEmpty(after) || requiredLabel(after) !== undefined) return false;
  const kept = new Set(partsOf(after).map(({ text }) => text));
  return requiredLabel(before) !== undefined || !partsOf(before).every(({ text }) => kept.has(text));
}

/** What a reconcile of the edited pool would do, only for nodes that get a NoExecute taint by the edit. */
function planEvictions(state: ClusterState, is: NodePool): ClusterPlan {
  const named = [is.metadata.name];
  const dueTaints = noExecuteOf(planCluster(state, { pools: named }).nodes);
  const plan = planCluster(state, { pools: named, specs: [is] });
  return { ...plan, nodes: plan.nodes.filter(node => [...noExecuteOf([node])].some(taint => !dueTaints.has(taint))) };
}

function releasedNodes(state: ClusterState, is: NodePool): LeavingNode[] {
  const { name } = is.metadata;
  const after = stateAfter(state, { pools: [name], specs: [is] });
  return state
    .managedNodes(name)
    .map(({ name: node }) => ({ node, to: after.ownership(node)?.owner }))
    .filter(({ to }) => to !== name)
    .toSorted((a, b) => (a.node < b.node ? -1 : 1));
}

/** `3 of 3 nodes leave pool web: web-1, web-2, web-3; pool all gets 2 of them, no pool gets 1` */
function leavingText(pool: string, leaving: readonly LeavingNode[], members: number): string {
  const shares = [...Map.groupBy(leaving, ({ to }) => to)].toSorted(([, a], [, b]) => b.length - a.length);
  const takers = shares.map(([to, { length }]) => {
    return `${to === undefined ? 'no pool' : `pool ${to}`} takes ${length === leaving.length ? 'them' : length}`;
  });
  const names = firstFew(
    leaving.map(({ node }) => node),
    MAX_NAMED,
  );
  const next = firstFew(takers, MAX_NAMED);
  return `${leaving.length} of ${plural(members, 'node')} leave pool ${pool} with the new selector: ${names}; ${next}`;
}

async function usersOf(was: NodePool, is: NodePool, { cluster, workloads }: EditOptions) {
  if (!was.spec.handler || is.spec.handler) return findRuntimeClassUsers([], workloads);
  const existing = await valueOrRefusal(() => cluster.runtimeClasses.list());
  if ('value' in existing) return findRuntimeClassUsers(deletedClasses([is], existing.value), workloads);
  const theirs = `the RuntimeClass of pool ${is.metadata.name}`;
  const loss = `${theirs} would be deleted, and the workloads that use it are unknown: ${existing.refusal.oneLine}`;
  return { covers: [theirs], losses: [loss] };
}

/** Edits during the pause reach the nodes now; only NoExecute taints evict pods. */
function isResumed(was: NodePool, is: NodePool): boolean {
  const { taints = [], startupTaints = [] } = is.spec;
  return isPaused(was) && !isPaused(is) && [...taints, ...startupTaints].some(({ effect }) => effect === 'NoExecute');
}

/** Labels of spec.labels never change membership of members; an invalid pool leaves its nodes unchanged. */
function deciding(pool: NodePool): object {
  const { taints = [], startupTaints = [], unmanaged = 'Keep', noExecute = 'Immediate' } = pool.spec;
  const isValid = validatePool(pool).length === 0;
  return {
    taints: [taints, startupTaints].map(list => list.filter(({ effect }) => effect === 'NoExecute')),
    selector: membershipSelector(pool),
    unmanaged,
    noExecute,
    isValid,
  };
}

// Whether an edit of a pool can make pods lose their place on its nodes.

/** True for a removed or changed label, a new taint that keeps pods away, or nodes that may leave. */
export function mayCostPods(before: NodePool, after: NodePool): boolean {
  const [was, is] = [coercePool(before), coercePool(after)];
  const kept = new Map(Object.entries(is.spec.labels ?? {}));
  if (Object.entries(was.spec.labels ?? {}).some(([key, value]) => kept.get(key) !== value)) return true;
  const had = new Set(taintsOf(was));
  if (taintsOf(is).some(taint => !had.has(taint))) return true;
  if (is.spec.unmanaged === 'Remove' && was.spec.unmanaged !== 'Remove') return true;
  return !deepEqual(membershipSelector(was), membershipSelector(is));
}

function taintsOf({ spec: { taints = [], startupTaints = [] } }: NodePool): string[] {
  const strict = [...taints, ...startupTaints].filter(({ effect }) => effect !== 'PreferNoSchedule');
  return strict.map(taint => `${taintId(taint)} ${taint.value ?? ''}`);
}
