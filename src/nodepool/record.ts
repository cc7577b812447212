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
import { isTaintEffect, keyProblem, valueProblem } from './syntax.ts';

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

/** What the server takes for the name of any object of the kind, of a pool older than our rules too. */
const POOL_NAME = /^[a-z0-9.-]{1,253}$/;

/** Reads the annotation. Undefined when there is none or when it cannot be understood. */
export function parseRecord(raw: string | undefined): AppliedRecord | undefined {
  if (raw === undefined) return undefined;
  let json: unknown;
  try {
    json = JSON.parse(raw);
  } catch {
    return undefined;
  }
  if (!isObject(json) || typeof json.pool !== 'string' || !POOL_NAME.test(json.pool)) return undefined;
  const displaced = isObject(json.displaced) ? json.displaced : {};
  return {
    pool: json.pool,
    labels: parseSlots(json.labels, displaced.labels, id => keyProblem(id) === undefined),
    taints: parseSlots(json.taints, displaced.taints, isTaintId),
  };
}

/** What no pool can have written is left out: it would make a patch that the server refuses for ever. */
function parseSlots(values: unknown, displaced: unknown, isId: (id: string) => boolean): Map<string, AppliedSlot> {
  const slots = new Map<string, AppliedSlot>();
  if (!isObject(values)) return slots;
  for (const [id, value] of Object.entries(values)) {
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

const formatted = new WeakMap<AppliedRecord, string>();

/** Writes the annotation: the same record always gives the same bytes. Of one that many nodes share, only once. */
export function formatRecord(record: AppliedRecord): string {
  const known = formatted.get(record);
  if (known !== undefined) return known;
  const text = format(record);
  formatted.set(record, text);
  return text;
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
