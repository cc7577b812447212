/**
 * Plans the changes of one node by a three-way merge of labels, taints and annotations: what was applied (the record),
 * what is desired (the owner's spec) and what is live.
 *
 * - A slot (key, or taint `key:Effect`) in the spec is set; the value that it displaces is stored in the record.
 * - A slot that left the spec, or whose pool released the node, gets the displaced value back. If someone else has
 *   changed it since, it stays.
 * - A slot in neither the spec nor the record is not changed, except a label or taint with `unmanaged: Remove`.
 *
 * Startup taints are not merged: see startup-taints.ts. Nor are taints that wait until pods are evicted: see
 * no-execute.ts.
 */
import { defined } from '../json.ts';
import { keysOf, memberLabels, membershipSelector } from '../membership/selector.ts';
import { stoppedRollout } from '../rollout/rollout.ts';
import { areAnnotationsKnown } from '../spec/annotations.ts';
import { isSameTaint, taintFrom, taintId } from '../spec/taints.ts';
import type { Node, NodePool, Taint } from '../types.ts';
import { type Change, describeWrite, isOfSpec } from './change.ts';
import {
  ANNOTATION_POLICY,
  labelPolicy,
  mergeSlots,
  type PlanRules,
  type SlotPolicy,
  type SlotWrite,
} from './merge-slots.ts';
import { drainingTaints, isOfDrain } from './no-execute.ts';
import { planTaints, removeUnmanaged, rewriteTaints } from './plan-taints.ts';
import {
  type AppliedRecord,
  type AppliedSlot,
  formatRecord,
  isOversized,
  MAX_CHANGE_LENGTH,
  MAX_SINCE_LENGTH,
  NO_SLOTS,
  rolloutChangeOf,
} from './record.ts';
import { type Birth, isStartupApplied, LONG_REGISTERED } from './startup-taints.ts';
import { withoutPassed } from './transient-states.ts';

export type { Change, FieldSetter } from './change.ts';

/** A merge patch of one node; null deletes. The server rejects it if resourceVersion has changed. */
export interface NodePatch {
  resourceVersion: string;
  labels?: Record<string, string | null>;
  /** The complete list, because spec.taints is an atomic list. */
  taints?: Taint[];
  /** Without the record. */
  annotations?: Record<string, string | null>;
  /** The new value of the record annotation. */
  record?: string | null;
  /** The record replaces the birth record. */
  dropsBirthRecord?: true;
  unschedulable?: boolean;
  /** The new value of the maintenance annotation. */
  maintenance?: string | null;
}

/** The kind is the first reason not to write, in this order. `after`: the plan once that reason is gone. */
export type NodePlan = PausedPlan | CirclePlan | OversizedPlan | RolloutStepPlan | UnreadPlan | DuePlan | SamePlan;

/** A plan that can be executed now. */
export type DuePlan = WritePlan | DrainPlan;

export interface PlannedNode {
  node: Node;
  /** The owner after the plan. */
  owner: string | undefined;
  /** The pool that owned the node before. */
  previous: string | undefined;
}

/** A pool is paused: nothing must be written. */
interface PausedPlan extends PlannedNode {
  kind: 'paused';
  pool: string;
  after: OversizedPlan | RolloutStepPlan | UnreadPlan | DuePlan;
}

/** The labels of these pools would move the node in an endless cycle: nothing must be written. */
export interface CirclePlan extends PlannedNode {
  kind: 'circle';
  pools: readonly string[];
}

/** The record would exceed its limits: nothing must be written, and each run reports it. */
interface OversizedPlan extends PlannedNode {
  kind: 'oversized';
  /** The pool of that record. */
  pool: string;
  /** The plan would be a step of a rollout. */
  isRolloutStep: boolean;
}

/** A step of a rollout: the spec of a pool with spec.rollout changed, and this member needs a slot first. */
export interface RolloutStepPlan extends PlannedNode {
  kind: 'rollout step';
  after: UnreadPlan | DuePlan;
  /** What is written while the step waits, if anything: see planWhileWaiting(). */
  meanwhile?: UnreadPlan | WritePlan;
}

/** The pool's annotations were not kept when the node was read: read the node again before the write. */
export interface UnreadPlan extends PlannedNode {
  kind: 'unread';
  after: DuePlan;
}

/** Nothing is written until pods are evicted. */
export interface DrainPlan extends PlannedNode {
  kind: 'drain';
  /** Always empty. */
  changes: Change[];
  patch?: undefined;
  drain: PlannedDrain;
}

