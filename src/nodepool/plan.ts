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
import { areAnnotationsKnown } from './annotations.ts';
import { type Change, describeWrite, isOfSpec } from './change.ts';
import { defined } from './json.ts';
import {
  ANNOTATION_POLICY,
  labelPolicy,
  mergeSlots,
  type PlanRules,
  type SlotPolicy,
  type SlotWrite,
} from './merge-slots.ts';
import { drainingTaints, isOfDrain } from './no-execute.ts';
import { planTaints, rewriteTaints } from './plan-taints.ts';
import {
  type AppliedRecord,
  type AppliedSlot,
  formatRecord,
  isOversized,
  MAX_SINCE_LENGTH,
  MAX_STAMP_LENGTH,
  stampOf,
} from './record.ts';
import { NO_SLOTS } from './record-slots.ts';
import { keysOf, memberLabels, membershipSelector } from './selector.ts';
import { type Birth, isStartupApplied, LONG_REGISTERED } from './startup-taints.ts';
import { stoppedRollout } from './stopped-rollouts.ts';
import { strip } from './strip.ts';
import { isSameTaint, taintFrom, taintId } from './taint.ts';
import { withoutPassed } from './transient-states.ts';
import type { Node, NodePool, Taint } from './types.ts';

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
  /** The record replaces the mark. */
  dropsMark?: true;
  unschedulable?: boolean;
  /** The new value of the maintenance annotation. */
  maintenance?: string | null;
}

export interface NodePlan {
  node: Node;
  /** The owner after the plan. */
  owner: string | undefined;
  /** The pool that held the node before. */
  previous: string | undefined;
  changes: Change[];
  /** Absent when there is nothing to change. */
  patch: NodePatch | undefined;
  /** Pools whose labels would move the node in an endless cycle. Nothing must be written then. */
  circle?: readonly string[];
  /** The record would exceed its limits. Nothing must be written then. */
  isOversized?: boolean;
  /**
   * Annotations of the pool were not kept when the node was read, and are taken for absent here. The node must be read
   * again before it is written: a value of somebody else would be lost.
   */
  isUnread?: boolean;
  /** A pool that is paused: nothing must be written. */
  pausedBy?: string;
  /** The changed spec of a pool with spec.rollout reaches a member: its turn has to come first. */
  isRollout?: boolean;
  /** Taints that wait until the pods that they would evict are gone; absent when none does. */
  drain?: PlannedDrain;
  /** Sets taints that waited, as these pods are gone. */
  isCleared?: boolean;
  /** Taints with the effect NoExecute that the pool displaced, and that are not set again: nobody agreed to evictions. */
  withheld?: Taint[];
}

/** What plans do in the end, nodes that wait for their turn in a rollout included; those of paused pools are not. */
export function plansToTheEnd(all: { nodes: readonly NodePlan[]; later: readonly NodePlan[] }): NodePlan[] {
  return [...all.nodes, ...all.later.filter(({ pausedBy }) => pausedBy === undefined)];
}

/** With those that follow when pods are evicted. */
export function allChanges({ changes, drain }: Pick<NodePlan, 'changes' | 'drain'>): Change[] {
  return drain === undefined ? changes : [...changes, ...drain.changes];
}

