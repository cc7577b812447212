/** Nodes that a person adds, removes or moves: the labels and all resulting changes are one patch. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { type LabelPatch, labelOf, patchedLabels, withoutSetValues } from '../../nodepool/membership/member-labels.ts';
import type { Ownership } from '../../nodepool/membership/membership.ts';
import { type Change, dueOf, type NodePlan, pastRollout, planMerge } from '../../nodepool/plan/plan.ts';
import { formatRecord } from '../../nodepool/plan/record.ts';
import { isPaused, pausedError } from '../../nodepool/rollout/rollout.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { pausedPool, planForOwner, rulesFor, withNextSteps } from './node-plan.ts';

export interface MembershipChange {
  /** The pool whose reconcile writes it. */
  pool: string;
  /** The pool that is to own the node; undefined: the membership rules decide. */
  to: string | undefined;
  /** The membership labels to set or remove, for the current node. Throws NodepoolError if they must stay. */
  labels: (node: Node, ownership: Ownership) => LabelPatch;
}

/** By node name. */
export type MembershipChanges = ReadonlyMap<string, MembershipChange>;

/** The one patch of a change: labels, removals of the old pool, values of the new one. Throws if impossible. */
export function planMembershipChange(
  state: ClusterState,
  name: string,
  change: MembershipChange,
): NodePlan | undefined {
  const node = state.node(name);
  const ownership = state.ownership(name);
  if (node === undefined || ownership === undefined) return undefined;
  const labels = withoutSetValues(node.labels, change.labels(node, ownership));
  // A pool of the earlier operator owns a node only by its label (membership.ts): now the record says so.
  const record = node.record ?? (ownership.record && formatRecord(ownership.record));
  const relabelled: Node = {
    ...node,
    labels: patchedLabels(node.labels, labels),
    ...(record === undefined ? {} : { record }),
  };
  const found = state.poolIndex.ownership(relabelled);
  // A node that joins such a pool has no values of the pool yet.
  const after = record === undefined ? { ...found, record: undefined } : found;
  const plan =
    change.to === undefined ? planForOwner(state, relabelled, after) : planForPool(state, relabelled, after, change.to);
  const whose = { node, owner: plan.owner, previous: plan.previous };
  const patch = { resourceVersion: node.resourceVersion, labels };
  const isRelabelled = Object.keys(labels).length > 0;
  const first: NodePlan = isRelabelled
    ? { ...whose, kind: 'write', changes: changesOf(node, labels), patch }
    : { ...whose, kind: 'same' };
  // A change that a person requested for a named node waits for no slot.
  const whole = pastRollout(withNextSteps(state, [first, plan]));
  if (dueOf(whole)?.kind === 'write') assertNotPaused(state, whole, ownership);
  return whole;
}

function assertNotPaused(state: ClusterState, plan: NodePlan, before: Ownership): void {
  const isReleasing = before.record !== undefined && !state.isActive(before.record.pool);
  const paused = plan.kind === 'paused' ? plan.pool : isReleasing ? undefined : pausedPool(state, before);
  if (paused !== undefined) throw pausedError(`node ${plan.node.name} is not changed`, paused);
}

/** Plans the node for the pool of the change, whichever other pools match it. */
function planForPool(state: ClusterState, node: Node, { record, owner, conflicting }: Ownership, to: string): NodePlan {
  // Without the stops of its rollouts: they do not apply to nodes that a person named.
  const { status: _stops, ...pool } = poolForNodes(state, to);
  const rivals = [owner, ...conflicting].flatMap(rival => (rival === to ? [] : (poolOf(state, rival) ?? [])));
  const rules = rulesFor(state, record?.pool, pool);
  return planMerge(node, record, pool, rivals, false, rules, state.births.of(node, pool));
}

function poolOf(state: ClusterState, name: string | undefined): NodePool | undefined {
  return name === undefined ? undefined : state.pool(name);
}

/** Throws NodepoolError if the pool may not get nodes. */
export function poolForNodes(state: ClusterState, name: string): NodePool {
  const pool = state.pool(name);
  if (pool === undefined) throw new NodepoolError('cluster', `pool ${name} was deleted meanwhile`);
  if (pool.metadata.deletionTimestamp !== undefined) {
    throw new NodepoolError('input', `pool ${name} is being deleted`, 'use another pool');
  }
  assertWhole(pool);
  if (isPaused(pool)) throw pausedError('no node is added', name);
  const [wrong] = state.poolIndex.errors(name);
  if (wrong === undefined) return pool;
  throw new NodepoolError(
    'input',
    `pool ${name} gets no nodes while its spec is invalid: ${wrong.field}: ${wrong.message}`,
    `fix the spec with \`kubectl nodepool edit ${name}\``,
  );
}

function changesOf(node: Node, labels: LabelPatch): Change[] {
  return Object.entries(labels).map(([key, to]): Change => {
    const from = labelOf(node, key);
    return {
      kind: 'label',
      key,
      action: to === null ? 'remove' : from === undefined ? 'add' : 'change',
      ...(from === undefined ? {} : { from }),
      ...(to === null ? {} : { to }),
      reason: 'membership',
    };
  });
}
