/** `--reason`, `--until` and `--takeover`. */

import * as Flags from '@oclif/core/flags';
import { UNITS } from '../../../cli/duration.ts';
import { isReason, MAX_REASON_LENGTH } from '../../../nodepool/drain/maintenance.ts';
import type { RequestedMaintenance } from '../../../nodepool/drain/plan-cordon.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { timestamp } from '../../../nodepool/timestamp.ts';

export const takeoverFlag = Flags.boolean({ summary: 'Include nodes under maintenance by others.' });

export const maintenanceFlags = {
  reason: Flags.string({ summary: 'Reason, shown to others with your name.', helpValue: 'TEXT' }),
  until: Flags.string({ summary: 'End of the maintenance: 2h, 3d, 18:00 or a date.', helpValue: 'TIME' }),
  takeover: takeoverFlag,
};

/** Undefined if none of the flags is set. Throws usage errors. */
export function parseMaintenance(
  { reason, until }: { reason?: string | undefined; until?: string | undefined },
  now: Date,
): RequestedMaintenance | undefined {
  if (reason === undefined && until === undefined) return undefined;
  if (reason !== undefined && !isReason(reason)) {
    const problem = `--reason must be one line of 1 to ${MAX_REASON_LENGTH} characters`;
    throw new NodepoolError('usage', problem, 'shorten the reason, or remove line breaks and control characters');
  }
  return { reason, until: until === undefined ? undefined : parseUntil(until, now) };
}

// Parses the time in `--until`.

const HOW = 'write it like 2h, 3d, 18:00, 2027-01-31 or 2027-01-31T18:00:00Z';
const MAX_YEAR = 9999;
const DATE = /^\d{4}-\d\d-\d\d$/;

/**
 * Accepts a duration from now (`90m`, `1d12h`), the next occurrence of a local time of day, as in at(1) (`18:00`), a
 * date, meaning the start of that day in local time, or a date with a time, local without an offset (RFC 3339). Returns
 * RFC 3339 in UTC, to the second. Throws a usage error that names the flag, also for a time in the past.
 */
export function parseUntil(text: string, now: Date): string {
  const end =
    afterDuration(text, now) ?? nextTimeOfDay(text, now) ?? dateAndTime(DATE.test(text) ? `${text}T00:00` : text);
  if (end === undefined) throw new NodepoolError('usage', `--until: "${text}" is not a time`, HOW);
  if (Number.isNaN(end.getTime()) || end.getUTCFullYear() > MAX_YEAR)
    throw new NodepoolError('usage', `--until: "${text}" is not a time before the year 10000`, HOW);
  if (end.getTime() <= now.getTime()) {
    const start = DATE.test(text) ? ': a date means the start of that day' : '';
    throw new NodepoolError('usage', `--until: ${text} is in the past${start}`, HOW);
  }
  return timestamp(end);
}

function afterDuration(text: string, now: Date): Date | undefined {
  if (!/^(?:\d{1,9}[smhd])+$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d{1,9})([smhd])/g)];
  const total = parts.reduce((sum, [, value, unit]) => sum + Number(value) * (UNITS[unit ?? ''] ?? 0), 0);
  return new Date(now.getTime() + total);
}

function nextTimeOfDay(text: string, now: Date): Date | undefined {
  const [, hours, minutes] = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text) ?? [];
  if (hours === undefined || minutes === undefined) return undefined;
  const end = new Date(now);
  end.setHours(Number(hours), Number(minutes), 0, 0);
  if (end.getTime() <= now.getTime()) {
    // On the next day: 24 hours later would be another time of day when the clocks change.
    end.setDate(end.getDate() + 1);
    end.setHours(Number(hours), Number(minutes), 0, 0);
  }
  return end;
}

function dateAndTime(text: string): Date | undefined {
  const match =
    /^(\d{4})-(\d\d)-(\d\d)[T ]([01]\d|2[0-3]):([0-5]\d)(:[0-5]\d(?:\.\d{1,9})?)?(Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)?$/i.exec(
      text,
    );
  if (match === null) return undefined;
  const [, year = '', month = '', day = '', hours = '', minutes = '', seconds = ':00', zone = ''] = match;
  // Date would turn February 31 into March 3.
  const days = new Date(Date.UTC(Number(year), Number(month), 0)).getUTCDate();
  if (Number(month) < 1 || Number(month) > 12 || Number(day) < 1 || Number(day) > days) return undefined;
  return new Date(`${year}-${month}-${day}T${hours}:${minutes}${seconds}${zone.toUpperCase()}`);
}
