/** The labels of a pool can make a node join or leave another pool: all resulting changes are one patch. */
import { NodepoolError } from '../../nodepool/errors.ts';
import { deepEqual, defined } from '../../nodepool/json.ts';
import { patchedLabels, withoutSetValues } from '../../nodepool/membership/member-labels.ts';
import type { Ownership } from '../../nodepool/membership/membership.ts';
import type { PlanRules } from '../../nodepool/plan/merge-slots.ts';
import {
  allChanges,
  type Change,
  type DuePlan,
  dueOf,
  endOf,
  isRolloutStep,
  isUnread,
  type NodePatch,
  type NodePlan,
  planMerge,
  type RolloutStepPlan,
  waiting,
} from '../../nodepool/plan/plan.ts';
import { planWhileWaiting } from '../../nodepool/plan/plan-while-waiting.ts';
import { transientKeysOf } from '../../nodepool/plan/transient-states.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { arrivingNoExecute } from '../../nodepool/spec/taints.ts';
import type { Node, NodePool, Taint } from '../../nodepool/types.ts';
import type { ClusterState } from '../state/cluster-state.ts';

/** A change of the node, or of any pool's spec, replaces the ownership object. */
const plans = new WeakMap<Ownership, NodePlan>();

/** Undefined if the node is not known. @param isCleared see planMerge() */
export function nodePlan(state: ClusterState, name: string, isCleared = false): NodePlan | undefined {
  const node = state.node(name);
  const ownership = state.ownership(name);
  if (node === undefined || ownership === undefined) return undefined;
  const known = isCleared ? undefined : plans.get(ownership);
  if (known !== undefined) return known;
  const plan = withNextSteps(state, [planForOwner(state, node, ownership, isCleared)]);
  const whole =
    plan.kind === 'rollout step' ? { ...plan, ...defined({ meanwhile: planUntilSlot(state, node, ownership) }) } : plan;
  if (!isCleared) plans.set(ownership, whole);
  return whole;
}

/** The write for a member that waits for its slot in a rollout. None if it would move the node to another pool. */
function planUntilSlot(state: ClusterState, node: Node, { owner, record }: Ownership): RolloutStepPlan['meanwhile'] {
  const pool = owner === undefined ? undefined : state.pool(owner);
  if (pool === undefined || record === undefined || record.pool !== owner) return undefined;
  const plan = planWhileWaiting(node, record, pool, rulesFor(state, owner, pool), state.births.of(node, pool));
  if (plan.kind === 'same') return undefined;
  const { patch } = plan.kind === 'unread' ? plan.after : plan;
  const mayMove = patch?.labels !== undefined && state.poolIndex.affectsMembership(patch.labels);
  return mayMove && state.poolIndex.ownership(patchedNode(node, patch)).owner !== owner ? undefined : plan;
}

/** Whether there is something to write or to report: each run reports a plan that cannot be written. */
export function isDue(plan: NodePlan | undefined): boolean {
  return plan !== undefined && plan.kind !== 'paused' && plan.kind !== 'same';
}

/** Whether the plan may have to wait without a failure: for a resume, a slot in a rollout, or pods. */
export function mayWait(plan: NodePlan): boolean {
  switch (plan.kind) {
    case 'paused':
    case 'rollout step':
    case 'drain':
      return true;
    case 'unread':
      return mayWait(plan.after);
    case 'write':
      return plan.drain !== undefined;
    case 'oversized':
      return plan.isRolloutStep;
    case 'circle':
    case 'same':
      return false;
  }
}

/** Whether labels, taints or annotations differ from the pool. A difference in the record does not count. */
export function differs(plan: NodePlan): boolean {
  switch (plan.kind) {
    case 'paused':
    case 'rollout step':
    case 'unread':
      return differs(plan.after);
    case 'drain':
    case 'write':
      return allChanges(plan).length > 0;
    case 'circle':
    case 'oversized':
      return true;
    case 'same':
      return false;
  }
}

/** Names of the members whose labels, taints or annotations differ from the pool. */
export function differing(state: ClusterState, pool: string): string[] {
  return state.members(pool).flatMap(({ name }) => {
    const plan = nodePlan(state, name);
    return plan !== undefined && differs(plan) ? name : [];
  });
}

