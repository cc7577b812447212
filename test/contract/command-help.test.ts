import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { commands } from '../../src/commands/index.ts';
import { main } from '../../src/main.ts';
import { testIo } from '../unit/cli/test-io.ts';

const SCREENS = new URL('./command-help.txt', import.meta.url);

async function help(...words: string[]): Promise<string> {
  const io = testIo();
  assert.equal(await main([...words, '--help'], io, ''), 0);
  return `$ kubectl nodepool ${[...words, '--help'].join(' ')}\n${io.stdoutText()}`;
}

/** Every help screen; global flags are shown once. */
async function screens(): Promise<string> {
  const [first = '', ...others] = await Promise.all(Object.keys(commands).map(command => help(command)));
  const own = others.map(screen => screen.replace(/\nGLOBAL FLAGS\n.*/s, ''));
  return [await help(), first, ...own].join('\n');
}

// Update the snapshot: UPDATE_SURFACE=1 node --test test/contract/command-help.test.ts
test('the help screens equal the checked-in snapshot', async () => {
  const actual = await screens();
  if (process.env.UPDATE_SURFACE) writeFileSync(SCREENS, actual);
  assert.equal(actual, readFileSync(SCREENS, 'utf8'));
  assert.doesNotMatch(actual, /<%/, 'a template that help.ts does not fill in');
});
