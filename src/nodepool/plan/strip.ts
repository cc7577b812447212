/** `unmanaged: Remove`, for labels and taints. */
import type { SlotPolicy } from './merge-slots.ts';
import { type AppliedSlot, isStrippable } from './record-slots.ts';

/**
 * Empties every unmanaged slot: live ones, and those already stripped, which would otherwise be restored. A state that passes is
 * not stripped; what an earlier version stripped of it stays in the record until it is set again.
 */
export function strip(
  desired: Map<string, string | null>,
  live: readonly string[],
  applied: ReadonlyMap<string, AppliedSlot> | undefined,
  mayStrip: (id: string) => boolean,
  { isTransient }: SlotPolicy,
): void {
  const stripped = [...(applied ?? [])].filter(([, slot]) => slot.value === null).map(([id]) => id);
  const isUnmanaged = (id: string) => !desired.has(id) && isStrippable(id) && mayStrip(id);
  const passing = new Set(live.filter(id => isUnmanaged(id) && isTransient(id)));
  for (const id of [...live, ...stripped]) if (isUnmanaged(id) && !passing.has(id)) desired.set(id, null);
}
