import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatAge, formatDuration, formatTimeAndAge } from '../../../src/print/time.ts';

/** Seconds and what k8s.io/apimachinery v0.36.3 duration.HumanDuration says. */
const VECTORS: [number, string][] = [
  [-5, '<invalid>'],
  [-1, '0s'],
  [0, '0s'],
  [1, '1s'],
  [119, '119s'],
  [120, '2m'],
  [121, '2m1s'],
  [599, '9m59s'],
  [600, '10m'],
  [601, '10m'],
  [3600, '60m'],
  [10799, '179m'],
  [10800, '3h'],
  [10860, '3h1m'],
  [28799, '7h59m'],
  [28800, '8h'],
  [172799, '47h'],
  [172800, '2d'],
  [176400, '2d1h'],
  [691199, '7d23h'],
  [691200, '8d'],
  [694800, '8d'],
  [31535999, '364d'],
  [63072000, '2y'],
  [63158400, '2y1d'],
  [252287999, '7y364d'],
  [252288000, '8y'],
  [315360000, '10y'],
];

test('prints durations as kubectl does', () => {
  for (const [seconds, want] of VECTORS) assert.equal(formatDuration(seconds * 1000), want, String(seconds));
  assert.equal(formatDuration(1999), '1s');
});

test('prints ages', () => {
  const now = new Date('2026-11-21T09:00:00Z');
  assert.equal(formatAge('2026-11-19T06:00:00Z', now), '2d3h');
  assert.equal(formatAge('2026-11-21T08:59:55.123456Z', now), '4s');
  assert.equal(formatAge(undefined, now), '<unknown>');
  assert.equal(formatAge('', now), '<unknown>');
  assert.equal(formatTimeAndAge('2026-11-19T06:00:00Z', now), '2026-11-19T06:00:00Z (2d3h ago)');
  assert.equal(formatTimeAndAge('2026-11-21T08:59:55.123456Z', now), '2026-11-21T08:59:55Z (4s ago)');
  assert.equal(formatTimeAndAge(undefined, now), '<unknown>');
});
