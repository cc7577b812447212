/**
 * The record: what a pool applied to a node, stored in one annotation on that node.
 *
 * Labels, taints and annotations are slots: an identity (key, or taint `key:Effect`) with one string value. For each slot
 * the record has the value that the pool wrote (null: the pool removed it) and the value that this displaced. Releasing
 * the node restores the displaced value. Startup taints displace nothing (see startup-taints.ts).
 *
 * Not guaranteed: that the record is authentic. A kubelet can write annotations of its own node, and so cause a label,
 * taint or annotation of another owner to be removed or changed there. It cannot add a key that contains "kubernetes",
 * and no annotation that it could not have written itself. With a record at its registration it avoids the startup
 * taints of the pool that the record names, as with a condition that it reports itself.
 * manifests/protect-records.yaml denies kubelets this annotation.
 */
import { isObject, parsedJson } from '../json.ts';
import { isPoolAnnotation } from '../spec/annotations.ts';
import { isSubdomain, isTaintEffect, keyProblem, valueProblem } from '../spec/syntax.ts';

export interface AppliedRecord {
  pool: string;
  /**
   * metadata.generation of the pool for whose spec the node was written last. Who knows only an older spec of the pool must not
   * write the node (see StalePools). Absent where an earlier version wrote it, or the admission policy.
   */
  generation?: number;
  labels: ReadonlyMap<string, AppliedSlot>;
  taints: ReadonlyMap<string, AppliedSlot>;
  annotations: ReadonlyMap<string, AppliedSlot>;
  startup: StartupSlots;
  /** Of the boot for which the startup taints were given; absent unless the pool has some that are given again. */
  boot?: string;
  /** RFC 3339: when a rollout changed the node last. */
  changed?: string;
  /** Which rollout it was: rolloutHash() of the spec. Absent where an earlier version wrote the time. */
  rollout?: string;
  /** The node was NotReady then: that it is says nothing about the change. */
  wasNotReady?: true;
  /** Taints that wait until their pods are evicted, with their values by id (see no-execute.ts); absent when none does. */
  draining?: ReadonlyMap<string, string>;
  /** RFC 3339: since when they wait; absent where an earlier version wrote it. */
  drainingSince?: string;
}

/** What a rollout adds to the record of a node that it changes. */
export type RolloutChange = Pick<AppliedRecord, 'changed' | 'rollout' | 'wasNotReady'>;

/**
 * In bytes, as the server counts them. A pool with 100 labels and 100 taints whose keys, values and displaced values have the
 * maximum length takes 158,112 (validation.ts). With annotations, startup taints or `unmanaged: Remove` a record can exceed
 * that, and is not written.
 */
export const MAX_RECORD_LENGTH = 160 * 1024;
/** Maximum number of labels, of taints, of annotations, and of startup taints, in one record. */
export const MAX_RECORD_SLOTS = 1_000;

const MAX_BOOT_LENGTH = 64;

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

/** Of a boot id that the kubelet reports: nearly all are random UUIDs. */
export function compactBoot(bootId: string): string {
  return bootId.slice(0, /^[0-9a-f]{8}-/.test(bootId) ? 8 : MAX_BOOT_LENGTH);
}

/** Why no pool can have written the annotation; undefined when it is valid. Its valid parts are used anyway. */
export function recordProblem(raw: string): string | undefined {
  return readRecord(raw).problem;
}

/** What withRolloutChange() adds at most. */
export const MAX_CHANGE_LENGTH = ',"changed":"2026-01-01T00:00:00Z","rollout":"0123456789","wasNotReady":true'.length;

/** What a drain that begins adds at most, beside the section. */
export const MAX_SINCE_LENGTH = ',"drainingSince":"2026-01-01T00:00:00Z"'.length;

/** Whether the record exceeds the limits of parseRecord(). @param reserved bytes that are added to the text */
export function isOversized(
  { labels, taints, annotations, startup }: AppliedRecord,
  text: string,
  reserved = 0,
): boolean {
  const most = Math.max(labels.size, taints.size, annotations.size, startup.size);
  return isTooLong(text, MAX_RECORD_LENGTH - reserved) || most > MAX_RECORD_SLOTS;
}

/** The length decides for nearly all: a character of UTF-16 has one to three bytes. */
function isTooLong(text: string, most: number): boolean {
  if (text.length > most) return true;
  return text.length * 3 > most && Buffer.byteLength(text) > most;
}

