import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';

const SIGNALS = new URL('../../../src/cli/signals.ts', import.meta.url).href;
const SAID = 1_000_000;

/** Stays alive for a minute, as with a hanging login. */
const PROGRAM = `
  import { leaveSoon } from ${JSON.stringify(SIGNALS)};
  setTimeout(() => {}, 60_000);
  process.stdout.write('x'.repeat(${SAID}));
  process.exitCode = 3;
  leaveSoon();`;

test('waits only for a slow reader of stdout before it exits', async () => {
  const child = spawn(process.execPath, ['--input-type=module', '-e', PROGRAM], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = new Promise<number | null>(resolve => child.once('exit', resolve));
  // Longer than one poll.
  await sleep(2_000);
  let read = 0;
  for await (const chunk of child.stdout) read += chunk.length;
  assert.deepEqual([read, await ended], [SAID, 3]);
});
