import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { wantsColor } from '../../../src/cli/io.ts';
import { testIo } from './test-io.ts';

describe('colour', () => {
  const cases: [env: Record<string, string>, isTTY: boolean, expected: boolean][] = [
    [{}, true, true],
    [{}, false, false],
    [{ TERM: 'dumb' }, true, false],
    [{ NO_COLOR: '1' }, true, false],
    [{ NO_COLOR: '' }, true, true],
    [{ FORCE_COLOR: '1' }, false, true],
    [{ FORCE_COLOR: '0' }, true, false],
    [{ FORCE_COLOR: '1', NO_COLOR: '1' }, false, true],
  ];
  for (const [env, isTTY, expected] of cases) {
    test(`${JSON.stringify(env)} on ${isTTY ? 'a terminal' : 'a pipe'}: ${expected}`, () => {
      assert.equal(wantsColor(env, isTTY), expected);
    });
  }
});

test('out() and err() write lines to their own stream', () => {
  const io = testIo();
  io.out('one\ntwo');
  io.err('three');
  assert.equal(io.stdoutText(), 'one\ntwo\n');
  assert.equal(io.stderrText(), 'three\n');
});

test('text of the cluster in a message cannot drive the terminal', () => {
  const io = testIo();
  io.err('error: node \u001b[31mred\u009b2J\u202e');
  assert.equal(io.stderrText(), 'error: node \\x1b[31mred\\x9b2J\\u202e\n');
});
