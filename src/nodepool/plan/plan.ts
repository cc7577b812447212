/**
 * Plans the changes of one node by a three-way merge, for labels, taints and annotations alike: what was applied (the
 * record), what is desired (the owner's spec) and what is live.
 *
 * - A slot (key, or taint `key:Effect`) in the spec is set; the value that it displaces goes into the record.
 * - A slot that left the spec, or whose pool released the node, gets the displaced value back. If someone else has
 *   changed it since, it stays.
 * - A slot in neither the spec nor the record is not touched, except a label or taint with `unmanaged: Remove`.
 *
 * Startup taints are not merged: startup-taints.ts says what becomes of them. Nor are taints that wait until pods are
 * evicted: no-execute.ts.
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

/** A merge patch of one node; null deletes. The server rejects it when resourceVersion has changed. */
export interface NodePatch {
  resourceVersion: string;
  labels?: Record<string, string | null>;
  /** The whole list, because spec.taints is an atomic list. */
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

/** By the first thing that stands against the write, in this order. `after`: what is done once it does not any more. */
export type NodePlan = PausedPlan | CirclePlan | OversizedPlan | RolloutStepPlan | UnreadPlan | DuePlan | SamePlan;

/** What can be done now. */
export type DuePlan = WritePlan | DrainPlan;

export interface PlannedNode {
  node: Node;
  /** The owner after the plan. */
  owner: string | undefined;
  /** The pool that held the node before. */
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
  /** It would be a step of a rollout. */
  isRolloutStep: boolean;
}

/** A step of a rollout: the changed spec of a pool with spec.rollout reaches a member, which needs a slot first. */
export interface RolloutStepPlan extends PlannedNode {
  kind: 'rollout step';
  after: UnreadPlan | DuePlan;
  /** What is written while it waits, if anything is: see planWhileWaiting(). */
  meanwhile?: UnreadPlan | WritePlan;
}

/** Annotations of the pool were not kept at the read: the node must be read again before it is written. */
export interface UnreadPlan extends PlannedNode {
  kind: 'unread';
  after: DuePlan;
}

/** Nothing is written before pods are evicted. */
export interface DrainPlan extends PlannedNode {
  kind: 'drain';
  /** None. */
  changes: Change[];
  patch?: undefined;
  drain: PlannedDrain;
}

export interface WritePlan extends PlannedNode {
  kind: 'write';
  /** None where only the record is written. */
  changes: Change[];
  patch: NodePatch;
  /** Begins, or goes on, after the write. */
  drain?: PlannedDrain;
  /** Sets taints that waited, as the pods that they would evict are gone. */
  isCleared?: true;
  /** Taints with the effect NoExecute that the pool displaced, and that are not set again: nobody agreed to evictions. */
  withheld?: Taint[];
}

export interface SamePlan extends PlannedNode {
  kind: 'same';
}

/** What the plan comes to once it waits for nothing. */
export function endOf(plan: NodePlan): CirclePlan | OversizedPlan | DuePlan | SamePlan {
  return 'after' in plan ? endOf(plan.after) : plan;
}

/** What is done once the plan waits for nothing; undefined where nothing is to be done, or can be. */
export function dueOf(plan: NodePlan | undefined): DuePlan | undefined {
  const end = plan && endOf(plan);
  return end?.kind === 'write' || end?.kind === 'drain' ? end : undefined;
}

/** The plan once it has its slot in a rollout, or where none is needed. */
export function pastRollout(plan: NodePlan): Exclude<NodePlan, RolloutStepPlan> {
  return plan.kind === 'rollout step' ? plan.after : plan;
}

/** Whether it is a step of a rollout, whatever else stands against it. */
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

/** Whether the node has to be read first, whatever else stands against it. */
export function isUnread(plan: NodePlan): boolean {
  return plan.kind === 'unread' || ('after' in plan && isUnread(plan.after));
}

/** Whether pods are evicted now, before a taint is set; in a rollout it may have to wait for a slot all the same. */
export function isDraining(plan: NodePlan): boolean {
  return plan.kind !== 'paused' && dueOf(plan)?.drain?.hasBegun === true;
}

/** With those that follow when pods are evicted. */
export function allChanges(plan: Pick<DuePlan, 'changes' | 'drain'> | undefined): Change[] {
  if (plan?.drain === undefined) return plan?.changes ?? [];
  return [...plan.changes, ...plan.drain.changes];
}

/** Taints that wait until the pods that they would evict are gone. */
interface PlannedDrain {
  /** As the spec has them. */
  taints: Taint[];
  /** Not among the changes of the plan. */
  changes: Change[];
  /** The record has it: pods are evicted now. */
  hasBegun: boolean;
  /** RFC 3339: since when, if the record says so. */
  since?: string;
}

/**
 * @param record what is currently applied, from `PoolIndex.ownership`
 * @param pool that owns the node; undefined releases the node
 * @param rivals the other pools that match the node: labels of their selectors are never stripped
 * @param rules of the command, and of the pools of the record and of the owner
 * @param isCleared no pod is left that the taints which wait, by the record, would evict
 * @param birth whether the node is given startup taints
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
  const leaving = record !== undefined && record.pool !== pool?.metadata.name;
  const owner = pool && withoutPassed(pool, node, leaving ? undefined : record, birth, rules.transient);
  const whose: PlannedNode = { node, owner: owner?.metadata.name, previous: previousPool(node, record, owner) };
  if (record === undefined && owner === undefined) return { ...whose, kind: 'same' };
  if (record !== undefined && owner !== undefined && isApplied(node, record, owner)) return { ...whose, kind: 'same' };

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
  // What was given at birth is completed by the first write: the node joins.
  const isMember = !leaving && record !== undefined && node.birthRecord !== 'record';
  const isDrained = afterDrain.some(isOfSpec);
  const isChanged = changes.some(change => isOfSpec(change) && !isOfDrain(change, deferred));
  const isNewSpec = isMember && (isChanged || (isDrained && !deferred?.hasBegun));
  // A drain that has begun had its slot, or needed none: where it had one, the record has the time.
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
  // A new generation that changes nothing else in the record is no reason to write it. One that the pool never had goes with the
  // next write: see StalePools.
  const isForged = (known ?? 0) > (generation ?? Number.POSITIVE_INFINITY) && changes.length > 0;
  const isRecordDue = isForged || (merged && formatRecord(merged)) !== node.record;
  const applied = merged && isRecordDue && generation !== undefined ? { ...merged, generation } : merged;
  const next = applied && formatRecord(applied);
  const addedLater = (isRolledOut ? MAX_CHANGE_LENGTH : 0) + (draining === undefined ? 0 : MAX_SINCE_LENGTH);
  if (applied !== undefined && next !== undefined && isOversized(applied, next, addedLater))
    return { ...whose, kind: 'oversized', isRolloutStep: isRolledOut };
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

/** What is done with the node, behind what stands against it. */
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
 * Whether a running node joins without the spec, as a member that waits for its slot: the spec was stopped, and the node comes back after its
 * label was gone for a second, say. New nodes get the spec all the same: they would run without the taints of the pool.
 */
function joinsWithoutSpec(pool: NodePool, { creationTimestamp }: Node, { isYoung, wasMember }: Birth): boolean {
  const stop = pool.spec.rollout === undefined ? undefined : stoppedRollout(pool);
  return stop !== undefined && (wasMember || (!isYoung && Date.parse(creationTimestamp) <= stop.at));
}

/** A node that was born in its pool joins it with the first write. */
function previousPool(
  { birthRecord }: Node,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
): string | undefined {
  return birthRecord === 'record' && record?.pool === owner?.metadata.name ? undefined : record?.pool;
}

/** A fast check that nothing has to change, as on nearly all nodes. False means that a merge is needed. */
function isApplied(node: Node, record: AppliedRecord, owner: NodePool): boolean {
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
  return formatRecord(record) === node.record;
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
