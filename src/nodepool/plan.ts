/**
 * Plans the changes of one node by a three-way merge, for labels and taints alike: what was applied (the record), what
 * is desired (the owner's spec) and what is live.
 *
 * - A slot (label key or taint `key:Effect`) in the spec is set; the value that it displaces goes into the record.
 * - A slot that left the spec, or whose pool released the node, gets the displaced value back. If someone else has
 *   changed it since, it stays.
 * - A slot in neither the spec nor the record is not touched, except with `unmanaged: Remove`.
 */
import { type AppliedRecord, type AppliedSlot, formatRecord, isOversized, isStrippable } from './record.ts';
import { membershipSelector } from './selector.ts';
import { isSameTaint, taintFrom, taintId } from './taint.ts';
import type { Node, NodePool, Taint, TaintEffect } from './types.ts';

/** `membership`: requested by `add`, `remove` or `move`. */
type ChangeReason = 'spec' | 'drift' | 'left the pool' | 'unmanaged' | 'membership';

/** Who set a field, by the object's managedFields. */
export interface FieldSetter {
  manager: string;
  /** `Apply` or `Update`. */
  operation: string;
  /** RFC 3339: the manager's last write to any of its fields. */
  time?: string;
}

/** One change of a label or taint. */
export interface Change {
  kind: 'label' | 'taint';
  key: string;
  effect?: TaintEffect;
  action: 'add' | 'change' | 'remove' | 'restore';
  from?: string;
  to?: string;
  reason: ChangeReason;
  /** Who set `from`, or of a taint the taints of the node, where that was read (see drift-setters.ts). */
  setBy?: FieldSetter;
}

/** A merge patch of one node; null deletes. The server rejects it when resourceVersion has changed. */
export interface NodePatch {
  resourceVersion: string;
  labels?: Record<string, string | null>;
  /** The whole list, because spec.taints is an atomic list. */
  taints?: Taint[];
  /** The new value of the record annotation. */
  record?: string | null;
  unschedulable?: boolean;
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
  /** The record would exceed its limits (only with `unmanaged: Remove`). Nothing must be written then. */
  isOversized?: boolean;
}

/**
 * @param record what is currently applied, from `PoolIndex.ownership`
 * @param owner the pool that owns the node; undefined releases the node
 * @param rivals the other pools that match the node: labels of their selectors are never stripped
 */
export function planNode(
  node: Node,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
  rivals: readonly NodePool[] = [],
): NodePlan {
  const plan: NodePlan = { node, owner: owner?.metadata.name, previous: record?.pool, changes: [], patch: undefined };
  if (record === undefined && owner === undefined) return plan;
  if (record !== undefined && owner !== undefined && isApplied(node, record, owner)) return plan;

  const leaving = record !== undefined && record.pool !== owner?.metadata.name;
  const labels = merge(
    leaving,
    record?.labels,
    desiredLabels(node, record, owner, rivals),
    new Map(Object.entries(node.labels)),
  );
  const liveTaints = new Map(node.taints.map(taint => [taintId(taint), taint.value ?? '']));
  const taints = merge(leaving, record?.taints, desiredTaints(node, record, owner), liveTaints);

  plan.changes = [
    ...labels.writes.map(write => describe('label', write, leaving)),
    ...taints.writes.map(write => describe('taint', write, leaving)),
  ];
  const applied = owner && { pool: owner.metadata.name, labels: labels.applied, taints: taints.applied };
  const next = applied && formatRecord(applied);
  if (applied !== undefined && next !== undefined && isOversized(applied, next)) {
    return { ...plan, changes: [], isOversized: true };
  }
  if (plan.changes.length > 0 || next !== node.record) {
    plan.patch = {
      resourceVersion: node.resourceVersion,
      ...(labels.writes.length > 0 ? { labels: Object.fromEntries(labels.writes.map(w => [w.id, w.to])) } : {}),
      ...(taints.writes.length > 0 ? { taints: rewriteTaints(node.taints, taints.writes) } : {}),
      ...(next !== node.record ? { record: next ?? null } : {}),
    };
  }
  return plan;
}

/** A fast check that nothing has to change, as on nearly all nodes. False means that a merge is needed. */
function isApplied(node: Node, record: AppliedRecord, { metadata, spec }: NodePool): boolean {
  if (record.pool !== metadata.name || spec.unmanaged === 'Remove') return false;
  const { labels = {}, taints = [] } = spec;
  const keys = Object.keys(labels);
  if (record.labels.size !== keys.length || record.taints.size !== taints.length) return false;
  for (const key of keys) {
    if (node.labels[key] !== labels[key] || record.labels.get(key)?.value !== labels[key]) return false;
  }
  for (const taint of taints) {
    const isLive = (live: Taint) => isSameTaint(live, taint);
    if (record.taints.get(taintId(taint))?.value !== (taint.value ?? '') || !node.taints.some(isLive)) return false;
  }
  return formatRecord(record) === node.record;
}