export interface PlannedDrain {
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
export function planNode(
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
  const plan: NodePlan = {
    node,
    owner: owner?.metadata.name,
    previous: heldBy(node, record, owner),
    changes: [],
    patch: undefined,
  };
  if (record === undefined && owner === undefined) return plan;
  if (record !== undefined && owner !== undefined && isApplied(node, record, owner)) return plan;

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

  plan.changes = [
    ...labels.writes.map(write => describeWrite('label', write, leaving)),
    ...taints.writes.map(write => describeWrite('taint', write, leaving)),
    ...annotations.writes.map(write => describeWrite('annotation', write, leaving)),
  ];
  if (!areAnnotationsKnown(node, record?.annotations, desired.keys())) plan.isUnread = true;
  if (taints.withheld.size > 0) plan.withheld = [...taints.withheld].map(([id, value]) => taintFrom(id, value));
  if (record === undefined && pool !== undefined && isHeldBack(pool, node, birth)) {
    const empty = { labels: NO_SLOTS, taints: NO_SLOTS, annotations: NO_SLOTS };
    const joined = formatRecord({ pool: pool.metadata.name, ...empty, startup: taints.startup });
    return { ...plan, changes: [], patch: { resourceVersion: node.resourceVersion, record: joined } };
  }
  const { deferred, draining } = taints;
  const drainingSince = deferred?.hasBegun ? record?.drainingSince : undefined;
  const waiting = (deferred?.writes ?? []).map(write => describeWrite('taint', write, leaving));
  if (deferred !== undefined && draining !== undefined) {
    const lifted = deferred.lifted.map(write => describeWrite('taint', write, false));
    const { hasBegun } = deferred;
    const changes = [...waiting, ...lifted];
    plan.drain = { taints: drainingTaints(draining), changes, hasBegun, ...defined({ since: drainingSince }) };
  }
  if (deferred !== undefined && draining === undefined) plan.isCleared = true;
  // What was given at birth is completed by the first write: the node joins.
  const isMember = !leaving && record !== undefined && node.mark !== 'record';
  const isDrained = waiting.some(isOfSpec);
  const isChanged = plan.changes.some(change => isOfSpec(change) && !isOfDrain(change, deferred));
  const isNewSpec = isMember && (isChanged || (isDrained && !deferred?.hasBegun));
  // A drain that has begun had its turn, or needed none: the record has the time of a turn.
  const isTurn = isNewSpec || (isMember && isDrained && record.changed !== undefined);
  if (isTurn && owner?.spec.rollout !== undefined) plan.isRollout = true;
  const known = leaving ? undefined : record?.generation;
  const merged: AppliedRecord | undefined = owner && {
    pool: owner.metadata.name,
    ...(known === undefined ? {} : { generation: known }),
    labels: labels.applied,
    taints: taints.applied,
    annotations: annotations.applied,
    startup: taints.startup,
    ...defined({ boot: taints.boot }),
    ...(leaving || isNewSpec || record === undefined ? {} : stampOf(record)),
    ...(draining === undefined ? {} : { draining, ...defined({ drainingSince }) }),
  };
  const { generation } = owner?.metadata ?? {};
  // A new generation that changes nothing else in the record is no reason to write it. One that the pool never had goes with the
  // next write: see stale-pools.ts.
  const isForged = (known ?? 0) > (generation ?? Number.POSITIVE_INFINITY) && plan.changes.length > 0;
  const isRecordDue = isForged || (merged && formatRecord(merged)) !== node.record;
  const applied = merged && isRecordDue && generation !== undefined ? { ...merged, generation } : merged;
  const next = applied && formatRecord(applied);
  if (
    applied !== undefined &&
    next !== undefined &&
    isOversized(
      applied,
      next,
      (plan.isRollout ? MAX_STAMP_LENGTH : 0) + (draining === undefined ? 0 : MAX_SINCE_LENGTH),
    )
  ) {
    return { ...plan, changes: [], isOversized: true };
  }
  if (plan.changes.length > 0 || isRecordDue) {
    plan.patch = {
      resourceVersion: node.resourceVersion,
      ...(labels.writes.length > 0 ? { labels: valuesOf(labels.writes) } : {}),
      ...(taints.writes.length > 0 ? { taints: rewriteTaints(node.taints, taints.writes) } : {}),
      ...(annotations.writes.length > 0 ? { annotations: valuesOf(annotations.writes) } : {}),
      ...(isRecordDue ? { record: next ?? null, ...(node.mark === undefined ? {} : { dropsMark: true }) } : {}),
    };
  }
  return plan;
}

/**
 * Whether a running node joins without the spec, as a member that waits for its turn: the spec was stopped, and the node comes back after its
 * label was gone for a second, say. New nodes get the spec all the same: they would run without the taints of the pool.
 */
function isHeldBack(pool: NodePool, { creationTimestamp }: Node, { isYoung, wasMember }: Birth): boolean {
  const stop = pool.spec.rollout === undefined ? undefined : stoppedRollout(pool);
  return stop !== undefined && (wasMember || (!isYoung && Date.parse(creationTimestamp) <= stop.at));
}

/** A node that was born in its pool joins it with the first write. */
function heldBy({ mark }: Node, record: AppliedRecord | undefined, owner: NodePool | undefined): string | undefined {
  return mark === 'record' && record?.pool === owner?.metadata.name ? undefined : record?.pool;
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

export function valuesOf(writes: readonly SlotWrite[]): Record<string, string | null> {
  return Object.fromEntries(writes.map(({ id, to }) => [id, to]));
}

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
    strip(desired, Object.keys(node.labels), record?.labels, key => !membership.has(key), policy);
  }
  return desired;
}
