/**
 * Startup taints: a pool gives them to a node in the write in which the node joins, and never again while it stays. The
 * record has each with the value that was given; null: the pool did not give it, lifted it, or somebody else removed or
 * changed it. So whoever removes one is not overruled.
 *
 * Not guaranteed: that a taint which somebody removed and set again between two reads is told from the one that was given.
 */
import type { SlotWrite } from './merge-slots.ts';
import type { AppliedRecord } from './record.ts';
import { NO_STARTUP, type StartupSlots } from './record-slots.ts';
import { taintId } from './taint.ts';
import type { Node, NodePool, NodePoolSpec, StartupTaint, Taint } from './types.ts';

type Conditions = Pick<Node, 'ready' | 'conditions'>;

export function isConditionTrue({ ready, conditions }: Conditions, type: string): boolean {
  return type === 'Ready' ? ready : conditions?.includes(type) === true;
}

export function startupTaintsById({ startupTaints = [] }: NodePoolSpec): Map<string, StartupTaint> {
  return new Map(startupTaints.map(taint => [taintId(taint), taint]));
}

/**
 * Ids of those that a node that joins is given, unless it has such a taint. A record that cannot be read shows that the node is
 * not new: it gets none, since it may have had them.
 */
export function startupDue(
  node: Conditions & Pick<Node, 'record'>,
  record: AppliedRecord | undefined,
  { spec }: NodePool,
): Set<string> {
  if (record === undefined && node.record !== undefined) return new Set();
  const due = [...startupTaintsById(spec)].filter(
    ([, { until }]) => !(until && isConditionTrue(node, until.nodeCondition)),
  );
  return new Set(due.map(([id]) => id));
}

/** What a node that joins is given. It gets no taint that it has already. @param due as of startupDue() */
export function startupAtJoining(
  due: ReadonlySet<string>,
  { spec }: NodePool,
  live: ReadonlyMap<string, string>,
): { slots: StartupSlots; writes: SlotWrite[] } {
  const slots = new Map<string, string | null>();
  const writes: SlotWrite[] = [];
  for (const [id, { value = '' }] of startupTaintsById(spec)) {
    const isGiven = due.has(id) && !live.has(id);
    slots.set(id, isGiven ? value : null);
    if (isGiven) writes.push({ id, from: null, to: value, action: 'add', why: 'joined' });
  }
  return { slots, writes };
}

/** What becomes of the startup taints that the record has; a node that leaves keeps none of them. */
export function startupSince(
  node: Conditions,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
  live: ReadonlyMap<string, string>,
): { slots: StartupSlots; writes: SlotWrite[] } {
  if (record === undefined || record.startup.size === 0) return { slots: NO_STARTUP, writes: [] };
  const stays = record.pool === owner?.metadata.name;
  const wanted = stays ? startupTaintsById(owner.spec) : new Map<string, StartupTaint>();
  const slots = new Map<string, string | null>();
  const writes: SlotWrite[] = [];
  for (const [id, given] of record.startup) {
    const why = given === null || live.get(id) !== given ? undefined : releasedBy(node, wanted.get(id));
    const isHeld = why === 'held';
    slots.set(id, isHeld ? given : null);
    if (why !== undefined && !isHeld) writes.push({ id, from: given, to: null, action: 'remove', why });
  }
  return { slots: stays ? slots : NO_STARTUP, writes };
}

/** Those that the pool gave, and that are there as it gave them. */
export function heldStartupTaints({ taints }: Pick<Node, 'taints'>, { startup }: AppliedRecord): Taint[] {
  return taints.filter(taint => startup.get(taintId(taint)) === (taint.value ?? ''));
}

/** A fast check that startupSince() changes nothing. */
export function isStartupApplied(node: Node, { startup }: AppliedRecord, { spec }: NodePool): boolean {
  if (startup.size === 0) return true;
  for (const [id, given] of startup) {
    if (given === null) continue;
    const isLive = node.taints.some(taint => taintId(taint) === id && (taint.value ?? '') === given);
    const taint = spec.startupTaints?.find(candidate => taintId(candidate) === id);
    if (!isLive || releasedBy(node, taint) !== 'held') return false;
  }
  return true;
}

function releasedBy(node: Conditions, taint: StartupTaint | undefined): 'held' | 'released' | 'condition' {
  if (taint === undefined) return 'released';
  return taint.until !== undefined && isConditionTrue(node, taint.until.nodeCondition) ? 'condition' : 'held';
}
