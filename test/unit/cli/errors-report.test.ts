import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readCommandLine } from '../../../src/cli/command-line.ts';
import { reportError } from '../../../src/cli/errors.ts';
import { DeclinedError, NodepoolError } from '../../../src/nodepool/errors.ts';
import { testIo } from './test-io.ts';

function report(error: unknown, argv: string[] = [], errorExit?: number) {
  const io = testIo();
  const code = reportError(error, {
    io,
    line: readCommandLine(argv, {}),
    version: '1.2.3',
    command: 'kubectl nodepool get',
    flags: [],
    errorExit,
  });
  assert.equal(io.stdoutText(), '', 'stdout is for results');
  return { code, text: io.stderrText() };
}

describe('reportError', () => {
  test('prints an error that a user can act on as one line, exit code 1', () => {
    assert.deepEqual(report(new NodepoolError('cluster', 'cannot list nodes', 'ask for a role')), {
      code: 1,
      text: 'error: cannot list nodes; next: ask for a role\n',
    });
  });

  test('does not print an error when a person said no', () => {
    assert.deepEqual(report(new DeclinedError()), { code: 1, text: 'nothing was changed\n' });
    const { text } = report(
      new DeclinedError('the nodes of pool w were not changed', 'to continue, run `reconcile w`'),
    );
    assert.equal(text, 'the nodes of pool w were not changed; next: to continue, run `reconcile w`\n');
  });

  test('prints a usage error with a pointer to --help, exit code 2', () => {
    assert.deepEqual(report(new NodepoolError('usage', 'no name')), {
      code: 2,
      text: "error: no name\nSee 'kubectl nodepool get --help'.\n",
    });
  });

  test('uses exit code 2 for commands whose exit code 1 has another meaning', () => {
    assert.equal(report(new NodepoolError('cluster', 'x'), [], 2).code, 2);
    assert.equal(report(new Error('x'), [], 2).code, 2);
  });

  test('prints any other error as a bug in one line', () => {
    assert.deepEqual(report(new TypeError('x is undefined\nat y')), {
      code: 1,
      text: 'error: this is a bug in kubectl-nodepool 1.2.3: x is undefined; next: please report it with the command you ran and its output with -v 9\n',
    });
    assert.match(report('text').text, /^error: this is a bug [^\n]+: text; next/);
  });

  test('prints stack traces only with -v 9', () => {
    for (const error of [new Error('a bug'), new NodepoolError('input', 'wrong')]) {
      assert.doesNotMatch(report(error, ['get', '-v', '8']).text, /\n {4}at /);
      assert.match(report(error, ['get', '-v', '9']).text, /\n {4}at /);
    }
    const forged = report(new NodepoolError('cluster', 'a\nerror: forged'), ['get', '-v', '9']).text;
    assert.match(forged, /\nNodepoolError: a\\nerror: forged\n {4}at /);
  });

  test('writes one log entry in JSON format, with the same exit code', () => {
    const entry = (error: unknown, ...more: string[]) => {
      const { code, text } = report(error, ['reconcile', '--watch', '--log-format', 'json', ...more]);
      const [line = '', ...rest] = text.split('\n');
      assert.deepEqual(rest, ['']);
      const { time, ...fields } = JSON.parse(line);
      assert.equal(time, '2026-01-01T00:00:00.000Z');
      return { code, ...fields };
    };
    const level = 'error';
    assert.deepEqual(entry(new NodepoolError('cluster', 'a\nb\u009b', 'ask for a role')), {
      code: 1,
      level,
      message: 'a\nb\u009b',
      next: 'ask for a role',
    });
    assert.deepEqual(entry(new NodepoolError('usage', 'no name')), {
      code: 2,
      level,
      message: 'no name',
      next: "see 'kubectl nodepool get --help'",
    });
    assert.match(entry(new TypeError('x')).message, /^this is a bug in kubectl-nodepool 1\.2\.3: x$/);
    assert.match(entry(new TypeError('x'), '-v', '9').stack, /\n {4}at /);
    assert.match(report(new Error('x'), ['reconcile', '--log-format=json']).text, /^\{"time"/);
    assert.match(report(new Error('x'), ['reconcile', '--log-format', 'text']).text, /^error: /);
  });

  test('escapes control characters of cluster text', () => {
    assert.doesNotMatch(report(new NodepoolError('cluster', 'a\u001b[31mb')).text, /\u001b/);
  });
});
