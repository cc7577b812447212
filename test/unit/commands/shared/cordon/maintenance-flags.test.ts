import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { parseUntil } from '../../../../../src/commands/shared/cordon/maintenance-flags.ts';

const zone = process.env.TZ;
after(() => {
  if (zone === undefined) delete process.env.TZ;
  else process.env.TZ = zone;
});
const NOW = new Date('2026-11-24T12:00:00.500Z');

test('parses durations, dates and times of day', () => {
  process.env.TZ = 'Asia/Tokyo';
  const good: [text: string, until: string][] = [
    ['2h', '2026-11-24T14:00:00Z'],
    ['90m', '2026-11-24T13:30:00Z'],
    ['3d', '2026-11-27T12:00:00Z'],
    ['1d12h30m5s', '2026-11-26T00:30:05Z'],
    // It is 21:00 in Tokyo.
    ['22:30', '2026-11-24T13:30:00Z'],
    ['21:00', '2026-11-25T12:00:00Z'],
    ['6:00', '2026-11-24T21:00:00Z'],
    ['2027-01-31T18:00:00Z', '2027-01-31T18:00:00Z'],
    ['2027-01-31T18:00:00.9+01:00', '2027-01-31T17:00:00Z'],
    ['2027-01-31t18:00z', '2027-01-31T18:00:00Z'],
    ['2027-01-31 18:00', '2027-01-31T09:00:00Z'],
    ['2028-02-29T00:00Z', '2028-02-29T00:00:00Z'],
    // The start of the day in Tokyo.
    ['2027-01-31', '2027-01-30T15:00:00Z'],
  ];
  for (const [text, until] of good) assert.equal(parseUntil(text, NOW), until, text);
});

test('parses a time of day on days when clocks change', () => {
  process.env.TZ = 'Europe/Berlin';
  const evening = new Date('2026-10-24T20:00:00Z');
  assert.equal(parseUntil('06:00', evening), '2026-10-25T05:00:00Z');
  const morning = new Date('2026-10-24T08:00:00Z');
  assert.equal(parseUntil('09:00', morning), '2026-10-25T08:00:00Z');
});

test('refuses other texts and times in the past', () => {
  for (const text of [
    '',
    'soon',
    '2',
    '2w',
    '-2h',
    '2 h',
    '24:00',
    '18:60',
    '2027-02-29T00:00:00Z',
    '2027-13-01T00:00Z',
    '2027-00-10T00:00Z',
    '2027-02-29',
    '2027-1-31',
    '2027-01-31T18:00:00+25:00',
  ])
    assert.throws(() => parseUntil(text, NOW), { kind: 'usage', message: `--until: "${text}" is not a time` });
  for (const text of ['0h', '2026-11-24T12:00:00Z', '0001-01-01T00:00Z'])
    assert.throws(() => parseUntil(text, NOW), { kind: 'usage', message: `--until: ${text} is in the past` });
  // It has begun.
  for (const text of ['2026-11-24', '2020-02-29']) {
    const message = `--until: ${text} is in the past: a date means the start of that day`;
    assert.throws(() => parseUntil(text, NOW), { kind: 'usage', message });
  }
  for (const text of ['999999999d', '9999-12-31T23:59:59-01:00'])
    assert.throws(() => parseUntil(text, NOW), { message: `--until: "${text}" is not a time before the year 10000` });
});