export interface WritePlan extends PlannedNode {
  kind: 'write';
  /** Empty if only the record is written. */
  changes: Change[];
  patch: NodePatch;
  /** Begins or continues after the write. */
  drain?: PlannedDrain;
  /** Sets the taints that waited, because the pods that they would evict are gone. */
  isCleared?: true;
  /** NoExecute taints that the pool displaced and does not restore, because nobody agreed to evictions. */
  withheld?: Taint[];
}

export interface SamePlan extends PlannedNode {
  kind: 'same';
}

/** The plan after all reasons to wait are gone. */
export function endOf(plan: NodePlan): CirclePlan | OversizedPlan | DuePlan | SamePlan {
  return 'after' in plan ? endOf(plan.after) : plan;
}

/** The executable part of the plan after all waiting; undefined if nothing is to be done, or can be done. */
export function dueOf(plan: NodePlan | undefined): DuePlan | undefined {
  const end = plan && endOf(plan);
  return end?.kind === 'write' || end?.kind === 'drain' ? end : undefined;
}

/** The plan after it has its slot in a rollout, or if it needs none. */
export function pastRollout(plan: NodePlan): Exclude<NodePlan, RolloutStepPlan> {
  return plan.kind === 'rollout step' ? plan.after : plan;
}

/** Whether it is a step of a rollout, whatever else prevents the write. */
export function isRolloutStep(plan: NodePlan | undefined): boolean {
  switch (plan?.kind) {
    case 'paused':
      return isRolloutStep(plan.after);
    case 'oversized':
      return plan.isRolloutStep;
    default:
      return plan?.kind === 'rollout step';
  }
}

/** Whether the node must be read first, whatever else prevents the write. */
export function isUnread(plan: NodePlan): boolean {
  return plan.kind === 'unread' || ('after' in plan && isUnread(plan.after));
}

/** Whether pods are evicted before a taint is set. In a rollout, the node may still have to wait for a slot. */
export function hasBegunDrain(plan: NodePlan): boolean {
  return plan.kind !== 'paused' && dueOf(plan)?.drain?.hasBegun === true;
}

/** All changes, including those after the eviction of pods. */
export function allChanges(plan: Pick<DuePlan, 'changes' | 'drain'> | undefined): Change[] {
  if (plan?.drain === undefined) return plan?.changes ?? [];
  return [...plan.changes, ...plan.drain.changes];
}

/** Taints that wait until the pods that they would evict are gone. */
interface PlannedDrain {
  /** The taints as in the spec. */
  taints: Taint[];
  /** Not contained in the changes of the plan. */
  changes: Change[];
  /** The record has it: pods are being evicted. */
  hasBegun: boolean;
  /** RFC 3339: start of the drain, if the record has it. */
  since?: string;
}

/**
 * @param record what is currently applied, from `PoolIndex.ownership`
 * @param pool that owns the node; undefined releases the node
 * @param rivals the other pools that match the node: labels of their selectors are never stripped
 * @param rules of the command, and of the pools of the record and of the owner
 * @param isCleared whether no pod is left that the waiting taints in the record would evict
 * @param birth whether the node gets startup taints
 */
