import assert from 'node:assert/strict';
import { test } from 'node:test';
import { oldestFirst } from '../../../../../src/commands/shared/describe/print-timeline.ts';

test('orders events by the last time, with any number of fraction digits', () => {
  const times = [
    '',
    '2026-01-01T00:00:01Z',
    '2026-01-01T00:00:01.000001Z',
    '2026-01-01T00:00:01.000002Z',
    '2026-01-01T00:00:01.9Z',
    '2026-01-01T00:00:01.900001Z',
    '2026-01-01T00:00:02Z',
    '2026-01-01T01:00:02.5+01:00',
    '2026-01-01T00:00:03.000Z',
  ];
  const events = times.map(lastSeen => ({ lastSeen }));
  assert.deepEqual(events.toReversed().toSorted(oldestFirst), events);
  assert.deepEqual(events.toSorted(oldestFirst), events);
  assert.equal(oldestFirst({ lastSeen: '2026-01-01T00:00:01Z' }, { lastSeen: '2026-01-01T00:00:01.000Z' }), 0);
});