/** The plan of the owner only. @param isCleared see planMerge() */
export function planForOwner(state: ClusterState, node: Node, ownership: Ownership, isCleared = false): NodePlan {
  const paused = pausedPool(state, ownership);
  const { record } = ownership;
  // A deleted pool still releases the node; the values of the paused pool have to wait.
  if (paused !== undefined && record !== undefined && !state.isActive(record.pool))
    return planMerge(node, record, undefined, [], false, rulesFor(state, record.pool, undefined));
  const plan = planUnlessInvalid(state, node, ownership, isCleared);
  return paused === undefined ? plan : behindPause(plan, paused);
}

function behindPause(plan: NodePlan, pool: string): NodePlan {
  const { kind, node, owner, previous } = plan;
  if (kind === 'same' || kind === 'circle' || kind === 'paused') return plan;
  return { kind: 'paused', pool, node, owner, previous, after: plan };
}

/** The paused pool that forbids a write of the node: its current owner, or its next one. */
export function pausedPool(state: ClusterState, { record, owner }: Ownership): string | undefined {
  const pools = [record?.pool, owner].flatMap(name => (name === undefined ? [] : (state.pool(name) ?? [])));
  return pools.find(isPaused)?.metadata.name;
}

/** @param holder the pool of the record */
export function rulesFor(state: ClusterState, holder: string | undefined, owner: NodePool | undefined): PlanRules {
  const { transient = [] } = state.rules;
  const holderPool = holder === undefined || holder === owner?.metadata.name ? undefined : state.pool(holder);
  const more = [...transientKeysOf(owner), ...transientKeysOf(holderPool)];
  return more.length === 0 ? state.rules : { ...state.rules, transient: [...transient, ...more] };
}

function planUnlessInvalid(state: ClusterState, node: Node, ownership: Ownership, isCleared: boolean): NodePlan {
  const owner = ownership.owner === undefined ? undefined : state.pool(ownership.owner);
  const rivals =
    ownership.conflicting.length === 0 ? [] : ownership.conflicting.flatMap(other => state.pool(other) ?? []);
  const plan = planMerge(
    node,
    ownership.record,
    owner,
    rivals,
    isCleared,
    rulesFor(state, ownership.record?.pool, owner),
    state.births.of(node, owner),
  );
  // A pool with an invalid spec does not change its nodes.
  const frozen = ownership.owner !== undefined && state.poolIndex.errors(ownership.owner).length > 0;
  if (!frozen || plan.kind === 'oversized') return plan;
  return { kind: 'same', node, owner: plan.owner, previous: plan.previous };
}

/** Longer chains of pools count as cycles. */
const MAX_STEPS = 10;

/** The steps and all resulting steps, as one plan for the node of the first. */
export function withNextSteps(state: ClusterState, steps: [NodePlan, ...NodePlan[]]): NodePlan {
  const all = [...steps];
  let last = endOf(steps.at(-1) ?? steps[0]);
  // Usually no pool selects by the labels that are set.
  while (last.kind === 'write' && last.patch.labels && state.poolIndex.affectsMembership(last.patch.labels)) {
    const node = patchedNode(last.node, last.patch);
    const step = planForOwner(state, node, state.poolIndex.ownership(node));
    last = endOf(step);
    // A step that cannot be written cancels the plan: otherwise the node would be left between two pools.
    if (last.kind !== 'write' && last.kind !== 'oversized') break;
    // A released node is not between two pools.
    if (step.kind === 'paused' && all.at(-1)?.owner === undefined) break;
    all.push(step);
    if (all.length > MAX_STEPS) return circular(steps[0], all);
  }
  return all.length === 1 ? steps[0] : composed(steps[0], all);
}

function composed({ node, previous }: NodePlan, steps: NodePlan[]): NodePlan {
  const whole = composedSteps(node, previous, steps);
  const paused = steps.find(step => step.kind === 'paused');
  return paused === undefined ? whole : behindPause(whole, paused.pool);
}

