/** The impact on pods with volumes. */
import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { pod } = poolsWithPods(testEnv);
const impact = (...args: string[]) => cli(cluster(), ['diff', 'web', '--impact', ...args]);

beforeEach(async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b' });
  await testEnv.pool('web', { labels: { tier: 'web' } });
  await testEnv.reconcile();
});

test('claims are listed where pods on nodes that change have some, and only there', async () => {
  await pod({ name: 'elsewhere', node: 'b', claim: 'data' });
  await testEnv.edit('web', { spec: { labels: { tier: 'other' } } });
  assert.doesNotMatch((await impact('-v', '6')).stderr, /persistentvolumeclaims/);
  await pod({ name: 'here', node: 'a', claim: 'data' });
  assert.match((await impact('-v', '6')).stderr, /namespaces\/default\/persistentvolumeclaims/);
});
