/** `unmanaged: Remove`, for labels and taints. */
import { type AppliedSlot, isStrippable } from './record-slots.ts';

/** Empties every unmanaged slot: live ones, and those already stripped, which would otherwise be restored. */
export function strip(
  desired: Map<string, string | null>,
  live: string[],
  applied: ReadonlyMap<string, AppliedSlot> | undefined,
  mayStrip: (id: string) => boolean,
): void {
  const stripped = [...(applied ?? [])].filter(([, slot]) => slot.value === null).map(([id]) => id);
  for (const id of [...live, ...stripped]) {
    if (!desired.has(id) && isStrippable(id) && mayStrip(id)) desired.set(id, null);
  }
}
