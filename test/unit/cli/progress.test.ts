import assert from 'node:assert/strict';
import { test } from 'node:test';
import { progress } from '../../../src/cli/progress.ts';
import { testIo } from './test-io.ts';

test('draws a spinner on a terminal and keeps its final text', async () => {
  const io = testIo({ stderrIsTTY: true });
  const spinner = await progress(io, 'Reconciling');
  spinner.update('Reconciling: 1/2 nodes');
  spinner.stop();
  assert.match(io.stderrText(), /Reconciling/);
  assert.equal(io.stdoutText(), '');
});

for (const facts of [{}, { stderrIsTTY: true, env: { CI: 'true' } }, { stderrIsTTY: true, env: { TERM: 'dumb' } }]) {
  test(`prints nothing with ${JSON.stringify(facts)}`, async () => {
    const io = testIo(facts);
    const spinner = await progress(io, 'Reconciling');
    spinner.update('more');
    spinner.stop();
    assert.equal(io.stderrText(), '');
  });
}
