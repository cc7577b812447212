/**
 * The record: what a pool applied to a node, kept in one annotation on that node.
 *
 * Labels and taints are both slots: an identity (label key, or taint `key:Effect`) that holds one string. The record
 * remembers for each slot the value the pool wrote (`null` = it took the slot away) and the value this displaced, so
 * that letting go can put it back.
 *
 * Not guaranteed: that nobody forged it. A kubelet may write annotations of its own node, and so make us let go of a
 * label or taint there that is not the pool's: remove it, or set it to another value. It cannot bring a key of the
 * cluster's own (one that contains "kubernetes") into being. manifests/protect-records.yaml refuses it the annotation.
 */
import { isObject } from './json.ts';
import { isSubdomain, isTaintEffect, keyProblem, valueProblem } from './syntax.ts';

export interface AppliedSlot {
  /** What the pool wrote; null when it took the slot away (`unmanaged: Remove`). */
  value: string | null;
  /** What stood there before; absent when the slot was empty. */
  displaced?: string;
}

export interface AppliedRecord {
  pool: string;
  labels: ReadonlyMap<string, AppliedSlot>;
  taints: ReadonlyMap<string, AppliedSlot>;
}

/** Labels and taints whose key contains "kubernetes" are never stripped: the rule of `unmanaged: Remove`. */
export function isStrippable(key: string): boolean {
  return !key.includes('kubernetes');
}

/**
 * Characters. A pool of 100 labels and 100 taints whose keys, values and displaced values are all at their longest takes
 * 157,932 (validation.ts); only `unmanaged: Remove` could take more, and does not.
 */
export const MAX_RECORD_LENGTH = 160 * 1024;
/** Labels, and taints, in one record. */
export const MAX_RECORD_SLOTS = 1_000;

/** What stands for a record that is too large to be kept in memory: that is what somebody else wrote. */
const TOO_LARGE = /^record of (\d+) characters$/;

/** The annotation as it is kept in memory: nobody needs the text of one that is too large. */
export function keptRecord(raw: string): string {
  return raw.length > MAX_RECORD_LENGTH ? `record of ${raw.length} characters` : raw;
}

/** Reads the annotation. Undefined when there is none or when it cannot be understood. */
export function parseRecord(raw: string | undefined): AppliedRecord | undefined {
  return raw === undefined ? undefined : readRecord(raw).record;
}

/** Why the annotation is not one that a pool wrote; undefined when it is. What can be understood of it is used all the same. */
export function recordProblem(raw: string): string | undefined {
  return readRecord(raw).problem;
}

/** Whether what was to be written is more than is read again. */
export function isOversized({ labels, taints }: AppliedRecord, text: string): boolean {
  return text.length > MAX_RECORD_LENGTH || Math.max(labels.size, taints.size) > MAX_RECORD_SLOTS;
}

function readRecord(raw: string): { record?: AppliedRecord; problem?: string } {
  const length = raw.length > MAX_RECORD_LENGTH ? String(raw.length) : TOO_LARGE.exec(raw)?.[1];
  if (length !== undefined) return { problem: `larger than ${MAX_RECORD_LENGTH} characters (${length})` };
  let json: unknown;
  try {
    json = JSON.parse(raw);
  } catch {
    return { problem: 'not JSON' };
  }
  if (!isObject(json)) return { problem: 'not a JSON object' };
  if (typeof json.pool !== 'string' || !isSubdomain(json.pool)) return { problem: 'without the name of a pool' };
  const displaced = isObject(json.displaced) ? json.displaced : {};
  const [labels, taints] = [slotsOf(json.labels), slotsOf(json.taints)];
  if (Math.max(labels.length, taints.length) > MAX_RECORD_SLOTS) {
    return { problem: `more than ${MAX_RECORD_SLOTS} labels or taints` };
  }
  const record: AppliedRecord = {
    pool: json.pool,
    labels: parseSlots(labels, displaced.labels, id => keyProblem(id) === undefined),
    taints: parseSlots(taints, displaced.taints, isTaintId),
  };
  sources.set(record, raw);
  const left = labels.length + taints.length - record.labels.size - record.taints.size;
  return left === 0 ? { record } : { record, problem: `with ${left} labels or taints that no pool sets` };
}

function slotsOf(values: unknown): [string, unknown][] {
  return isObject(values) ? Object.entries(values) : [];
}

/** What no pool can have written is left out: it would make a patch that the server refuses for ever. */
function parseSlots(
  values: readonly [string, unknown][],
  displaced: unknown,
  isId: (id: string) => boolean,
): Map<string, AppliedSlot> {
  const slots = new Map<string, AppliedSlot>();
  for (const [id, value] of values) {
    if (!isId(id) || !(value === null ? isStrippable(id) : isValue(value))) continue;
    const before = isObject(displaced) && Object.hasOwn(displaced, id) ? displaced[id] : undefined;
    slots.set(
      id,
      isValue(before) ? { value: value as string | null, displaced: before } : { value: value as string | null },
    );
  }
  return slots;
}

function isValue(value: unknown): value is string {
  return typeof value === 'string' && valueProblem(value) === undefined;
}

function isTaintId(id: string): boolean {
  const colon = id.lastIndexOf(':');
  return colon > 0 && keyProblem(id.slice(0, colon)) === undefined && isTaintEffect(id.slice(colon + 1));
}

/** The texts that records were read from. */
const sources = new WeakMap<AppliedRecord, string>();
const formatted = new WeakMap<AppliedRecord, string>();

/** Writes the annotation: the same record always gives the same bytes. Of one that many nodes share, only once. */
export function formatRecord(record: AppliedRecord): string {
  const known = formatted.get(record);
  if (known !== undefined) return known;
  const [text, source] = [format(record), sources.get(record)];
  // Nearly always they are alike, and one of them is memory enough.
  const kept = text === source ? source : text;
  formatted.set(record, kept);
  return kept;
}

function format(record: AppliedRecord): string {
  const displaced = {
    ...section('labels', record.labels, slot => slot.displaced),
    ...section('taints', record.taints, slot => slot.displaced),
  };
  return JSON.stringify({
    pool: record.pool,
    ...section('labels', record.labels, slot => slot.value),
    ...section('taints', record.taints, slot => slot.value),
    ...(Object.keys(displaced).length > 0 ? { displaced } : {}),
  });
}

function section(
  name: string,
  slots: ReadonlyMap<string, AppliedSlot>,
  pick: (slot: AppliedSlot) => string | null | undefined,
): Record<string, unknown> {
  const entries = [...slots]
    .map(([id, slot]) => [id, pick(slot)] as const)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length > 0 ? { [name]: Object.fromEntries(entries) } : {};
}
