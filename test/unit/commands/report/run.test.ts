import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventTrend } from '../../../../src/commands/report/run.ts';

test('counts Events in twelve intervals of five minutes, the last including now', () => {
  const seen = (lastSeen: string, type = 'Normal') => ({ lastSeen, type });
  const { counts, earlier } = eventTrend(
    [
      seen('2026-01-01T12:00:00Z'),
      seen('2026-01-01T11:59:59.999999Z', 'Warning'),
      seen('2026-01-01T12:02:00Z', 'Other'),
      // The clock of the reporter is ahead.
      seen('2026-01-01T12:40:00Z', 'Warning'),
      seen('2026-01-01T11:05:00Z'),
      seen('2026-01-01T11:04:59Z'),
      seen('no time'),
      seen(''),
    ],
    new Date('2026-01-01T12:03:00Z'),
  );
  assert.equal(counts.length, 12);
  assert.deepEqual(
    counts.filter(({ normal, warning }) => normal + warning > 0).map(({ from, ...each }) => [from.toISOString(), each]),
    [
      ['2026-01-01T11:05:00.000Z', { normal: 1, warning: 0 }],
      ['2026-01-01T11:55:00.000Z', { normal: 0, warning: 1 }],
      ['2026-01-01T12:00:00.000Z', { normal: 2, warning: 1 }],
    ],
  );
  assert.equal(earlier, 3);
});
