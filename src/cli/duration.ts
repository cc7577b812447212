import { NodepoolError } from '../nodepool/errors.ts';

/** Milliseconds. */
export const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The longest time.Duration in Go: 64 bits of nanoseconds. */
const MAX_MS = 2 ** 63 / 1e6;

/**
 * Parses a duration as kubectl's flags do: `30s`, `1m30s`, `500ms`, or a bare number of seconds. Returns milliseconds;
 * throws a usage error that names the flag.
 */
export function parseDuration(text: string, flag: string): number {
  const units = /^\d+$/.test(text) ? `${text}s` : text;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(units)) {
    throw new NodepoolError('usage', `${flag}: "${text}" is not a duration`, 'write it like 30s, 1m30s or 2h');
  }
  const parts = [...units.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, value, unit]) => sum + Number(value) * (UNITS[unit ?? ''] ?? 0), 0);
  if (total > MAX_MS) {
    throw new NodepoolError('usage', `${flag}: "${text}" is longer than 292 years`, 'write it like 30s, 1m30s or 2h');
  }
  // Only an exact 0 may become 0, which means no limit.
  return total > 0 ? Math.max(1, Math.round(total)) : 0;
}