function composedSteps(node: Node, previous: string | undefined, steps: NodePlan[]): NodePlan {
  const ends = steps.map(endOf);
  const isOfRollout = steps.some(isRolloutStep);
  const full = ends.find(end => end.kind === 'oversized');
  if (full !== undefined)
    return { kind: 'oversized', pool: full.pool, node, owner: previous, previous, isRolloutStep: isOfRollout };
  const due = steps.flatMap(step => dueOf(step) ?? []);
  const patch: NodePatch = { resourceVersion: node.resourceVersion };
  for (const step of due) {
    const { labels, taints, annotations, record, dropsBirthRecord } = step.patch ?? {};
    if (labels !== undefined) patch.labels = { ...patch.labels, ...labels };
    if (annotations !== undefined) patch.annotations = { ...patch.annotations, ...annotations };
    if (taints !== undefined) patch.taints = taints;
    if (record !== undefined) patch.record = record;
    if (dropsBirthRecord !== undefined) patch.dropsBirthRecord = dropsBirthRecord;
  }
  patch.labels = withoutSetValues(node.labels, patch.labels ?? {});
  if (Object.keys(patch.labels).length === 0) delete patch.labels;
  patch.annotations = withoutSetValues(node.annotations ?? {}, patch.annotations ?? {});
  if (Object.keys(patch.annotations).length === 0) delete patch.annotations;
  if (deepEqual(patch.taints, node.taints)) delete patch.taints;
  if (patch.record === (node.record ?? null)) delete patch.record;
  const changes = composedChanges(due.flatMap(step => step.changes));
  const withheld = due.flatMap(step => (step.kind === 'write' ? (step.withheld ?? []) : []));
  const what = {
    changes,
    ...defined({ drain: dueOf(steps.at(-1))?.drain }),
    ...(withheld.length > 0 ? { withheld } : {}),
  };
  const isSame = Object.keys(patch).length === 1;
  const owner = steps.at(-1)?.owner;
  return waiting({ node, owner, previous }, isSame ? what : { ...what, patch }, {
    isUnread: steps.some(isUnread),
    isRolloutStep: isOfRollout,
  });
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
  const pools = [...new Set(owners)].toSorted();
  return { kind: 'circle', node, owner: previous, previous, pools };
}

export function patchedNode(node: Node, patch: NodePatch): Node {
  const { record: _record, birthRecord: _birthRecord, annotations: _annotations, ...rest } = node;
  const record = patch.record === undefined ? node.record : (patch.record ?? undefined);
  return {
    ...rest,
    labels: patchedLabels(node.labels, patch.labels ?? {}),
    taints: patch.taints ?? node.taints,
    ...patchedAnnotations(node, patch),
    ...(record === undefined ? {} : { record }),
    ...(node.birthRecord === undefined || patch.dropsBirthRecord ? {} : { birthRecord: node.birthRecord }),
  };
}

function patchedAnnotations({ annotations }: Node, patch: NodePatch): { annotations?: Record<string, string> } {
  if (patch.annotations === undefined) return annotations === undefined ? {} : { annotations };
  return { annotations: patchedLabels(annotations ?? {}, patch.annotations) };
}

// Consent to NoExecute taints, which evict pods: the consent that a plan needs, and whether it was given.

/** Suffix in noExecuteOf() for a taint that is set after evictions. */
const AFTER_EVICTIONS = ' after evictions';

/** In the form `node key=value:NoExecute`. `noExecute: Drain` needs a separate consent: with AFTER_EVICTIONS. */
export function noExecuteOf(plans: readonly DuePlan[]): Set<string> {
  return new Set(
    plans.flatMap(plan => {
      const { node, patch, drain } = plan;
      const text = (taint: Taint) => `${node.name} ${formatTaint(taint)}`;
      const arriving = arrivingNoExecute(node.taints, patch?.taints ?? []).map(text);
      const later = (drain?.taints ?? []).map(text);
      return plan.kind === 'write' && plan.isCleared ? arriving.map(drained) : [...arriving, ...later.map(drained)];
    }),
  );
}

function drained(taint: string): string {
  return taint + AFTER_EVICTIONS;
}

/** Throws if the plan adds a NoExecute taint without consent. @param consent undefined: consent to all */
export function assertConsent(plan: DuePlan, consent: ReadonlySet<string> | undefined): void {
  if (consent === undefined) return;
  const isCovered = (taint: string) => consent.has(taint) || consent.has(taint.replace(AFTER_EVICTIONS, ''));
  const first = [...noExecuteOf([plan])].find(taint => !isCovered(taint));
  if (first === undefined) return;
  throw new NodepoolError(
    'cluster',
    `node ${plan.node.name} was changed meanwhile and was not written: it would now get the taint ${first.split(' ')[1]}, which was not shown before`,
    'run the command again to see which pods that would evict',
  );
}
