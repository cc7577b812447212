import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parsePace } from '../../../../src/commands/drain/pace.ts';

describe('the pace', () => {
  test('is one node at a time by default', () => {
    assert.deepEqual(parsePace(undefined, undefined, 9), { kind: 'parallel', nodes: 1 });
    assert.deepEqual(parsePace(4, undefined, 9), { kind: 'parallel', nodes: 4 });
  });

  for (const [text, members, expected] of [
    ['3', 2, 3],
    ['25%', 10, 2],
    ['25%', 3, 1],
    ['1%', 0, 1],
    ['100%', 7, 7],
  ] as const) {
    test(`${text} of ${members} is ${expected}`, () => {
      assert.deepEqual(parsePace(undefined, text, members), { kind: 'max unavailable', nodes: expected });
    });
  }

  for (const text of ['0', '0%', '-1', '101%', '2.5', 'x', '', '%', '1 %', '9999999999']) {
    test(`refuses "${text}"`, () => {
      assert.throws(() => parsePace(undefined, text, 4), {
        kind: 'usage',
        message: new RegExp(`"${text}" is neither`),
      });
    });
  }
});
