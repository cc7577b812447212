/**
 * Startup taints: a pool sets them on a young node in the write with which the node joins, and never again while it
 * stays, except with `again: Boot`. The record has the value that the pool set for each; null: not set, removed by the
 * pool, or removed or changed by somebody else. So the pool respects a removal by somebody else.
 *
 * A node that is not young may already run pods, and gets none: it lost its label for a second, or its record, or its
 * pool is new.
 *
 * Not guaranteed: detection of a taint that somebody removed and set again between two reads.
 */
import { formatTaint } from '../spec/syntax.ts';
import { taintId, taintsById } from '../spec/taints.ts';
import { firstFew, plural } from '../text.ts';
import type { Node, NodePool, NodePoolSpec, StartupTaint, Taint } from '../types.ts';
import type { SlotWrite } from './merge-slots.ts';
import { type AppliedRecord, NO_STARTUP, type StartupSlots } from './record.ts';

/** Maximum number of nodes named in a sentence. */
const MAX_NAMED = 3;

type Conditions = Pick<Node, 'ready' | 'conditions'>;

/** The facts for startup taints, in addition to the node, its record and its pool. */
export interface Birth {
  isYoung: boolean;
  /** Whether it was a member of any pool, and left or lost its record, as far as this process has seen. */
  wasMember: boolean;
  /** Whether its boot id changed a short while ago. */
  isBooting: boolean;
  /** Last values, as in a record, of startup taints in records that the node lost, as far as this process has seen. */
  former: StartupSlots;
}

export const LONG_REGISTERED: Birth = { isYoung: false, wasMember: false, isBooting: false, former: NO_STARTUP };

/** A node that registered or booted within this time runs no pods that its taints would harm. */
const YOUNG_MS = 10 * 60_000;
/** A first Ready report within this time belongs to the registration (the server's limit for a silent kubelet). */
const REGISTERING_MS = 2 * 60_000;

/**
 * Registered a short while ago, or never Ready since. A time in the future counts as a short while ago.
 * @param now milliseconds since 1970, by the server's clock if it is known
 */
export function isYoung({ creationTimestamp, ready, readySince }: Node, now: number): boolean {
  const registered = Date.parse(creationTimestamp);
  if (now - registered < YOUNG_MS) return true;
  return !ready && (readySince === undefined || Math.abs(readySince * 1000 - registered) <= REGISTERING_MS);
}

export function isRecent(time: number, now: number): boolean {
  return now - time < YOUNG_MS;
}

function isConditionTrue({ ready, conditions }: Conditions, type: string): boolean {
  return type === 'Ready' ? ready : conditions?.includes(type) === true;
}

/** The taints that are set again when the node boots. */
function taintsOfEachBoot({ startupTaints = [] }: NodePoolSpec): StartupTaint[] {
  return startupTaints.filter(taint => taint.again === 'Boot');
}

/** The boot id that a member's record must have: only for pools that set taints again. */
export function bootIdToRecord(
  { boot }: Node,
  record: AppliedRecord | undefined,
  { spec }: NodePool,
): string | undefined {
  return taintsOfEachBoot(spec).length === 0 ? undefined : (boot ?? record?.boot);
}

/** Whether the node booted since the pool set its startup taints. Records from before `again` have no boot id. */
function hasBooted({ boot }: Node, record: AppliedRecord): boolean {
  return record.boot !== undefined && boot !== undefined && boot !== record.boot;
}

/** Ids of taints to add, if missing, to a node that joins or booted. With an unreadable record, a node is not new. */
export function startupTaintsToAdd(
  node: Node,
  record: AppliedRecord | undefined,
  { metadata, spec }: NodePool,
  birth: Birth,
): Set<string> {
  if (spec.startupTaints === undefined) return new Set();
  const { isYoung, isBooting, former } = birth;
  const isMember = record?.pool === metadata.name;
  const taints = isMember
    ? isBooting && hasBooted(node, record)
      ? taintsOfEachBoot(spec).filter(taint => mayEvict(spec) || taint.effect !== 'NoExecute')
      : []
    : isYoung && !isUnreadable(node, record)
      ? spec.startupTaints.filter(taint => lastOf(taintId(taint), node, record, former) !== null)
      : [];
  return new Set(taints.flatMap(taint => (isLifted(node, taint) ? [] : taintId(taint))));
}

/** A node that has booted has its pods: a NoExecute taint would end them without regard to budgets. */
function mayEvict({ noExecute }: NodePoolSpec): boolean {
  return noExecute !== 'Drain';
}

function isUnreadable(node: Pick<Node, 'record'>, record: AppliedRecord | undefined): boolean {
  return record === undefined && node.record !== undefined;
}

/** The value in a record that the node lost or leaves. Null: it already had the taint, and does not get it again. */
function lastOf(id: string, node: Node, record: AppliedRecord | undefined, former: StartupSlots) {
  if (record?.startup.has(id) !== true) return former.get(id);
  const found = keptStartupTaints(node, record).find(taint => taintId(taint) === id);
  return found === undefined ? null : (found.value ?? '');
}

/**
 * The startup taints of a node that joins, registered into the pool, or has booted. A taint with `until` that a young
 * node already has, equal to the pool's, counts as the pool's: its kubelet registered with it. Without `until`, it
 * belongs to whoever set it.
 * @param toAdd from startupTaintsToAdd() @param live after all other writes
 */
