import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { describe, test } from 'node:test';
import { readCommandLine } from '../../../src/cli/command-line.ts';
import { dropUnusedColors, processIo, wantsColor, withColorFlag } from '../../../src/cli/io.ts';
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
    [{ FORCE_COLOR: '', NO_COLOR: '1' }, true, false],
  ];
  for (const [env, isTTY, expected] of cases) {
    test(`${JSON.stringify(env)} on ${isTTY ? 'a terminal' : 'a pipe'}: ${expected}`, () => {
      assert.equal(wantsColor(env, isTTY), expected);
      const rest = { ...env };
      dropUnusedColors(rest);
      assert.equal(wantsColor(rest, isTTY), expected);
      assert.ok(!(rest.FORCE_COLOR && rest.NO_COLOR));
    });
  }
});

test('opens stdin and stderr when they are first used', () => {
  const opened: string[] = [];
  const open = (name: string) => {
    opened.push(name);
    return new PassThrough();
  };
  const process = {
    stdout: new PassThrough(),
    env: {},
    get stdin() {
      return open('stdin');
    },
    get stderr() {
      return open('stderr');
    },
  };
  const io = processIo(process as unknown as NodeJS.Process);
  assert.deepEqual(opened, []);
  assert.ok(io.stdin.readable);
  io.err('one');
  io.err('two');
  assert.deepEqual(opened, ['stdin', 'stderr']);
});

test('out() and err() write lines to stdout and stderr', () => {
  const io = testIo();
  io.out('one\ntwo');
  io.err('three');
  assert.equal(io.stdoutText(), 'one\ntwo\n');
  assert.equal(io.stderrText(), 'three\n');
});

test('escapes control characters of cluster text in messages', () => {
  const io = testIo();
  io.err('error: node \u001b[31mred\u009b2J\u202e');
  assert.equal(io.stderrText(), 'error: node \\u001b[31mred\\u009b2J\\u202e\n');
});

test('--color overrides environment and terminal, and the last one before -- counts', () => {
  const cases: [argv: string[], before: boolean, expected: boolean][] = [
    [['get'], true, true],
    [['get', '--color=never'], true, false],
    [['get', '--color', 'never'], true, false],
    [['get', '--color=always'], false, true],
    [['get', '--color=always', '--color=never'], true, false],
    [['get', '--color=auto'], false, false],
    [['get', '--color=always', '--color', 'auto'], false, false],
    [['get', '--color=never', '--color=auto'], true, true],
    [['create', '--label', 'a=b --color=never'], true, true],
    [['get', '--color'], true, true],
    [['get', '--', '--color=always'], false, false],
  ];
  for (const [argv, before, expected] of cases) {
    const { color, errorColor } = withColorFlag(
      testIo({ color: before, errorColor: before }),
      readCommandLine(argv, {}).color,
    );
    assert.deepEqual({ color, errorColor }, { color: expected, errorColor: expected }, argv.join(' '));
  }
});

test('escapes control characters on a terminal, and writes them unchanged to a pipe', () => {
  const slip = '\u001b[32mgreen\u001b[39m \u001b[2J\u202e\n\tb';
  const shown = (facts: object) => {
    const io = testIo(facts);
    io.out(slip);
    return io.stdoutText();
  };
  assert.equal(shown({ stdoutIsTTY: true, color: true }), '\u001b[32mgreen\u001b[39m \\u001b[2J\\u202e\n\tb\n');
  assert.equal(shown({ stdoutIsTTY: true }), '\\u001b[32mgreen\\u001b[39m \\u001b[2J\\u202e\n\tb\n');
  assert.equal(shown({}), `${slip}\n`);
});