interface SlotWrite {
  id: string;
  from: string | null;
  to: string | null;
  action: Change['action'];
  /** The reason as far as the merge knows it; `released` becomes "spec" or "left the pool". */
  why: 'spec' | 'drift' | 'unmanaged' | 'released';
}

function merge(
  leaving: boolean,
  applied: ReadonlyMap<string, AppliedSlot> = new Map(),
  desired: ReadonlyMap<string, string | null>,
  live: ReadonlyMap<string, string>,
): { applied: Map<string, AppliedSlot>; writes: SlotWrite[] } {
  const next = new Map<string, AppliedSlot>();
  const writes: SlotWrite[] = [];
  for (const [id, to] of desired) {
    const had = applied.get(id);
    const from = live.get(id) ?? null;
    const displaced = displacedBy(to, from, leaving && had?.value !== from ? undefined : had);
    // A slot that is and was empty needs no entry in the record.
    if (to !== null || displaced !== undefined) next.set(id, withDisplaced(to, displaced));
    if (from === to) continue;
    const ours = had !== undefined && had.value === from;
    const why = to === null && !ours ? 'unmanaged' : had?.value === to ? 'drift' : 'spec';
    writes.push({ id, from, to, action: to === null ? 'remove' : from === null ? 'add' : 'change', why });
  }
  for (const [id, had] of applied) {
    if (desired.has(id)) continue;
    const from = live.get(id) ?? null;
    const to = had.displaced ?? null;
    if (from !== had.value || from === to) continue;
    writes.push({ id, from, to, action: to === null ? 'remove' : 'restore', why: 'released' });
  }
  return { applied: next, writes };
}

/**
 * The value to restore when the slot is released. The first displaced value is kept: later drift is repaired and not
 * recorded. Only a stripped slot records a newer value, because someone else set it.
 * @param had what the same pool, or an earlier one that left it in place, had applied
 */
function displacedBy(to: string | null, from: string | null, had: AppliedSlot | undefined): string | undefined {
  if (had === undefined) return from ?? undefined;
  const foreign = from !== null && from !== had.value && (to === null || had.value === null);
  return foreign ? from : had.displaced;
}

function withDisplaced(value: string | null, displaced: string | undefined): AppliedSlot {
  return displaced === undefined ? { value } : { value, displaced };
}

function desiredLabels(
  node: Node,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
  rivals: readonly NodePool[],
) {
  const desired = new Map<string, string | null>(Object.entries(owner?.spec.labels ?? {}));
  if (owner?.spec.unmanaged === 'Remove') {
    const membership = new Set([owner, ...rivals].flatMap(pool => Object.keys(membershipSelector(pool))));
    strip(desired, Object.keys(node.labels), record?.labels, key => !membership.has(key));
  }
  return desired;
}

function desiredTaints(node: Node, record: AppliedRecord | undefined, owner: NodePool | undefined) {
  const desired = new Map<string, string | null>(
    (owner?.spec.taints ?? []).map(taint => [taintId(taint), taint.value ?? '']),
  );
  if (owner?.spec.unmanaged === 'Remove') strip(desired, node.taints.map(taintId), record?.taints, () => true);
  return desired;
}

/** Empties every unmanaged slot: live ones, and those already stripped, which would otherwise be restored. */
function strip(
  desired: Map<string, string | null>,
  live: string[],
  applied: ReadonlyMap<string, AppliedSlot> | undefined,
  mayStrip: (id: string) => boolean,
): void {
  const stripped = [...(applied ?? [])].filter(([, slot]) => slot.value === null).map(([id]) => id);
  for (const id of [...live, ...stripped]) {
    if (!desired.has(id) && isStrippable(id) && mayStrip(id)) desired.set(id, null);
  }
}

function describe(kind: Change['kind'], write: SlotWrite, leaving: boolean): Change {
  const colon = kind === 'taint' ? write.id.lastIndexOf(':') : -1;
  return {
    kind,
    key: colon < 0 ? write.id : write.id.slice(0, colon),
    ...(colon < 0 ? {} : { effect: write.id.slice(colon + 1) as TaintEffect }),
    action: write.action,
    ...(write.from === null ? {} : { from: write.from }),
    ...(write.to === null ? {} : { to: write.to }),
    reason: write.why === 'released' ? (leaving ? 'left the pool' : 'spec') : write.why,
  };
}

/** The live list with the writes applied. Keeps the order, and keeps untouched taints complete (with timeAdded). */
function rewriteTaints(live: Taint[], writes: SlotWrite[]): Taint[] {
  const pending = new Map(writes.map(write => [write.id, write.to]));
  const taints: Taint[] = [];
  for (const taint of live) {
    const id = taintId(taint);
    const to = pending.get(id);
    if (to === undefined) taints.push(taint);
    else if (to !== null) taints.push(taintFrom(id, to));
    pending.delete(id);
  }
  for (const [id, to] of pending) if (to !== null) taints.push(taintFrom(id, to));
  return taints;
}
