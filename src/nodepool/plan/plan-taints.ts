/** The part of a node's plan (see plan.ts) about taints and startup taints. */
import { taintFrom, taintId, taintsById } from '../spec/taints.ts';
import type { Node, NodePool, Taint } from '../types.ts';
import {
  foldWrites,
  mergeSlots,
  type PlanRules,
  type SlotPolicy,
  type SlotWrite,
  taintPolicy,
  written,
} from './merge-slots.ts';
import { type DeferredTaints, deferredTaints, deferredWrites, hasBegun, liftedStandIns } from './no-execute.ts';
import { type AppliedRecord, type AppliedSlot, mayRemoveUnmanaged } from './record.ts';
import {
  addStartupTaints,
  type Birth,
  bootIdToRecord,
  startupTaintsToAdd,
  updateStartupTaints,
} from './startup-taints.ts';

/**
 * The merge does not see startup taints, whether they stay or are removed. Nor does it see taints that wait until pods
 * are evicted, and the taints that these replace.
 * @param isCleared whether the pods for which the taints in the record wait are gone
 */
export function planTaints(
  node: Node,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
  leaving: boolean,
  isCleared: boolean,
  rules: PlanRules,
  birth: Birth,
) {
  const live = new Map(node.taints.map(taint => [taintId(taint), taint.value ?? '']));
  const before = updateStartupTaints(node, record, owner, live);
  const kept = written(live, before.writes);
  const seen = new Map(kept);
  for (const [id, applied] of before.slots) if (applied !== null) seen.delete(id);
  const toAdd = owner === undefined ? new Set<string>() : startupTaintsToAdd(node, record, owner, birth);
  // A pool that keeps its node and drains also restores displaced taints, after the pods are evicted.
  const drains = !leaving && owner?.spec.noExecute === 'Drain';
  const policy = taintPolicy(drains ? { ...rules, withholdsNoExecute: false } : rules);
  const deferred = owner && deferredTaints(live, kept, record, owner, toAdd, policy);
  // The pods were listed for the taints in the record: a spec with other taints needs another list.
  const begun = deferred !== undefined && !leaving && hasBegun(record, deferred);
  const waiting = isCleared && begun ? undefined : deferred;
  const had = waiting === undefined ? record?.taints : without(record?.taints, waiting.draining);
  const visible = waiting === undefined ? seen : without(seen, waiting.untouched);
  const desired = desiredTaints(visible, had, owner, waiting, leaving, policy);
  const merged = mergeSlots(policy, leaving, had, desired, visible);
  for (const id of waiting?.draining.keys() ?? []) {
    const slot = record?.taints.get(id);
    if (slot !== undefined && (!leaving || slot.value === (kept.get(id) ?? null))) merged.applied.set(id, slot);
  }
  const added = owner && addStartupTaints(node, record, owner, birth, toAdd, written(kept, merged.writes));
  return {
    applied: merged.applied,
    startup: added === undefined || added.slots.size === 0 ? before.slots : new Map([...before.slots, ...added.slots]),
    boot: owner && bootIdToRecord(node, record, owner),
    writes: foldWrites([...before.writes, ...merged.writes, ...(added?.writes ?? [])]),
    draining: waiting?.draining,
    withheld: merged.withheld,
    deferred: deferred && {
      hasBegun: begun,
      writes: deferredWrites(deferred, live, leaving ? undefined : record?.taints),
      lifted: liftedStandIns(deferred, merged.applied),
      untouched: deferred.untouched,
    },
  };
}

function desiredTaints(
  live: ReadonlyMap<string, string>,
  applied: ReadonlyMap<string, AppliedSlot> | undefined,
  owner: NodePool | undefined,
  waiting: DeferredTaints | undefined,
  leaving: boolean,
  policy: SlotPolicy,
) {
  const own = (owner?.spec.taints ?? []).map(taint => [taintId(taint), taint.value ?? ''] as const);
  const desired = new Map<string, string | null>([
    ...own.filter(([id]) => waiting?.draining.has(id) !== true),
    ...(waiting?.standIns ?? []),
  ]);
  if (owner?.spec.unmanaged === 'Remove') {
    const startup = taintsById(owner.spec.startupTaints);
    // Slots that an earlier pool stripped are restored. Those that this pool stripped stay off its members.
    removeUnmanaged(desired, [...live.keys()], applied, id => !startup.has(id) || !(leaving || live.has(id)), policy);
  }
  return desired;
}

function without<V>(map: ReadonlyMap<string, V> = new Map(), ids: { has(id: string): boolean }): Map<string, V> {
  return new Map([...map].filter(([id]) => !ids.has(id)));
}

/** Applies the writes to the live list. Keeps the order, and unchanged taints complete (with timeAdded). */
export function rewriteTaints(live: Taint[], writes: SlotWrite[]): Taint[] {
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

// `unmanaged: Remove`, for labels and taints.

/**
 * Empties every unmanaged slot: live ones, and stripped ones, which would otherwise be restored. Does not strip
 * temporary states; those that an earlier version stripped stay in the record until they are set again.
 */
export function removeUnmanaged(
  desired: Map<string, string | null>,
  live: readonly string[],
  applied: ReadonlyMap<string, AppliedSlot> | undefined,
  mayRemove: (id: string) => boolean,
  { isTransient }: SlotPolicy,
): void {
  const stripped = [...(applied ?? [])].filter(([, slot]) => slot.value === null).map(([id]) => id);
  const isUnmanaged = (id: string) => !desired.has(id) && mayRemoveUnmanaged(id) && mayRemove(id);
  const passing = new Set(live.filter(id => isUnmanaged(id) && isTransient(id)));
  for (const id of [...live, ...stripped]) if (isUnmanaged(id) && !passing.has(id)) desired.set(id, null);
}
