import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatRecord, parseRecord } from '../../../../src/nodepool/plan/record.ts';
import { RecordCache } from '../../../../src/nodepool/plan/record-cache.ts';

const TIMES = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:01Z'] as const;
const stamped = (time: string, rest = '') =>
  `{"pool":"p","labels":{"tier":"gold"},"taints":{"a:NoSchedule":"x"},"displaced":{"labels":{"tier":"old"}},"changed":"${time}","rollout":"0123456789"${rest}}`;

test('records that differ only in their stamps share their other data', () => {
  const cache = new RecordCache();
  const [a, b] = TIMES.map(time => cache.read(stamped(time)));
  assert.ok(a && b);
  assert.notEqual(a, b);
  assert.deepEqual([a.changed, b.changed], TIMES);
  for (const part of ['labels', 'taints', 'annotations', 'startup'] as const) assert.equal(a[part], b[part]);
  assert.deepEqual(
    [a, b].map(formatRecord),
    TIMES.map(time => stamped(time)),
  );
  assert.equal(cache.read(stamped(TIMES[0])), a);
});

test('a cached record equals the parsed record', () => {
  const texts = TIMES.flatMap(time => [
    stamped(time),
    stamped(time, ',"wasNotReady":true'),
    stamped(time, ',"draining":{"a:NoExecute":"x"}'),
    // The stamp is that of a label, or not at the end.
    `{"pool":"p","annotations":{"a":"b","changed":"${time}"}}`,
    `{"pool":"p","labels":{"tier":"gold"},"changed":"${time}"}`,
    `{"pool":"p","changed":"${time}","labels":{"tier":"gold"}}`,
    // The last of equal keys counts, also where the first is before the stamp.
    `{"pool":"p","wasNotReady":true,"rollout":"9876543210","changed":"${time}"}`,
    `{"pool":"p","labels":{"tier":"a"},"labels":{"tier":"b"},"changed":"${time}","rollout":"0123456789"}`,
    `{"pool":"p","changed":"${TIMES[0]}","changed":"${time}","rollout":"0123456789"}`,
    `{"changed":"${time}"}`,
  ]);
  const cache = new RecordCache();
  for (const raw of [...texts, ...texts.toReversed()]) assert.deepEqual(cache.read(raw), parseRecord(raw), raw);
});

test('a new cache reuses records of the earlier cache until forgetEarlier()', () => {
  const earlier = new RecordCache();
  const [first, second] = TIMES.map(time => earlier.read(stamped(time)));
  const cache = new RecordCache(earlier);
  assert.equal(cache.read(stamped(TIMES[0])), first);
  cache.forgetEarlier();
  assert.equal(cache.read(stamped(TIMES[0])), first);
  const again = cache.read(stamped(TIMES[1]));
  assert.notEqual(again, second);
  assert.deepEqual(again, second);
});