export function planMerge(
  node: Node,
  record: AppliedRecord | undefined,
  pool: NodePool | undefined,
  rivals: readonly NodePool[] = [],
  isCleared = false,
  rules: PlanRules = {},
  birth: Birth = LONG_REGISTERED,
): NodePlan {
  if (record !== undefined && pool !== undefined && isApplied(node, record, pool))
    return { kind: 'same', node, owner: pool.metadata.name, previous: previousPool(node, record, pool) };
  const leaving = record !== undefined && record.pool !== pool?.metadata.name;
  const owner = pool && withoutPassed(pool, node, leaving ? undefined : record, birth, rules.transient);
  const whose: PlannedNode = { node, owner: owner?.metadata.name, previous: previousPool(node, record, owner) };
  if (record === undefined && owner === undefined) return { ...whose, kind: 'same' };
  const policy = labelPolicy(rules);
  const labels = mergeSlots(
    policy,
    leaving,
    record?.labels,
    desiredLabels(node, record, owner, rivals, policy),
    new Map(Object.entries(node.labels)),
  );
  const taints = planTaints(node, record, owner, leaving, isCleared, rules, birth);
  const desired = new Map(Object.entries(owner?.spec.annotations ?? {}));
  const live = new Map(Object.entries(node.annotations ?? {}));
  const annotations = mergeSlots(ANNOTATION_POLICY, leaving, record?.annotations, desired, live);

  const changes = [
    ...labels.writes.map(write => describeWrite('label', write, leaving)),
    ...taints.writes.map(write => describeWrite('taint', write, leaving)),
    ...annotations.writes.map(write => describeWrite('annotation', write, leaving)),
  ];
  const isKnown = areAnnotationsKnown(node, record?.annotations, desired.keys());
  const withheld =
    taints.withheld.size > 0 ? { withheld: [...taints.withheld].map(([id, value]) => taintFrom(id, value)) } : {};
  if (record === undefined && pool !== undefined && joinsWithoutSpec(pool, node, birth)) {
    const empty = { labels: NO_SLOTS, taints: NO_SLOTS, annotations: NO_SLOTS };
    const joined = formatRecord({ pool: pool.metadata.name, ...empty, startup: taints.startup });
    const patch = { resourceVersion: node.resourceVersion, record: joined };
    return waiting(whose, { changes: [], patch, ...withheld }, { isUnread: !isKnown });
  }
  const { deferred, draining } = taints;
  const drainingSince = deferred?.hasBegun ? record?.drainingSince : undefined;
  const afterDrain = (deferred?.writes ?? []).map(write => describeWrite('taint', write, leaving));
  const drain = deferred &&
    draining && {
      taints: drainingTaints(draining),
      changes: [...afterDrain, ...deferred.lifted.map(write => describeWrite('taint', write, false))],
      hasBegun: deferred.hasBegun,
      ...defined({ since: drainingSince }),
    };
  // The first write completes what the node got at registration: the node joins.
  const isMember = !leaving && record !== undefined && node.birthRecord !== 'record';
  const isDrained = afterDrain.some(isOfSpec);
  const isChanged = changes.some(change => isOfSpec(change) && !isOfDrain(change, deferred));
  const isNewSpec = isMember && (isChanged || (isDrained && !deferred?.hasBegun));
  // A drain that has begun had its slot, or needed none. If it had one, the record has its time.
  const needsSlot = isNewSpec || (isMember && isDrained && record.changed !== undefined);
  const isRolledOut = needsSlot && owner?.spec.rollout !== undefined;
  const known = leaving ? undefined : record?.generation;
  const merged: AppliedRecord | undefined = owner && {
    pool: owner.metadata.name,
    ...(known === undefined ? {} : { generation: known }),
    labels: labels.applied,
    taints: taints.applied,
    annotations: annotations.applied,
    startup: taints.startup,
    ...defined({ boot: taints.boot }),
    ...(leaving || isNewSpec || record === undefined ? {} : rolloutChangeOf(record)),
    ...(draining === undefined ? {} : { draining, ...defined({ drainingSince }) }),
  };
  const { generation } = owner?.metadata ?? {};
  // A new generation alone does not require a write of the record. A generation that the pool never had is corrected by
  // the next write: see StalePools.
  const isForged = (known ?? 0) > (generation ?? Number.POSITIVE_INFINITY) && changes.length > 0;
  const isRecordDue = isForged || (merged && formatRecord(merged)) !== node.record;
  const applied = merged && isRecordDue && generation !== undefined ? { ...merged, generation } : merged;
  const next = applied && formatRecord(applied);
  const addedLater = (isRolledOut ? MAX_CHANGE_LENGTH : 0) + (draining === undefined ? 0 : MAX_SINCE_LENGTH);
  if (applied !== undefined && next !== undefined && isOversized(applied, next, addedLater))
    return { ...whose, kind: 'oversized', pool: applied.pool, isRolloutStep: isRolledOut };
  const patch: NodePatch = {
    ...patchOf(node, labels.writes, taints.writes, annotations.writes),
    ...(isRecordDue
      ? { record: next ?? null, ...(node.birthRecord === undefined ? {} : { dropsBirthRecord: true }) }
      : {}),
  };
  const cleared = deferred !== undefined && draining === undefined ? { isCleared: true as const } : {};
  const what = { changes, ...defined({ drain }), ...cleared, ...withheld };
  const flags = { isUnread: !isKnown, isRolloutStep: isRolledOut };
  return waiting(whose, changes.length > 0 || isRecordDue ? { ...what, patch } : what, flags);
}

