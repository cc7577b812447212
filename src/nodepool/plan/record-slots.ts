/** The slots of a record: what each kind may have, and how its sections are read from JSON and written. */

import { isObject } from '../json.ts';
import { isPoolAnnotation } from '../spec/annotations.ts';
import { isTaintEffect, keyProblem, valueProblem } from '../spec/syntax.ts';

export interface AppliedSlot {
  /** What the pool wrote; null when it removed the slot (`unmanaged: Remove`). */
  value: string | null;
  /** The earlier value; absent when the slot was empty. */
  displaced?: string;
}

/** The value that was given by id; null: not given, lifted, or no longer the pool's. */
export type StartupSlots = ReadonlyMap<string, string | null>;

/** `unmanaged: Remove` never strips labels and taints whose key contains "kubernetes". */
export function isStrippable(key: string): boolean {
  return !key.includes('kubernetes');
}

/** Shared: most records have no annotations. */
export const NO_SLOTS: ReadonlyMap<string, AppliedSlot> = new Map();
export const NO_DRAINING: ReadonlyMap<string, string> = new Map();
/** Shared, too. */
export const NO_STARTUP: StartupSlots = new Map();

export function slotsOf(values: unknown): [string, unknown][] {
  return isObject(values) ? Object.entries(values) : [];
}

/** What a slot of one kind may have. */
interface SlotRules {
  isId: (id: string) => boolean;
  isValue: (value: unknown) => value is string;
  /** Whether a pool removes such a slot (`unmanaged: Remove`). */
  isStripped: (id: string) => boolean;
}

/** Leaves out invalid slots: they would make a patch that the server always rejects. */
export function parseSlots(
  values: readonly [string, unknown][],
  displaced: unknown,
  { isId, isValue, isStripped }: SlotRules,
): Map<string, AppliedSlot> {
  const slots = new Map<string, AppliedSlot>();
  for (const [id, value] of values) {
    if (!isId(id) || !(value === null ? isStripped(id) : isValue(value))) continue;
    const before = isObject(displaced) && Object.hasOwn(displaced, id) ? displaced[id] : undefined;
    slots.set(
      id,
      isValue(before) ? { value: value as string | null, displaced: before } : { value: value as string | null },
    );
  }
  return slots;
}

export function parseStartup(values: readonly [string, unknown][]): StartupSlots {
  const isSlot = (slot: [string, unknown]): slot is [string, string | null] =>
    isTaintId(slot[0]) && (slot[1] === null || isValue(slot[1]));
  return new Map(values.filter(isSlot));
}

export function parseDraining(values: readonly [string, unknown][]): { draining?: ReadonlyMap<string, string> } {
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

export const LABEL: SlotRules = { isId: id => keyProblem(id) === undefined, isValue, isStripped: isStrippable };
export const TAINT: SlotRules = { ...LABEL, isId: isTaintId };
export const ANNOTATION: SlotRules = {
  isId: isPoolAnnotation,
  isValue: value => typeof value === 'string',
  isStripped: () => false,
};

export function section<S>(
  name: string,
  slots: ReadonlyMap<string, S>,
  pick: (slot: S) => string | null | undefined,
): Record<string, unknown> {
  const entries = [...slots]
    .map(([id, slot]) => [id, pick(slot)] as const)
    .filter(([, value]) => value !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1));
  return entries.length > 0 ? { [name]: Object.fromEntries(entries) } : {};
}
