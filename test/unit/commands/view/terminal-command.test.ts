import assert from 'node:assert/strict';
import type { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { setTimeout } from 'node:timers/promises';
import type { Flags } from '../../../../src/cli/completion/grammar.ts';
import Drain from '../../../../src/commands/drain/command.ts';
import { runOnTerminal, shellWords } from '../../../../src/commands/view/terminal-command.ts';
import type { TerminalCommand } from '../../../../src/view/places.ts';
import { testIo } from '../../cli/test-io.ts';

const pool: TerminalCommand = { command: 'drain', pool: 'gpu', node: undefined };
const flags = Object.fromEntries(
  Object.entries(Drain.flags).map(([name, flag]) => [name, { ...flag, name }]),
) as unknown as Flags;

/** Types the lines, each at its own prompt; returns the words that ran and what was printed. */
async function drain(lines: readonly string[], target = pool) {
  const io = testIo();
  const ran: string[][] = [];
  const run = async (words: string[]) => void ran.push(words);
  let ended = false;
  const ending = runOnTerminal(target, { io, version: '1', flags, clusterName: 'staging', run }).then(() => {
    ended = true;
  });
  const prompts = () => io.stdoutText().split(/\$ kubectl|Press enter/).length - 1;
  for (const [at, line] of lines.entries()) {
    while (!ended && prompts() <= at) await setTimeout(1);
    if (!ended) (io.stdin as PassThrough).write(line);
  }
  await ending;
  return { ran, said: io.stderrText(), shown: io.stdoutText() };
}

test('drains the pool, or only the node, with the typed flags', async () => {
  const { ran, shown } = await drain([`--pod-selector 'a in (b, c)' --dry-run --force\r`, '\r']);
  assert.deepEqual(ran, [['gpu', '--pod-selector', 'a in (b, c)', '--dry-run', '--force']]);
  assert.match(shown, /\$ kubectl nodepool drain gpu /);
  // The output of earlier commands is out of sight, but not erased.
  assert.ok(shown.startsWith(`${'\n'.repeat(24)}\x1b[H\x1b[J`), JSON.stringify(shown));
  const ofNode = await drain(['\r', '\r'], { command: 'drain', pool: 'gpu', node: 'gpu-1' });
  assert.deepEqual(ofNode.ran, [['gpu', '--node', 'gpu-1']]);
  assert.match(ofNode.said, /^This drains node gpu-1 of pool gpu on cluster staging\.$/m);
});

test('runs nothing after esc, Ctrl-C, Ctrl-D and q', async () => {
  for (const keys of ['\u001b', '--force\u001b', '\u0003', '--force\u0003', '\u0004', 'q\r']) {
    assert.deepEqual((await drain([keys])).ran, [], JSON.stringify(keys));
  }
});

test('returns after Ctrl-D at a question of the command', async () => {
  const io = testIo();
  const stdin = io.stdin as PassThrough;
  const run = async () => {
    stdin.end();
    for await (const _ of stdin);
  };
  const ending = runOnTerminal(pool, { io, version: '1', flags, clusterName: 'staging', run });
  stdin.write('\r');
  await ending;
  assert.equal(stdin.readableEnded, true);
});

test('asks again for a line with anything but flags', async () => {
  const cases: [line: string, why: string][] = [
    ['y', '"y" is not a flag'],
    ['--force y', '"y" is not a flag'],
    ['--dry-run server', '"server" is not a flag'],
    ['--', '"--" is not a flag'],
    [`--pod-selector 'a`, 'a quote is not closed'],
  ];
  for (const [line, why] of cases) {
    const { ran, said } = await drain([`${line}\r`, '--timeout 5m\r', '\r']);
    assert.deepEqual(ran, [['gpu', '--timeout', '5m']], line);
    assert.ok(said.includes(`error: ${why}; next: type only flags with their values`), said);
  }
});

test('splits a line like a shell, without expansions', () => {
  const cases: [string, string[] | undefined][] = [
    ['', []],
    [' --force  --timeout 5m ', ['--force', '--timeout', '5m']],
    [`--pod-selector 'app in (a, b)' --force`, ['--pod-selector', 'app in (a, b)', '--force']],
    [`--pod-selector="a=b"',c=d'`, ['--pod-selector=a=b,c=d']],
    [`"a \\"b\\" \\n" '\\' a\\ b ''`, ['a "b" \\n', '\\', 'a b', '']],
    ['$HOME *', ['$HOME', '*']],
    [`--pod-selector 'app`, undefined],
    ['"a', undefined],
    ['a\\', undefined],
  ];
  for (const [line, words] of cases) assert.deepEqual(shellWords(line), words, line);
});
