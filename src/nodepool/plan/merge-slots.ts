/** The three-way merge of the slots of one kind (see plan.ts and record.ts). */

import { POOL_LABEL } from '../types.ts';
import type { AppliedSlot } from './record.ts';
import { isTransient } from './transient-states.ts';

export interface SlotWrite {
  id: string;
  from: string | null;
  to: string | null;
  action: 'add' | 'change' | 'remove' | 'restore';
  /** The reason as far as the merge knows it; `released` becomes "spec" or "left the pool". See plan.ts for the others. */
  why: 'spec' | 'drift' | 'unmanaged' | 'released' | 'joined' | 'booted' | 'condition';
}

/** What holds for the merges of one node. */
export interface PlanRules {
  /** More keys of states that pass, or `DOMAIN/*`: see transient-states.ts. */
  transient?: readonly string[];
  /** Nobody was asked: a NoExecute taint that a pool displaced is not set again. */
  withholdsNoExecute?: boolean;
}

/** The rules, for the ids of slots of one kind. */
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

/** Nobody marks a state with an annotation that pools may set. */
export const ANNOTATION_POLICY: SlotPolicy = { isTransient: () => false, isWithheld: () => false };

/** @param leaving whether another pool, or none, owned the slots of the record */
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
    // Given once, as it joins: whoever removes it says that the state has passed.
    if (passes && kept !== undefined && kept.value === to) {
      next.set(id, kept);
      continue;
    }
    const displaced = passes ? kept?.displaced : isProgramsOwn(id) ? undefined : displacedBy(to, from, kept);
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

/** One write for each slot, from its first value to its last. */
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

/** The values after the writes. */
export function written(live: ReadonlyMap<string, string>, writes: readonly SlotWrite[]): Map<string, string> {
  const after = new Map(live);
  for (const { id, to } of writes) {
    if (to === null) after.delete(id);
    else after.set(id, to);
  }
  return after;
}

/** No other writer has a use for it: a value that is there is never restored, nor kept once the pool releases it. */
function isProgramsOwn(id: string): boolean {
  return id === POOL_LABEL;
}

/**
 * The value to restore when the slot is released. It is forgotten once somebody else set or removed the slot: what was there
 * before them is past. A stripped slot records what they set. Value and record are one write, so that a live value which is
 * not that of the record is never our own.
 * @param had what the same pool, or an earlier one that left it in place, had applied
 */
function displacedBy(to: string | null, from: string | null, had: AppliedSlot | undefined): string | undefined {
  if (had === undefined) return from ?? undefined;
  if (had.value === from) return had.displaced;
  return to === null || had.value === null ? (from ?? undefined) : undefined;
}

function withDisplaced(value: string | null, displaced: string | undefined): AppliedSlot {
  return displaced === undefined ? { value } : { value, displaced };
}
