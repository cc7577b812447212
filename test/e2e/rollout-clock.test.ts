/** spec.rollout on a real API server, while the wall clock of the controller is set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sampleRollout } from './rollout-samples.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv();
// The executable takes no NODE_OPTIONS.
process.env.NODEPOOL_TEST_PRODUCT = 'sources';
const SETTLE_SECONDS = 3;
/** SIGUSR2 sets the clock by ten minutes: forward first, then back. */
const JUMPS = `const Real = Date; let [offset, by] = [0, 600_000];
process.on('SIGUSR2', () => { offset += by; by = -1_200_000; });
globalThis.Date = class extends Real {
  constructor(...all) { all.length === 0 ? super(Real.now() + offset) : super(...all); }
  static now() { return Real.now() + offset; }
};`;

test('a wall clock that jumps by ten minutes neither settles nodes nor blocks the rollout', {
  timeout: 120_000,
}, async t => {
  const names = ['n0', 'n1', 'n2', 'n3'];
  await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
  const rollout = { maxConcurrent: 1, settleSeconds: SETTLE_SECONDS };
  await testEnv.pool('web', { labels: { tier: '1' }, rollout });
  await testEnv.reconcile();
  const samples = await sampleRollout(t, testEnv.cluster(), '2', SETTLE_SECONDS);
  process.env.NODE_OPTIONS = `--import=data:text/javascript,${encodeURIComponent(JUMPS)}`;
  const watching = await startWatching(t, testEnv.cluster()).finally(() => delete process.env.NODE_OPTIONS);
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  for (const count of [1, 2]) {
    await eventually(`${count} changed`, () => samples.changed() === count);
    watching.child.kill('SIGUSR2');
  }
  await eventually('all are changed', () => samples.changed() === names.length, 60_000);
  assert.equal(samples.most(), 1);
  await watching.end();
});
