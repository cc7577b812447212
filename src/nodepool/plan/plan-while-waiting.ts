/**
 * Plans the changes of a member that waits for its slot in a rollout: only values that the spec already gave it. Drift
 * is repaired. Startup taints are removed if their condition is True, and added again after a boot. A label, taint or
 * annotation that left the spec is not repaired: if somebody changes it now, the change stays, as after the rollout. A
 * member without a record gets one. A taint that waits for evictions has to wait as well.
 */
import { defined } from '../json.ts';
import { memberLabels } from '../membership/selector.ts';
import { areAnnotationsKnown } from '../spec/annotations.ts';
import { taintFrom, taintId, taintsById } from '../spec/taints.ts';
import type { Node, NodePool, Taint } from '../types.ts';
import { describeWrite } from './change.ts';
import {
  ANNOTATION_POLICY,
  foldWrites,
  labelPolicy,
  type PlanRules,
  type SlotPolicy,
  type SlotWrite,
  taintPolicy,
  written,
} from './merge-slots.ts';
import { patchOf, type SamePlan, type UnreadPlan, type WritePlan } from './plan.ts';
import { type AppliedRecord, type AppliedSlot, formatRecord } from './record.ts';
import {
  addStartupTaints,
  type Birth,
  bootIdToRecord,
  LONG_REGISTERED,
  startupTaintsToAdd,
  updateStartupTaints,
} from './startup-taints.ts';

/** @param record what the pool last applied to the member */
export function planWhileWaiting(
  node: Node,
  record: AppliedRecord,
  pool: NodePool,
  rules: PlanRules = {},
  birth: Birth = LONG_REGISTERED,
): SamePlan | UnreadPlan | WritePlan {
  const { name } = pool.metadata;
  const { annotations = {} } = pool.spec;
  const whose = { node, owner: name, previous: name };
  // A pool of the earlier operator recognizes new nodes only once all members have a record (pool-metadata.ts).
  if (node.record === undefined) {
    const patch = { resourceVersion: node.resourceVersion, record: formatRecord(record) };
    return { ...whose, kind: 'write', changes: [], patch };
  }
  const live = new Map(node.taints.map(taint => [taintId(taint), taint.value ?? '']));
  const before = updateStartupTaints(node, record, withAppliedStartup(pool, record), live);
  const toAdd = startupTaintsToAdd(node, record, pool, birth);
  const added = addStartupTaints(node, record, pool, birth, toAdd, written(live, before.writes));
  const startup = { slots: new Map([...before.slots, ...added.slots]), boot: bootIdToRecord(node, record, pool) };
  const writes = {
    label: drifted(
      labelPolicy(rules),
      record.labels,
      new Set(Object.keys(memberLabels(pool))),
      new Map(Object.entries(node.labels)),
    ),
    taint: [
      ...foldWrites([...before.writes, ...added.writes]),
      ...drifted(taintPolicy(rules), record.taints, repairedTaints(pool, record), live),
    ],
    annotation: drifted(
      ANNOTATION_POLICY,
      record.annotations,
      new Set(Object.keys(annotations)),
      new Map(Object.entries(node.annotations ?? {})),
    ),
  };
  const changes = (['label', 'taint', 'annotation'] as const).flatMap(kind =>
    writes[kind].map(write => describeWrite(kind, write, false)),
  );
  const isNoted =
    startup.boot === record.boot && [...startup.slots].every(([id, value]) => record.startup.get(id) === value);
  if (changes.length === 0 && isNoted) return { ...whose, kind: 'same' };
  const forgetting = {
    labels: forgotten(record.labels, writes.label),
    taints: forgotten(record.taints, writes.taint),
    annotations: forgotten(record.annotations, writes.annotation),
  };
  const { boot: _boot, ...rest } = record;
  const startupNow = isNoted
    ? defined({ boot: record.boot })
    : { startup: startup.slots, ...defined({ boot: startup.boot }) };
  const next = formatRecord({ ...rest, ...forgetting, ...startupNow });
  const patch = {
    ...patchOf(node, writes.label, writes.taint, writes.annotation),
    ...(next === node.record ? {} : { record: next }),
  };
  const write: WritePlan = { ...whose, kind: 'write', changes, patch };
  const isKnown = areAnnotationsKnown(node, record.annotations, Object.keys(annotations));
  return isKnown ? write : { ...whose, kind: 'unread', after: write };
}

/** Slots that the pool set, that the spec still has (with any value), and that somebody else changed or removed. */
function drifted(
  { isTransient }: SlotPolicy,
  applied: ReadonlyMap<string, AppliedSlot>,
  desired: ReadonlySet<string>,
  live: ReadonlyMap<string, string>,
): SlotWrite[] {
  return [...applied].flatMap(([id, { value }]): SlotWrite[] => {
    const from = live.get(id) ?? null;
    if (value === null || value === from || !desired.has(id) || isTransient(id)) return [];
    return [{ id, from, to: value, action: from === null ? 'add' : 'change', why: 'drift' }];
  });
}

/** Somebody else changed these slots: their earlier values are not restored. */
function forgotten(
  applied: ReadonlyMap<string, AppliedSlot>,
  writes: readonly SlotWrite[],
): ReadonlyMap<string, AppliedSlot> {
  const repaired = new Set(writes.filter(({ why }) => why === 'drift').map(({ id }) => id));
  return new Map([...applied].map(([id, slot]) => [id, repaired.has(id) ? { value: slot.value } : slot]));
}

/**
 * Ids of taints that are repaired at once. With `noExecute: Drain`: no NoExecute taints, but the stand-ins of those in
 * the spec for which a drain has begun.
 */
function repairedTaints({ spec }: NodePool, { draining }: AppliedRecord): Set<string> {
  const { taints = [], noExecute } = spec;
  if (noExecute !== 'Drain') return new Set(taints.map(taintId));
  const waits = ({ effect }: Taint) => effect === 'NoExecute';
  const begun = taints.filter(taint => waits(taint) && draining?.has(taintId(taint)));
  const standIns = begun.map(({ key }) => taintId({ key, effect: 'NoSchedule' }));
  return new Set([...taints.filter(taint => !waits(taint)).map(taintId), ...standIns]);
}

/** Startup taints that left the spec are removed in the node's slot. */
function withAppliedStartup(pool: NodePool, { startup }: AppliedRecord): NodePool {
  const desired = taintsById(pool.spec.startupTaints);
  const left = [...startup].flatMap(([id, value]) => (desired.has(id) || value === null ? [] : taintFrom(id, value)));
  return { ...pool, spec: { ...pool.spec, startupTaints: [...desired.values(), ...left] } };
}