function readRecord(raw: string): { record?: AppliedRecord; problem?: string } {
  const length = raw.length > MAX_RECORD_LENGTH ? String(raw.length) : TOO_LARGE.exec(raw)?.[1];
  if (length !== undefined) return { problem: `larger than ${MAX_RECORD_LENGTH} characters (${length})` };
  const json = parsedJson(raw);
  if (json === undefined) return { problem: 'not JSON' };
  if (!isObject(json)) return { problem: 'not a JSON object' };
  if (typeof json.pool !== 'string' || !isSubdomain(json.pool)) return { problem: 'without a pool name' };
  const displaced = isObject(json.displaced) ? json.displaced : {};
  const [labels, taints, annotations] = [slotsOf(json.labels), slotsOf(json.taints), slotsOf(json.annotations)];
  const [startup, draining] = [slotsOf(json.startup), slotsOf(json.draining)];
  const most = Math.max(labels.length, taints.length, annotations.length, startup.length, draining.length);
  if (most > MAX_RECORD_SLOTS) {
    return { problem: `more than ${MAX_RECORD_SLOTS} labels, taints or annotations` };
  }
  const record: AppliedRecord = {
    pool: json.pool,
    ...(isGeneration(json.generation) ? { generation: json.generation } : {}),
    labels: parseSlots(labels, displaced.labels, LABEL),
    taints: parseSlots(taints, displaced.taints, TAINT),
    annotations: annotations.length === 0 ? NO_SLOTS : parseSlots(annotations, displaced.annotations, ANNOTATION),
    startup: startup.length === 0 ? NO_STARTUP : parseStartup(startup),
    ...(isBoot(json.boot) ? { boot: json.boot } : {}),
    ...parseRolloutChange(json),
    ...parseDraining(draining),
    ...(draining.length > 0 && isTime(json.drainingSince) ? { drainingSince: json.drainingSince } : {}),
  };
  sources.set(record, raw);
  const kept = record.labels.size + record.taints.size + record.annotations.size + record.startup.size;
  const left = labels.length + taints.length + annotations.length + startup.length - kept;
  return left === 0 ? { record } : { record, problem: `with ${left} labels, taints or annotations that no pool sets` };
}

function parseRolloutChange({ changed, rollout, wasNotReady }: Record<string, unknown>): RolloutChange {
  if (!isTime(changed)) return {};
  if (typeof rollout !== 'string' || !/^[0-9a-f]{10}$/.test(rollout)) return { changed };
  return { changed, rollout, ...(wasNotReady === true ? { wasNotReady } : {}) };
}

function isBoot(value: unknown): value is string {
  return typeof value === 'string' && value !== '' && value === compactBoot(value);
}

function isGeneration(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value > 0;
}

/** As timestamp() writes it. */
function isTime(value: unknown): value is string {
  return (
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) && !Number.isNaN(Date.parse(value))
  );
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
    ...section('annotations', record.annotations, slot => slot.displaced),
  };
  return JSON.stringify({
    pool: record.pool,
    ...(record.generation === undefined ? {} : { generation: record.generation }),
    ...section('labels', record.labels, slot => slot.value),
    ...section('taints', record.taints, slot => slot.value),
    ...section('annotations', record.annotations, slot => slot.value),
    ...section('startup', record.startup, value => value),
    ...(Object.keys(displaced).length > 0 ? { displaced } : {}),
    ...tailOf(record),
    ...section('draining', record.draining ?? NO_DRAINING, value => value),
    ...(record.drainingSince === undefined ? {} : { drainingSince: record.drainingSince }),
  });
}

/** What differs between members that are alike. */
export function tailOf({ boot, ...change }: RolloutChange & Pick<AppliedRecord, 'boot'>): object {
  return { ...(boot === undefined ? {} : { boot }), ...rolloutChangeOf(change) };
}

/** Without the keys that are not there. */
export function rolloutChangeOf({ changed, rollout, wasNotReady }: RolloutChange): RolloutChange {
  if (changed === undefined) return {};
  return {
    changed,
    ...(rollout === undefined ? {} : { rollout }),
    ...(wasNotReady === undefined ? {} : { wasNotReady }),
  };
}

