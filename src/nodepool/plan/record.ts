/**
 * The record: what a pool applied to a node, stored in one annotation on that node.
 *
 * Labels, taints and annotations are slots: an identity (key, or taint `key:Effect`) with one string value. For each
 * slot the record has the value that the pool wrote (null: the pool removed it) and the value that this displaced.
 * Releasing the node restores the displaced value. Startup taints displace nothing (see startup-taints.ts).
 *
 * Not guaranteed: that the record is authentic. A kubelet can write annotations of its own node, and so cause a label,
 * taint or annotation of another owner to be removed or changed there. It cannot add a key that contains "kubernetes",
 * or an annotation that it could not have written itself. If it registers with a record, it avoids the startup taints
 * of that pool, as it can by reporting their condition itself. manifests/protect-records.yaml denies kubelets this
 * annotation.
 */
import { isObject, parsedJson } from '../json.ts';
import { isPoolAnnotation } from '../spec/annotations.ts';
import { isSubdomain, isTaintEffect, keyProblem, valueProblem } from '../spec/syntax.ts';

export interface AppliedRecord {
  pool: string;
  /**
   * metadata.generation of the pool whose spec was last written to the node. A process that knows only an older spec
   * must not write the node (see StalePools). Absent in records of an earlier version or of the admission policy.
   */
  generation?: number;
  labels: ReadonlyMap<string, AppliedSlot>;
  taints: ReadonlyMap<string, AppliedSlot>;
  annotations: ReadonlyMap<string, AppliedSlot>;
  startup: StartupSlots;
  /** The boot for which the startup taints were set; absent unless the pool sets some of them again at each boot. */
  boot?: string;
  /** RFC 3339: last change of the node by a rollout. */
  changed?: string;
  /** rolloutHash() of the spec of that rollout. Absent if an earlier version wrote the time. */
  rollout?: string;
  /** The node was NotReady before that change: so NotReady now says nothing about the change. */
  wasNotReady?: true;
  /** Waiting taints (see no-execute.ts), with their values by id; absent if there are none. */
  draining?: ReadonlyMap<string, string>;
  /** RFC 3339: since when they wait; absent if an earlier version wrote it. */
  drainingSince?: string;
}

/** What a rollout adds to the record of a node that it changes. */
export type RolloutChange = Pick<AppliedRecord, 'changed' | 'rollout' | 'wasNotReady'>;

/**
 * In bytes, as the server counts them. A pool with 100 labels and 100 taints with keys, values and displaced values of
 * maximum length takes 158,112 (validation.ts). With annotations, startup taints or `unmanaged: Remove`, a record can
 * exceed that limit, and is not written.
 */
export const MAX_RECORD_LENGTH = 160 * 1024;
/** Maximum number of labels, of taints, of annotations, and of startup taints, in one record. */
export const MAX_RECORD_SLOTS = 1_000;

const MAX_BOOT_LENGTH = 64;

/** Replaces a record in memory that is too large; no pool wrote such a record. */
const TOO_LARGE = /^record of (\d+) characters$/;

/** The annotation as kept in memory: a text that is too large is replaced. */
export function keptRecord(raw: string): string {
  return raw.length > MAX_RECORD_LENGTH ? `record of ${raw.length} characters` : raw;
}

/** Undefined if there is no record, or if it cannot be parsed. */
export function parseRecord(raw: string | undefined): AppliedRecord | undefined {
  return raw === undefined ? undefined : readRecord(raw).record;
}

/** Shortens a boot id of the kubelet: nearly all are random UUIDs. */
export function compactBoot(bootId: string): string {
  return bootId.slice(0, /^[0-9a-f]{8}-/.test(bootId) ? 8 : MAX_BOOT_LENGTH);
}

/** Why no pool can have written the annotation; undefined if it is valid. Its valid parts are used anyway. */
export function recordProblem(raw: string): string | undefined {
  return readRecord(raw).problem;
}

/** Maximum length that withRolloutChange() adds. */
export const MAX_CHANGE_LENGTH = ',"changed":"2026-01-01T00:00:00Z","rollout":"0123456789","wasNotReady":true'.length;

