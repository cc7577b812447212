import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { commands } from '../../src/commands/index.ts';
import { main } from '../../src/main.ts';
import { testIo } from '../unit/cli/test-io.ts';

const SCREENS = new URL('./command-help.txt', import.meta.url);

/** Lines and columns of a usual terminal window. */
const [LINES, COLUMNS] = [50, 80];

async function shown(words: string[], columns = COLUMNS): Promise<string> {
  const io = testIo({ columns });
  assert.equal(await main(words, io, ''), 0);
  return io.stdoutText();
}

async function screens(): Promise<string> {
  const lines = [['--help'], ['options'], ...Object.keys(commands).map(command => [command, '--help'])];
  const texts = lines.map(async words => `$ kubectl nodepool ${words.join(' ')}\n${await shown(words)}`);
  return (await Promise.all(texts)).join('\n');
}

// Update the snapshot: UPDATE_SURFACE=1 node --test test/contract/command-help.test.ts
test('the help screens equal the checked-in snapshot', async () => {
  const actual = await screens();
  if (process.env.UPDATE_SURFACE) writeFileSync(SCREENS, actual);
  assert.equal(actual, readFileSync(SCREENS, 'utf8'));
  assert.doesNotMatch(actual, /<%/, 'a template that help.ts does not fill in');
});

test('the help of every command fits a screen and names the command that lists global flags', async () => {
  for (const command of Object.keys(commands)) {
    const text = await shown([command, '--help']);
    const lines = text.trimEnd().split('\n');
    const rows = lines.reduce((sum, line) => sum + Math.max(1, Math.ceil(line.length / COLUMNS)), 0);
    assert.ok(rows <= LINES, `${command}: ${rows} rows`);
    assert.doesNotMatch(text, /--kubeconfig/);
    assert.equal(lines.at(-1), "Use 'kubectl nodepool options' for the flags that every command takes.");
  }
});
