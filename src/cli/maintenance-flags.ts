/** `--reason`, `--until` and `--takeover`. */
import * as Flags from '@oclif/core/flags';
import { NodepoolError } from '../nodepool/errors.ts';
import { isReason, MAX_REASON_LENGTH } from '../nodepool/maintenance.ts';
import type { MaintenanceWish } from '../nodepool/plan-cordon.ts';
import { parseUntil } from './until.ts';

export const takeoverFlag = Flags.boolean({ summary: "Include nodes in others' maintenance." });

export const maintenanceFlags = {
  reason: Flags.string({ summary: 'Why; others see it, with your name.', helpValue: 'TEXT' }),
  until: Flags.string({ summary: 'Until when: 2h, 3d, 18:00 or a date.', helpValue: 'TIME' }),
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
