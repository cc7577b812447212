/** A pool that gets a taint with NoExecute during a pause: resuming the pool also approves the evictions. */

import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { poolsWithPods } from './draining.ts';
import { openTerminal } from './terminal.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, unchanged } = commandsOf(cluster);
const pods = poolsWithPods(testEnv);
const RESUMES = [
  ['rollout', 'resume', 'web'],
  ['edit', 'web', '--no-paused'],
];
const isPaused = async () => (await testEnv.getPool('web'))?.spec.paused === true;

beforeEach(async () => {
  await testEnv.nodes({ name: 'n', labels: role('web') });
  await testEnv.pool('web', { paused: true });
  await pods.pod({ name: 'p', node: 'n' });
});

for (const resume of RESUMES) {
  const line = resume.join(' ');

  test(`${line}: requires --yes in a script, and shows the pods in a dry run`, async () => {
    await ok(['edit', 'web', '--taint', 'x:NoExecute']);
    const { code, stderr } = await unchanged(resume);
    assert.equal(code, 1);
    assert.match(
      stderr,
      /^error: NoExecute taints evict 1 pod at once from 1 node \(n\): default\/p; .*; nothing was changed; next: .*--yes$/m,
    );
    const rehearsed = await unchanged([...resume, '--dry-run=server']);
    assert.equal(rehearsed.code, 0);
    assert.match(rehearsed.stderr, /^NoExecute taints evict 1 pod at once/);
    const agreed = await cliHere(cluster(), [...resume, '--yes']);
    assert.equal(agreed.code, 0, agreed.stderr);
    assert.equal(await isPaused(), false);
  });

  test(`${line}: asks nothing without a NoExecute taint`, async () => {
    await ok(['edit', 'web', '--taint', 'x:NoSchedule']);
    await ok(resume);
    assert.equal(await isPaused(), false);
  });
}

test('asks on a terminal, and a no keeps the pool paused', async t => {
  await ok(['edit', 'web', '--taint', 'x:NoExecute']);
  for (const [answer, exit] of [
    ['n', 1],
    ['y', 0],
  ] as const) {
    const terminal = openTerminal(t, cluster(), ['rollout', 'resume', 'web'], {
      columns: 160,
      rows: 40,
      env: { NO_COLOR: '1' },
    });
    await terminal.shows(/pool web\b.*evict 1 pod.*\[y\/N\]/s);
    terminal.type(`${answer}{enter}`);
    assert.equal((await terminal.exit).exitCode, exit, terminal.screen());
    assert.equal(await isPaused(), answer === 'n');
  }
});