/** Maximum length that a beginning drain adds, without the section of its taints. */
export const MAX_SINCE_LENGTH = ',"drainingSince":"2026-01-01T00:00:00Z"'.length;

/** Whether the record exceeds the limits of parseRecord(). @param reserved bytes that will be added to the text */
export function isOversized(
  { labels, taints, annotations, startup }: AppliedRecord,
  text: string,
  reserved = 0,
): boolean {
  const most = Math.max(labels.size, taints.size, annotations.size, startup.size);
  return isTooLong(text, MAX_RECORD_LENGTH - reserved) || most > MAX_RECORD_SLOTS;
}

/** The length decides in nearly all cases: a UTF-16 unit has one to three bytes. */
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

/** In the format of timestamp(). */
function isTime(value: unknown): value is string {
  return (
    typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/.test(value) && !Number.isNaN(Date.parse(value))
  );
}

/** The text that each record was parsed from. */
const sources = new WeakMap<AppliedRecord, string>();
const formatted = new WeakMap<AppliedRecord, string>();

/** The annotation; equal records give equal bytes. Computes the text of a record that many nodes share once. */
export function formatRecord(record: AppliedRecord): string {
  const known = formatted.get(record);
  if (known !== undefined) return known;
  const [text, source] = [format(record), sources.get(record)];
  // They are nearly always equal; keeping only one saves memory.
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

/** The fields that differ between otherwise equal members. */
export function tailOf({ boot, ...change }: RolloutChange & Pick<AppliedRecord, 'boot'>): object {
  return { ...(boot === undefined ? {} : { boot }), ...rolloutChangeOf(change) };
}

/** Without absent keys. */
export function rolloutChangeOf({ changed, rollout, wasNotReady }: RolloutChange): RolloutChange {
  if (changed === undefined) return {};
  return {
    changed,
    ...(rollout === undefined ? {} : { rollout }),
    ...(wasNotReady === undefined ? {} : { wasNotReady }),
  };
}

/** The record with the time of a rollout's change. Records changed by one rollout share all other parts. */
export function withRolloutChange(raw: string | undefined, change: RolloutChange): string | undefined {
  const record = parseRecord(raw);
  if (record === undefined) return undefined;
  const { changed: _changed, rollout: _rollout, wasNotReady: _wasNotReady, ...rest } = record;
  return formatRecord({ ...rest, ...change });
}

/** The record with the start of its drain: pods created later have come back, or tolerate the stand-ins. */
export function withDrainingSince(raw: string, drainingSince: string): string {
  const record = parseRecord(raw);
  return record?.draining === undefined ? raw : formatRecord({ ...record, drainingSince });
}

// The slots of a record: what each kind may contain, and how its sections are parsed from JSON and written.

export interface AppliedSlot {
  /** What the pool wrote; null when it removed the slot (`unmanaged: Remove`). */
  value: string | null;
  /** The earlier value; absent if the slot was empty. */
  displaced?: string;
}

/** The value that was set, by id; null: not set, removed, or no longer the pool's. */
export type StartupSlots = ReadonlyMap<string, string | null>;

/** `unmanaged: Remove` never strips labels and taints whose key contains "kubernetes". */
export function mayRemoveUnmanaged(key: string): boolean {
  return !key.includes('kubernetes');
}

/** Shared, as most records have no annotations. */
export const NO_SLOTS: ReadonlyMap<string, AppliedSlot> = new Map();
const NO_DRAINING: ReadonlyMap<string, string> = new Map();
export const NO_STARTUP: StartupSlots = new Map();

function slotsOf(values: unknown): [string, unknown][] {
  return isObject(values) ? Object.entries(values) : [];
}

/** Which slots of one kind are valid. */
interface SlotRules {
  isId: (id: string) => boolean;
  isValue: (value: unknown) => value is string;
  /** Whether a pool removes such a slot (`unmanaged: Remove`). */
  isRemovable: (id: string) => boolean;
}

/** Leaves out invalid slots, because the server would always reject a patch with them. */
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