export function addStartupTaints(
  node: Node,
  record: AppliedRecord | undefined,
  { metadata, spec }: NodePool,
  birth: Birth,
  toAdd: ReadonlySet<string>,
  live: ReadonlyMap<string, string>,
): { slots: StartupSlots; writes: SlotWrite[] } {
  if (spec.startupTaints === undefined) return { slots: NO_STARTUP, writes: [] };
  const { isYoung, former } = birth;
  const slots = new Map<string, string | null>();
  const writes: SlotWrite[] = [];
  const isMember = record?.pool === metadata.name;
  for (const [id, taint] of taintsById(spec.startupTaints)) {
    const { value = '' } = taint;
    const is = live.get(id);
    // The birth record has the taints that the node got at registration, except those that its kubelet set itself.
    const isBorn = isMember && node.birthRecord === 'record' && !record.startup.has(id) && is === value;
    if (isMember && !isBorn && !toAdd.has(id)) continue;
    const isNew = isMember || (isYoung && !isUnreadable(node, record));
    const isOurs = is === value && ((isNew && taint.until !== undefined) || lastOf(id, node, record, former) === value);
    if (isOurs && isLifted(node, taint)) {
      writes.push({ id, from: value, to: null, action: 'remove', why: 'condition' });
      slots.set(id, null);
    } else if (toAdd.has(id) && is === undefined) {
      writes.push({ id, from: null, to: value, action: 'add', why: isMember ? 'booted' : 'joined' });
      slots.set(id, value);
    } else slots.set(id, isOurs ? value : null);
  }
  return { slots, writes };
}

/** The new state of startup taints in the record. A node that leaves the pool keeps none of them. */
export function updateStartupTaints(
  node: Conditions,
  record: AppliedRecord | undefined,
  owner: NodePool | undefined,
  live: ReadonlyMap<string, string>,
): { slots: StartupSlots; writes: SlotWrite[] } {
  if (record === undefined || record.startup.size === 0) return { slots: NO_STARTUP, writes: [] };
  const stays = record.pool === owner?.metadata.name;
  const desired = taintsById(owner?.spec.startupTaints);
  const slots = new Map<string, string | null>();
  const writes: SlotWrite[] = [];
  for (const [id, applied] of record.startup) {
    const taint = desired.get(id);
    // The next pool continues with the same taint.
    const goesOn = stays || (taint?.value ?? '') === applied;
    const why = applied === null || live.get(id) !== applied ? undefined : releasedBy(node, goesOn ? taint : undefined);
    const isKept = why === 'kept';
    slots.set(id, isKept ? applied : null);
    if (why !== undefined && !isKept) writes.push({ id, from: applied, to: null, action: 'remove', why });
  }
  return { slots: stays ? slots : NO_STARTUP, writes };
}

/** The taints that the pool set and that are unchanged. */
export function keptStartupTaints({ taints }: Pick<Node, 'taints'>, { startup }: AppliedRecord): Taint[] {
  return taints.filter(taint => startup.get(taintId(taint)) === (taint.value ?? ''));
}

/** If an agent takes longer to start, it is reported. */
export const STARTING_MS = 15 * 60_000;

export interface StuckTaints {
  /** A sentence for each startup taint that is not removed. */
  texts: string[];
  /** Milliseconds until the next one may be reported; undefined if there is none. */
  afterMs: number | undefined;
}

/** Startup taints of the pool on members that registered, or turned Ready or NotReady, more than STARTING_MS ago. */
export function stuckStartupTaints({ spec }: NodePool, members: readonly Node[], serverTime: () => Date): StuckTaints {
  if (spec.startupTaints === undefined) return { texts: [], afterMs: undefined };
  const now = serverTime().getTime();
  const texts: string[] = [];
  let afterMs: number | undefined;
  for (const taint of spec.startupTaints) {
    // Grouped by the live taint: with another value, the pool does not remove it, whatever its condition is.
    const stuck: { live: string; node: string }[] = [];
    const { key, effect } = taint;
    for (const node of members) {
      const live = node.taints.find(each => each.key === key && each.effect === effect);
      if (live === undefined) continue;
      const since = Math.max(Date.parse(node.creationTimestamp), (node.readySince ?? 0) * 1000);
      const left = since + STARTING_MS - now;
      if (left <= 0) stuck.push({ live: formatTaint(live), node: node.name });
      else afterMs = Math.min(afterMs ?? left, left);
    }
    const [desired, until] = [formatTaint(taint), taint.until?.nodeCondition];
    for (const [live, nodes] of Map.groupBy(stuck, each => each.live)) {
      const notes = [...(live === desired ? [] : [`the pool has ${desired}`]), ...(until ? [`until ${until}`] : [])];
      const why = notes.length === 0 ? '' : ` (${notes.join(', ')})`;
      const names = nodes.map(({ node }) => node).toSorted();
      texts.push(
        `startup taint ${live}${why} is still on ${plural(names.length, 'node')}: ${firstFew(names, MAX_NAMED)}`,
      );
    }
  }
  return { texts, afterMs };
}

/** A fast check that neither a startup taint nor the boot id has to change on a member. */
export function isStartupApplied(node: Node, record: AppliedRecord, owner: NodePool): boolean {
  const { startup, boot } = record;
  const { spec } = owner;
  if ((boot !== undefined || spec.startupTaints !== undefined) && boot !== bootIdToRecord(node, record, owner))
    return false;
  for (const [id, applied] of startup) {
    if (applied === null) continue;
    const isLive = node.taints.some(taint => taintId(taint) === id && (taint.value ?? '') === applied);
    const taint = spec.startupTaints?.find(candidate => taintId(candidate) === id);
    if (!isLive || releasedBy(node, taint) !== 'kept') return false;
  }
  return true;
}

function releasedBy(node: Conditions, taint: StartupTaint | undefined): 'kept' | 'released' | 'condition' {
  if (taint === undefined) return 'released';
  return isLifted(node, taint) ? 'condition' : 'kept';
}

function isLifted(node: Conditions, { until }: StartupTaint): boolean {
  return until !== undefined && isConditionTrue(node, until.nodeCondition);
}
