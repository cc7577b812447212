import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { confirm, confirmOrRefuse } from '../../../src/cli/confirm.ts';
import { testIo } from './test-io.ts';

const QUESTION = { action: 'Continue', where: undefined };
const TERMINAL = { stdinIsTTY: true, stderrIsTTY: true };

describe('confirm', () => {
  const cases: [answer: string, expected: boolean][] = [
    ['y\n', true],
    ['YES\n', true],
    [' y \n', true],
    ['n\n', false],
    ['\n', false],
    ['yep\n', false],
    ['', false],
  ];
  for (const [answer, expected] of cases) {
    test(`${JSON.stringify(answer)} is ${expected ? 'yes' : 'no'}`, async () => {
      const io = testIo({ ...TERMINAL, stdin: answer });
      assert.equal(await confirm(io, { action: 'Delete it', where: 'context prod' }), expected);
      assert.match(io.stderrText(), /^Delete it in context prod\? \[y\/N\] /);
      assert.equal(io.stdoutText(), '');
    });
  }

  for (const facts of [{ stdinIsTTY: true }, { stderrIsTTY: true }]) {
    test(`does not ask a script: ${JSON.stringify(facts)}`, async () => {
      const io = testIo({ ...facts, stdin: '' });
      assert.equal(await confirm(io, { action: 'Delete it', where: 'context prod' }), true);
      assert.equal(io.stderrText(), '');
    });
  }
});

test('returns no for a question that is aborted, and does not ask later', async () => {
  const io = testIo(TERMINAL);
  const stopping = new AbortController();
  const answer = confirm(io, QUESTION, stopping.signal);
  stopping.abort();
  assert.equal(await answer, false);
  assert.deepEqual([io.stdin.listenerCount('data'), io.stderrText()], [0, 'Continue? [y/N] \n']);
  assert.equal(await confirm(io, QUESTION, stopping.signal), false);
  assert.equal(io.stderrText(), 'Continue? [y/N] \n');
});

describe('confirmOrRefuse', () => {
  test('asks on a terminal', async () => {
    const io = testIo({ ...TERMINAL, stdin: 'y\n' });
    assert.equal(await confirmOrRefuse(io, QUESTION, () => assert.fail('it refused')), true);
    assert.equal(await confirmOrRefuse(testIo({ ...TERMINAL, stdin: 'n\n' }), QUESTION, () => assert.fail()), false);
  });

  test('throws in a script without asking', async () => {
    const io = testIo({ stdin: 'y\n' });
    await assert.rejects(
      confirmOrRefuse(io, QUESTION, () => new Error('say --yes')),
      { message: 'say --yes' },
    );
    assert.equal(io.stderrText(), '');
  });
});
