/** The plan of a command for the whole cluster, for display, comparison and dry runs. Planning writes nothing. */
import { defined } from '../../nodepool/json.ts';
import { allChanges, type DuePlan, dueOf } from '../../nodepool/plan/plan.ts';
import {
  planRuntimeClass,
  type RuntimeClassPlan,
  runtimeClassName,
  type SchedulingChange,
  schedulingChange,
} from '../../nodepool/plan/runtime-class.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { RolloutStep } from '../../nodepool/rollout/rollout-step.ts';
import type { FieldError } from '../../nodepool/spec/field-error.ts';
import { specKeys } from '../../nodepool/status/status.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { type BlockedNode, blockedOf } from './blocked.ts';
import { type Intent, nodesOf, stateAfter, stateBefore } from './intent.ts';
import { planMembershipChange } from './membership-change.ts';
import { nodePlan } from './node-plan.ts';
import { recordedMembers, rolloutStepOf } from './rollout-plan.ts';

export interface ClusterPlan {
  /** Nodes to write, by name. Those with a drain but no patch are written after their pods are evicted. */
  nodes: DuePlan[];
  /** Nodes that are not written yet: their pool is paused, or they have no slot in a rollout yet. */
  later: LaterPlan[];
  /** Pools whose rollout is not complete, or has a step now. */
  rollouts: PlannedRollout[];
  /** Nodes that a pool matches and another pool owns. */
  conflicts: { node: string; pool: string; owner: string; notApplied: string[] }[];
  runtimeClasses: PlannedRuntimeClass[];
  /** Pools that are not applied, because their spec is invalid. */
  invalid: { pool: string; errors: FieldError[] }[];
  /** Nodes that are not written until a user changes them or a pool, except those of pools in `invalid`. */
  blocked: BlockedNode[];
}

export type LaterPlan = DuePlan & {
  /** The paused pool; undefined if the node has no slot in a rollout yet. */
  pausedBy?: string;
};

export interface PlannedRuntimeClass {
  name: string;
  kind: Exclude<RuntimeClassPlan['kind'], 'none'>;
  /** Changes for its pods; absent if there are none, or if it is deleted. */
  change?: SchedulingChange;
}

/** Final plans, including nodes that wait for a slot in a rollout, but not nodes of paused pools. */
export function plansToTheEnd({ nodes, later }: ClusterPlan): DuePlan[] {
  return [...nodes, ...later.filter(({ pausedBy }) => pausedBy === undefined)];
}

export interface PlannedRollout extends RolloutStep {
  pool: string;
}

/** Throws NodepoolError for an impossible membership change. @param now for rollouts; default: no node has a slot */
export function planCluster(state: ClusterState, intent: Intent, now?: Date): ClusterPlan {
  const after = stateAfter(state, intent);
  const plans = nodesOf(intent, stateBefore(state, intent), after).flatMap(name => {
    const change = intent.changes?.get(name);
    return (change === undefined ? nodePlan(after, name) : planMembershipChange(after, name, change)) ?? [];
  });
  const rollouts = now === undefined ? [] : rolloutsOf(after, intent.pools, now);
  const next = new Set(rollouts.flatMap(rollout => rollout.next));
  const nodes: DuePlan[] = [];
  const later: LaterPlan[] = [];
  for (const plan of plans) {
    const due = dueOf(plan);
    if (due === undefined) continue;
    const isNow = now === undefined || plan.kind !== 'rollout step' || next.has(plan.node.name);
    if (isNow && plan.kind !== 'paused') {
      nodes.push(due);
      continue;
    }
    if (allChanges(due).length > 0) later.push(plan.kind === 'paused' ? { ...due, pausedBy: plan.pool } : due);
    const meanwhile = plan.kind === 'rollout step' ? dueOf(plan.meanwhile) : undefined;
    if (meanwhile !== undefined) nodes.push(meanwhile);
  }
  return {
    nodes,
    later,
    rollouts,
    blocked: plans.flatMap(plan => {
      const blocked = blockedOf(after, plan);
      return blocked === undefined || blocked.kind === 'invalid' ? [] : { node: plan.node.name, ...blocked };
    }),
    ...(intent.changes === undefined || intent.isDeletion === true
      ? ofPools(after, intent.pools)
      : { conflicts: [], runtimeClasses: [], invalid: [] }),
  };
}

/** As `rollouts` of planCluster(), without planning the nodes. */
export function planRollouts(state: ClusterState, intent: Intent, now: Date): PlannedRollout[] {
  return rolloutsOf(stateAfter(state, intent), intent.pools, now);
}

function rolloutsOf(state: ClusterState, pools: readonly string[], now: Date): PlannedRollout[] {
  return pools.flatMap(name => {
    const pool = state.pool(name);
    if (pool?.spec.rollout === undefined || isPaused(pool) || state.poolIndex.errors(name).length > 0) return [];
    const step = rolloutStepOf(state, pool, now);
    return step.pending + step.settling === 0 ? [] : [{ pool: name, ...step }];
  });
}

function ofPools(state: ClusterState, pools: readonly string[]) {
  // A pool that is being deleted is released even if its spec is invalid.
  const errorsOf = (name: string) => (state.isActive(name) ? state.poolIndex.errors(name) : []);
  return {
    conflicts: pools.flatMap(name => {
      const pool = state.pool(name);
      const notApplied = pool === undefined ? [] : specKeys(pool);
      return state
        .lost(name)
        .map(({ node, owner }) => ({ node: node.name, pool: name, owner: owner.metadata.name, notApplied }));
    }),
    runtimeClasses: pools.flatMap(name => {
      const pool = state.pool(name);
      if (pool === undefined || errorsOf(name).length > 0) return [];
      const planned = planRuntimeClass(pool, state.runtimeClass(runtimeClassName(name)), recordedMembers(pool, state));
      if (planned.kind === 'none') return [];
      return [{ name: runtimeClassName(name), kind: planned.kind, ...defined({ change: schedulingChange(planned) }) }];
    }),
    invalid: pools.map(pool => ({ pool, errors: errorsOf(pool) })).filter(({ errors }) => errors.length > 0),
  };
}
