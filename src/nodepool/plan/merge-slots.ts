/** The three-way merge of the slots of one kind (see plan.ts and record.ts). */

import { POOL_LABEL } from '../types.ts';
import type { AppliedSlot } from './record.ts';
import { isTransient } from './transient-states.ts';

export interface SlotWrite {
  id: string;
  from: string | null;
  to: string | null;
  action: 'add' | 'change' | 'remove' | 'restore';
  /** The reason known to the merge; `released` becomes "spec" or "left the pool". Others: see plan.ts. */
  why: 'spec' | 'drift' | 'unmanaged' | 'released' | 'joined' | 'booted' | 'condition';
}

/** Rules for all merges of one node. */
export interface PlanRules {
  /** More keys of temporary states, or `DOMAIN/*`: see transient-states.ts. */
  transient?: readonly string[];
  /** Nobody agreed to evictions: a NoExecute taint that a pool displaced is not set again. */
  withholdsNoExecute?: boolean;
}

/** The rules for slots of one kind, by id. */
export interface SlotPolicy {
  isTransient: (id: string) => boolean;
  isWithheld: (id: string) => boolean;
}

export function labelPolicy({ transient }: PlanRules): SlotPolicy {
  return { isTransient: key => isTransient('label', key, transient), isWithheld: () => false };
}

export function taintPolicy({ transient, withholdsNoExecute = false }: PlanRules): SlotPolicy {
  return {
    isTransient: id => isTransient('taint', id.slice(0, id.lastIndexOf(':')), transient),
    isWithheld: id => withholdsNoExecute && id.endsWith(':NoExecute'),
  };
}

/** No software marks temporary states with annotations that pools may set. */
export const ANNOTATION_POLICY: SlotPolicy = { isTransient: () => false, isWithheld: () => false };

/** @param leaving whether another pool, or none, owned the slots in the record */
export function mergeSlots(
  policy: SlotPolicy,
  leaving: boolean,
  applied: ReadonlyMap<string, AppliedSlot> = new Map(),
  desired: ReadonlyMap<string, string | null>,
  live: ReadonlyMap<string, string>,
): { applied: Map<string, AppliedSlot>; writes: SlotWrite[]; withheld: Map<string, string> } {
  const next = new Map<string, AppliedSlot>();
  const writes: SlotWrite[] = [];
  const withheld = new Map<string, string>();
  for (const [id, to] of desired) {
    const had = applied.get(id);
    const from = live.get(id) ?? null;
    const kept = leaving && had?.value !== from ? undefined : had;
    const passes = policy.isTransient(id);
    // Set once, when the node joins: a removal means that the state is over.
    if (passes && kept !== undefined && kept.value === to) {
      next.set(id, kept);
      continue;
    }
    const displaced = passes ? kept?.displaced : isProgramsOwn(id) ? undefined : displacedBy(to, from, kept);
    // A slot that was and stays empty needs no entry in the record.
    if (to !== null || displaced !== undefined) next.set(id, withDisplaced(to, displaced));
    if (from === to) continue;
    const ours = had !== undefined && had.value === from;
    const why = to === null && !ours ? 'unmanaged' : had?.value === to ? 'drift' : 'spec';
    writes.push({ id, from, to, action: to === null ? 'remove' : from === null ? 'add' : 'change', why });
  }
  for (const [id, had] of applied) {
    if (desired.has(id)) continue;
    const from = live.get(id) ?? null;
    const isOwn = isProgramsOwn(id);
    if (from !== had.value && !isOwn) continue;
    const before = isOwn || policy.isTransient(id) ? null : (had.displaced ?? null);
    if (from === before) continue;
    const isWithheld = before !== null && policy.isWithheld(id);
    if (isWithheld) withheld.set(id, before);
    const to = isWithheld ? null : before;
    if (from === to) continue;
    writes.push({ id, from, to, action: to === null ? 'remove' : 'restore', why: 'released' });
  }
  return { applied: next, writes, withheld };
}

/** Combines the writes of each slot into one, from its first value to its last. */
export function foldWrites(writes: readonly SlotWrite[]): SlotWrite[] {
  const byId = new Map<string, SlotWrite>();
  for (const write of writes) {
    const before = byId.get(write.id);
    if (before === undefined) byId.set(write.id, write);
    else if (before.from === write.to) byId.delete(write.id);
    else byId.set(write.id, { ...write, from: before.from, action: write.action === 'add' ? 'change' : write.action });
  }
  return [...byId.values()];
}

export function written(live: ReadonlyMap<string, string>, writes: readonly SlotWrite[]): Map<string, string> {
  const after = new Map(live);
  for (const { id, to } of writes) {
    if (to === null) after.delete(id);
    else after.set(id, to);
  }
  return after;
}

/** Only this program uses the label: an existing value is never restored, nor kept when the pool releases the node. */
function isProgramsOwn(id: string): boolean {
  return id === POOL_LABEL;
}

/**
 * The value to restore when the slot is released. It is forgotten once somebody else sets or removes the slot, because
 * the earlier value is outdated. A stripped slot records what they set. Value and record are written together, so a
 * live value that differs from the record is never our own.
 * @param had what the same pool, or an earlier pool that left it in place, had applied
 */
function displacedBy(to: string | null, from: string | null, had: AppliedSlot | undefined): string | undefined {
  if (had === undefined) return from ?? undefined;
  if (had.value === from) return had.displaced;
  return to === null || had.value === null ? (from ?? undefined) : undefined;
}

function withDisplaced(value: string | null, displaced: string | undefined): AppliedSlot {
  return displaced === undefined ? { value } : { value, displaced };
}