/** The record with the time at which a rollout changes the node. The changes of one rollout share the rest. */
export function withRolloutChange(raw: string | undefined, change: RolloutChange): string | undefined {
  const record = parseRecord(raw);
  if (record === undefined) return undefined;
  const { changed: _changed, rollout: _rollout, wasNotReady: _wasNotReady, ...rest } = record;
  return formatRecord({ ...rest, ...change });
}

/** The record of a node whose drain begins, with the time: pods that were created later have come back, or come in spite of it. */
export function withDrainingSince(raw: string, drainingSince: string): string {
  const record = parseRecord(raw);
  return record?.draining === undefined ? raw : formatRecord({ ...record, drainingSince });
}

// The slots of a record: what each kind may have, and how its sections are read from JSON and written.

export interface AppliedSlot {
  /** What the pool wrote; null when it removed the slot (`unmanaged: Remove`). */
  value: string | null;
  /** The earlier value; absent when the slot was empty. */
  displaced?: string;
}

/** The value that was given by id; null: not given, lifted, or no longer the pool's. */
export type StartupSlots = ReadonlyMap<string, string | null>;

/** `unmanaged: Remove` never strips labels and taints whose key contains "kubernetes". */
export function mayRemoveUnmanaged(key: string): boolean {
  return !key.includes('kubernetes');
}

/** Shared: most records have no annotations. */
export const NO_SLOTS: ReadonlyMap<string, AppliedSlot> = new Map();
const NO_DRAINING: ReadonlyMap<string, string> = new Map();
/** Shared, too. */
export const NO_STARTUP: StartupSlots = new Map();

function slotsOf(values: unknown): [string, unknown][] {
  return isObject(values) ? Object.entries(values) : [];
}

/** What a slot of one kind may have. */
interface SlotRules {
  isId: (id: string) => boolean;
  isValue: (value: unknown) => value is string;
  /** Whether a pool removes such a slot (`unmanaged: Remove`). */
  isRemovable: (id: string) => boolean;
}

/** Leaves out invalid slots: they would make a patch that the server always rejects. */
function parseSlots(
  values: readonly [string, unknown][],
  displaced: unknown,
  { isId, isValue, isRemovable }: SlotRules,
): Map<string, AppliedSlot> {
  const slots = new Map<string, AppliedSlot>();
  for (const [id, value] of values) {
    if (!isId(id) || !(value === null ? isRemovable(id) : isValue(value))) continue;
    const before = isObject(displaced) && Object.hasOwn(displaced, id) ? displaced[id] : undefined;
    slots.set(
      id,
      isValue(before) ? { value: value as string | null, displaced: before } : { value: value as string | null },
    );
  }
  return slots;
}

function parseStartup(values: readonly [string, unknown][]): StartupSlots {
  const isSlot = (slot: [string, unknown]): slot is [string, string | null] =>
    isTaintId(slot[0]) && (slot[1] === null || isValue(slot[1]));
  return new Map(values.filter(isSlot));
}

function parseDraining(values: readonly [string, unknown][]): { draining?: ReadonlyMap<string, string> } {
  const isSlot = (slot: [string, unknown]): slot is [string, string] => isTaintId(slot[0]) && isValue(slot[1]);
  const draining = new Map(values.filter(isSlot));
  return draining.size === 0 ? {} : { draining };
}

function isValue(value: unknown): value is string {
  return typeof value === 'string' && valueProblem(value) === undefined;
}

function isTaintId(id: string): boolean {
  const colon = id.lastIndexOf(':');
  return colon > 0 && keyProblem(id.slice(0, colon)) === undefined && isTaintEffect(id.slice(colon + 1));
}

const LABEL: SlotRules = { isId: id => keyProblem(id) === undefined, isValue, isRemovable: mayRemoveUnmanaged };
const TAINT: SlotRules = { ...LABEL, isId: isTaintId };
const ANNOTATION: SlotRules = {
  isId: isPoolAnnotation,
  isValue: value => typeof value === 'string',
  isRemovable: () => false,
};

function section<S>(
  name: string,
  slots: ReadonlyMap<string, S>,
  pick: (slot: S) => string | null | undefined,
): Record<string, unknown> {
  const entries: [string, string | null][] = [];
  for (const [id, slot] of slots) {
    const value = pick(slot);
    if (value !== undefined) entries.push([id, value]);
  }
  if (entries.length === 0) return {};
  return { [name]: Object.fromEntries(entries.sort(([a], [b]) => (a < b ? -1 : 1))) };
}
