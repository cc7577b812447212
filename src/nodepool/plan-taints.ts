/** The part of a node's plan (see plan.ts) that is about taints and startup taints. */
import { foldWrites, mergeSlots, type SlotWrite, written } from './merge-slots.ts';
import type { AppliedRecord } from './record.ts';
import { startupAtJoining, startupSince, startupTaintsById } from './startup-taints.ts';
import { strip } from './strip.ts';
import { taintFrom, taintId } from './taint.ts';
import type { Node, NodePool, Taint } from './types.ts';

/** The merge does not see startup taints: neither those that stay, nor those that the pool takes back. */
export function planTaints(
  node: Node,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
  leaving: boolean,
) {
  const live = new Map(node.taints.map(taint => [taintId(taint), taint.value ?? '']));
  const since = startupSince(node, record, owner, live);
  const seen = written(live, since.writes);
  for (const [id, given] of since.slots) if (given !== null) seen.delete(id);
  const merged = mergeSlots(leaving, record?.taints, desiredTaints([...seen.keys()], record, owner), seen);
  const joins = owner !== undefined && (record === undefined || leaving);
  const start = joins ? startupAtJoining(node, record, owner, written(seen, merged.writes)) : undefined;
  return {
    applied: merged.applied,
    startup: start?.slots ?? since.slots,
    writes: foldWrites([...since.writes, ...merged.writes, ...(start?.writes ?? [])]),
  };
}

function desiredTaints(live: string[], record: AppliedRecord | undefined, owner: NodePool | undefined) {
  const desired = new Map<string, string | null>(
    (owner?.spec.taints ?? []).map(taint => [taintId(taint), taint.value ?? '']),
  );
  if (owner?.spec.unmanaged === 'Remove') {
    const startup = startupTaintsById(owner.spec);
    const others = live.filter(id => !startup.has(id));
    strip(desired, others, record?.taints, () => true);
  }
  return desired;
}

/** The live list with the writes applied. Keeps the order, and keeps untouched taints complete (with timeAdded). */
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
