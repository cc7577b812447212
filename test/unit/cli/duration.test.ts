import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parseDuration } from '../../../src/cli/duration.ts';

describe('parseDuration', () => {
  const good: [text: string, ms: number][] = [
    ['0', 0],
    ['30', 30_000],
    ['5s', 5000],
    ['500ms', 500],
    ['1m30s', 90_000],
    ['1.5h', 5_400_000],
    ['0.4ms', 1],
    ['0s', 0],
  ];
  for (const [text, ms] of good) test(text, () => assert.equal(parseDuration(text, '--timeout'), ms));

  for (const text of ['', 'abc', '-5s', '5 s', '5d', '5sx', 's']) {
    test(`refuses "${text}"`, () => {
      assert.throws(() => parseDuration(text, '--timeout'), {
        kind: 'usage',
        message: `--timeout: "${text}" is not a duration`,
      });
    });
  }

  test('refuses durations that overflow 64 bits of nanoseconds', () => {
    assert.equal(parseDuration('9223372036', '--timeout'), 9_223_372_036_000);
    for (const text of ['9223372037', '2562048h', '9'.repeat(400)]) {
      assert.throws(() => parseDuration(text, '--timeout'), {
        kind: 'usage',
        message: `--timeout: "${text}" is longer than 292 years`,
      });
    }
  });
});
