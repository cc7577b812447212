/** The preview of `move`: pods that could not be scheduled on their node again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { pod } = poolsWithPods(testEnv);
const { cluster } = testEnv;

test('names running pods that could not be scheduled there again, with the rule', async () => {
  await testEnv.nodes({ name: 'n1', labels: { ...role('old'), tier: 'silver' } });
  await testEnv.pool('old');
  await testEnv.pool('gpu', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] });
  await pod({ name: 'plain', node: 'n1' });
  await pod({ name: 'tolerates', node: 'n1', tolerations: [{ operator: 'Exists' }] });
  const { code, stderr } = await cli(cluster(), ['move', 'n1', '--to', 'gpu', '--dry-run']);
  assert.equal(code, 0, stderr);
  assert.equal(
    stderr,
    'warning: 1 running pod could not be scheduled there again: node(s) had untolerated taint(s) (gpu=yes:NoSchedule): default/plain\n',
  );
});

test('says nothing where all could, or could not before', async () => {
  await testEnv.nodes({ name: 'n1', labels: { ...role('old'), tier: 'silver' } });
  await testEnv.pool('old');
  await testEnv.pool('new', { labels: { tier: 'gold' } });
  await pod({ name: 'plain', node: 'n1' });
  await pod({ name: 'was-elsewhere', node: 'n1', nodeSelector: { tier: 'bronze' } });
  const { code, stderr } = await cli(cluster(), ['move', 'n1', '--to', 'new', '--dry-run']);
  assert.deepEqual([code, stderr], [0, '']);
});
