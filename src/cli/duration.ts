import { NodepoolError } from '../nodepool/errors.ts';

const UNITS: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000 };

/**
 * A duration as kubectl's flags take it: `30s`, `1m30s`, `500ms`, or a bare number of seconds.
 * Returns milliseconds; throws a usage error that names the flag.
 */
export function parseDuration(text: string, flag: string): number {
  if (/^\d+$/.test(text)) return Number(text) * 1000;
  if (!/^(?:\d+(?:\.\d+)?(?:ms|s|m|h))+$/.test(text)) {
    throw new NodepoolError('usage', `${flag}: "${text}" is not a duration`, 'write it like 30s, 1m30s or 2h');
  }
  const parts = [...text.matchAll(/(\d+(?:\.\d+)?)(ms|s|m|h)/g)];
  const total = parts.reduce((sum, [, value, unit]) => sum + Number(value) * (UNITS[unit ?? ''] ?? 0), 0);
  // 0 has a meaning of its own.
  return total > 0 ? Math.max(1, Math.round(total)) : 0;
}
