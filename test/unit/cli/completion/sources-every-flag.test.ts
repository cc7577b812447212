/** Completes the value of every flag and argument of every command: complete() gives nothing where something throws. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import manifest from '../../../../oclif.manifest.json' with { type: 'json' };
import type { Grammar } from '../../../../src/cli/completion/grammar.ts';
import { type CompletionSource, sourceOfArg, sourceOfFlag } from '../../../../src/cli/completion/sources.ts';
import { answer } from './fake-names.ts';

const commands = Object.entries(manifest.commands as Grammar);

/** Whether the answer comes from that source, for which the fake cluster has names. */
function check(text: string, { kind }: CompletionSource, line: string): void {
  if (kind === 'files') assert.equal(text, ':0\n', line);
  else if (kind === 'none') assert.equal(text, ':4\n', line);
  else assert.match(text, /^[^:\n].*\n:[46]\n$/s, line);
}

test('completes every flag of every command', async () => {
  for (const [command, { flags }] of commands) {
    for (const flag of Object.values(flags).filter(({ type }) => type === 'option')) {
      const source = sourceOfFlag(command, flag);
      const words = [command, `--${flag.name}=${source.kind === 'effects' ? 'a=b:' : ''}`];
      check(await answer(words, { wholeWords: true }), source, words.join(' '));
    }
  }
});

test('completes the second name of every flag that takes comma-separated names', async () => {
  for (const [command, { flags }] of commands) {
    for (const flag of Object.values(flags).filter(({ type, multiple }) => type === 'option' && multiple)) {
      const source = sourceOfFlag(command, flag);
      if (source.kind !== 'live' || source.list !== true) continue;
      const line = `${command} --${flag.name} other,`;
      assert.match(await answer(line.split(' ')), /^other,.+\n:[46]\n$/s, line);
    }
  }
});

test('completes the arguments of every command', async () => {
  for (const [command, { args }] of commands) {
    const [first] = Object.values(args);
    if (first !== undefined) check(await answer([command, '']), sourceOfArg(command, first), command);
  }
});

test('offers only pod metrics to sort pods by', async () => {
  assert.equal(await answer(['top', '--pods', '--sort-by', '']), 'name\ncpu\nmemory\nnvidia.com/gpu\n:4\n');
  const measures = ['allocatable', 'requested', 'limits', 'used', 'percent'].map(name => `cpu.${name}\n`);
  assert.equal(await answer(['top', '--pods', '--sort-by', 'cpu.']), `${measures.join('')}:4\n`);
});

test('offers startup taints of pools, and effects', async () => {
  assert.equal(await answer(['edit', 'worker', '--startup-taint', '']), 'agent=starting:NoSchedule\n:4\n');
  assert.equal(
    await answer(['edit', 'worker', '--startup-taint', 'a:NoExecute,until=Ready,b:No']),
    'a:NoExecute,until=Ready,b:NoSchedule\na:NoExecute,until=Ready,b:NoExecute\n:4\n',
  );
});

test('offers the revisions of the pool', async () => {
  assert.equal(await answer(['rollout', 'undo', 'gpu', '--to-revision', '']), '1\n2\n:4\n');
  assert.equal(await answer(['rollout', 'history', 'worker', '--revision', '']), ':4\n');
});

test('offers keys of pool annotations without values and lists', async () => {
  assert.equal(await answer(['edit', 'worker', '--annotation', '']), 'example.com/owner=\nnote=\n:6\n');
  assert.equal(await answer(['edit', 'worker', '--annotation', 'note=']), ':4\n');
  assert.equal(await answer(['edit', 'worker', '--annotation', 'note=a,']), ':4\n');
});
