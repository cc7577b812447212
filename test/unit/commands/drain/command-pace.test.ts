import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { parsePace, wholePoolWarning } from '../../../../src/commands/drain/command.ts';

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

test('warns of a number that is at least the members of a pool', () => {
  const warn = (text: string | undefined, members: number) =>
    wholePoolWarning(text, { pool: 'worker', nodes: [], otherMembers: Array(members) });
  assert.deepEqual(warn('25', 3), ['--max-unavailable 25 covers all 3 nodes of pool worker; did you mean 25%?']);
  assert.deepEqual(warn('3', 3), ['--max-unavailable 3 covers all 3 nodes of pool worker; did you mean 3%?']);
  assert.deepEqual(warn('300', 3), ['--max-unavailable 300 covers all 3 nodes of pool worker']);
  for (const text of [undefined, '2', '25%', '100%']) assert.deepEqual(warn(text, 3), []);
  assert.deepEqual(warn('1', 1), []);
});