/** The plan for the node, wrapped in the reasons that prevent it. */
export function waiting(
  { node, owner, previous }: PlannedNode,
  {
    patch,
    changes,
    drain,
    ...more
  }: Pick<WritePlan, 'changes' | 'drain' | 'isCleared' | 'withheld'> & { patch?: NodePatch },
  flags: { isUnread: boolean; isRolloutStep?: boolean },
): SamePlan | RolloutStepPlan | UnreadPlan | DuePlan {
  const whose: PlannedNode = { node, owner, previous };
  const due: DuePlan | undefined =
    patch !== undefined
      ? { ...whose, kind: 'write', changes, patch, ...defined({ drain }), ...more }
      : drain && { ...whose, kind: 'drain', changes: [], drain };
  if (due === undefined) return { ...whose, kind: 'same' };
  const after: UnreadPlan | DuePlan = flags.isUnread ? { ...whose, kind: 'unread', after: due } : due;
  return flags.isRolloutStep ? { ...whose, kind: 'rollout step', after } : after;
}

/** Without the record. */
export function patchOf(
  { resourceVersion, taints: live }: Node,
  labels: readonly SlotWrite[],
  taints: SlotWrite[],
  annotations: readonly SlotWrite[],
): NodePatch {
  return {
    resourceVersion,
    ...(labels.length > 0 ? { labels: valuesOf(labels) } : {}),
    ...(taints.length > 0 ? { taints: rewriteTaints(live, taints) } : {}),
    ...(annotations.length > 0 ? { annotations: valuesOf(annotations) } : {}),
  };
}

function valuesOf(writes: readonly SlotWrite[]): Record<string, string | null> {
  return Object.fromEntries(writes.map(({ id, to }) => [id, to]));
}

/**
 * Whether a running node joins without the spec, as a member that waits for its slot: the rollout is stopped, and the
 * node lost its label for a second, for example. New nodes get the spec anyway: otherwise they would run without the
 * pool's taints.
 */
function joinsWithoutSpec(pool: NodePool, { creationTimestamp }: Node, { isYoung, wasMember }: Birth): boolean {
  const stop = pool.spec.rollout === undefined ? undefined : stoppedRollout(pool);
  return stop !== undefined && (wasMember || (!isYoung && Date.parse(creationTimestamp) <= stop.at));
}

/** A node that registered into its pool joins it with the first write. */
function previousPool(
  { birthRecord }: Node,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
): string | undefined {
  return birthRecord === 'record' && record?.pool === owner?.metadata.name ? undefined : record?.pool;
}

/**
 * A fast check that nothing has to change, which is true for nearly all nodes. False means that a merge is needed. What
 * withoutPassed() would leave out is not applied, so it is not needed here.
 */
function isApplied(node: Node, record: AppliedRecord, owner: NodePool): boolean {
  return isSpecApplied(node, record, owner) && formatRecord(record) === node.record;
}

/** Whether the node has what the spec wants, so that a plan changes at most the text of its record. False: it may have. */
export function isSpecApplied(node: Node, record: AppliedRecord, owner: NodePool): boolean {
  const { metadata, spec } = owner;
  if (record.pool !== metadata.name || spec.unmanaged === 'Remove' || record.draining !== undefined) return false;
  const { taints = [], annotations } = spec;
  if (record.taints.size !== taints.length) return false;
  if (!isMapApplied(memberLabels(owner), node.labels, record.labels)) return false;
  if (!isMapApplied(annotations, node.annotations, record.annotations)) return false;
  if (!isStartupApplied(node, record, owner)) return false;
  for (const taint of taints) {
    const isLive = (live: Taint) => isSameTaint(live, taint);
    if (record.taints.get(taintId(taint))?.value !== (taint.value ?? '') || !node.taints.some(isLive)) return false;
  }
  return true;
}

function isMapApplied(
  desired: Readonly<Record<string, string>> = NONE,
  live: Readonly<Record<string, string>> = NONE,
  applied: ReadonlyMap<string, AppliedSlot>,
): boolean {
  let count = 0;
  for (const key in desired) {
    if (live[key] !== desired[key] || applied.get(key)?.value !== desired[key]) return false;
    count++;
  }
  return applied.size === count;
}

const NONE: Readonly<Record<string, string>> = {};

function desiredLabels(
  node: Node,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
  rivals: readonly NodePool[],
  policy: SlotPolicy,
) {
  const desired = new Map<string, string | null>(owner === undefined ? [] : Object.entries(memberLabels(owner)));
  if (owner?.spec.unmanaged === 'Remove') {
    const membership = new Set([owner, ...rivals].flatMap(pool => keysOf(membershipSelector(pool))));
    removeUnmanaged(desired, Object.keys(node.labels), record?.labels, key => !membership.has(key), policy);
  }
  return desired;
}
