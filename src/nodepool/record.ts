/**
 * The record: what a pool applied to a node, stored in one annotation on that node.
 *
 * Labels and taints are slots: an identity (label key, or taint `key:Effect`) with one string value. For each slot the
 * record has the value that the pool wrote (null: the pool removed it) and the value that this displaced. Releasing the
 * node restores the displaced value.
 *
 * Not guaranteed: that the record is authentic. A kubelet can write annotations of its own node, and so cause a label
 * or taint of another owner to be removed or changed there. It cannot add a key that contains "kubernetes".
 * manifests/protect-records.yaml denies kubelets this annotation.
 */
import { isObject } from './json.ts';
import { isSubdomain, isTaintEffect, keyProblem, valueProblem } from './syntax.ts';

export interface AppliedSlot {
  /** What the pool wrote; null when it removed the slot (`unmanaged: Remove`). */
  value: string | null;
  /** The earlier value; absent when the slot was empty. */
  displaced?: string;
}

export interface AppliedRecord {
  pool: string;
  labels: ReadonlyMap<string, AppliedSlot>;
  taints: ReadonlyMap<string, AppliedSlot>;
}

/** `unmanaged: Remove` never strips labels and taints whose key contains "kubernetes". */
export function isStrippable(key: string): boolean {
  return !key.includes('kubernetes');
}

/**
 * In characters. A pool with 100 labels and 100 taints whose keys, values and displaced values have the maximum length
 * takes 157,932 (validation.ts). Only `unmanaged: Remove` could exceed that, and is refused.
 */
export const MAX_RECORD_LENGTH = 160 * 1024;
/** Maximum number of labels, and of taints, in one record. */
export const MAX_RECORD_SLOTS = 1_000;

/** Replaces a record in memory that is too large; no pool wrote it. */
const TOO_LARGE = /^record of (\d+) characters$/;

/** The annotation as it is kept in memory, without the text of one that is too large. */
export function keptRecord(raw: string): string {
  return raw.length > MAX_RECORD_LENGTH ? `record of ${raw.length} characters` : raw;
}

/** Undefined when there is no record, or when it cannot be parsed. */
export function parseRecord(raw: string | undefined): AppliedRecord | undefined {
  return raw === undefined ? undefined : readRecord(raw).record;
}

/** Why no pool can have written the annotation; undefined when it is valid. Its valid parts are used anyway. */
export function recordProblem(raw: string): string | undefined {
  return readRecord(raw).problem;
}

/** Whether the record exceeds the limits of parseRecord(). */
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

/** Leaves out invalid slots: they would make a patch that the server always rejects. */
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

/** The text that each record was parsed from. */
const sources = new WeakMap<AppliedRecord, string>();
const formatted = new WeakMap<AppliedRecord, string>();

/** The annotation; equal records give equal bytes. The text of a record that many nodes share is computed once. */
export function formatRecord(record: AppliedRecord): string {
  const known = formatted.get(record);
  if (known !== undefined) return known;
  const [text, source] = [format(record), sources.get(record)];
  // They are nearly always equal; keeping one of them saves memory.
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
