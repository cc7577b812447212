import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const CHILD = fileURLToPath(new URL('child.ts', import.meta.url));
/** Forty times the duration on an idle machine: only a hanging parser reaches it. */
const MAX_MS = 300_000;

test('every parser, writer and regular expression takes at most linear time', {
  timeout: MAX_MS,
}, async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [CHILD], { timeout: MAX_MS - 5_000 }).catch(
    ({ stderr, code }: { stderr: string; code: unknown }) =>
      assert.fail(`it ended with ${code} at ${stderr.trimEnd().split('\n').at(-1)}`),
  );
  const lines = stdout.trimEnd().split('\n');
  const [, count] = /^(\d+) regular expressions$/.exec(lines.pop() ?? '') ?? [];
  assert.ok(Number(count) > 140, 'the regular expressions of src/ were found');
  assert.deepEqual(lines, []);
});
