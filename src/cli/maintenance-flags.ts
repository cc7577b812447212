/** `--reason`, `--until` and `--takeover`. */
import * as Flags from '@oclif/core/flags';
import { NodepoolError } from '../nodepool/errors.ts';
import { isReason, MAX_REASON_LENGTH } from '../nodepool/maintenance.ts';
import type { MaintenanceWish } from '../nodepool/plan-cordon.ts';
import { parseUntil } from './until.ts';

const GROUP = { helpGroup: 'MAINTENANCE' };

export const takeoverFlag = Flags.boolean({ ...GROUP, summary: "Include nodes in somebody else's maintenance." });

export const maintenanceFlags = {
  reason: Flags.string({ ...GROUP, summary: 'Why: a maintenance in your name, shown to others.', helpValue: 'TEXT' }),
  until: Flags.string({ ...GROUP, summary: 'Its end: 2h, 3d, 18:00 or a date; for show.', helpValue: 'TIME' }),
  takeover: takeoverFlag,
};

/** Undefined without one of the flags. Throws usage errors. */
export function parseMaintenance(
  { reason, until }: { reason?: string | undefined; until?: string | undefined },
  now: Date,
): MaintenanceWish | undefined {
  if (reason === undefined && until === undefined) return undefined;
  if (reason !== undefined && !isReason(reason)) {
    const problem = `--reason is not one line of 1 to ${MAX_REASON_LENGTH} characters`;
    throw new NodepoolError('usage', problem, 'shorten it, or remove line breaks and control characters');
  }
  return { reason, until: until === undefined ? undefined : parseUntil(until, now) };
}
