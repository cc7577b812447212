/** The preview of `move`: what the move does to pods. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { pod } = poolsWithPods(testEnv);
const { cluster } = testEnv;

test('names running pods that would not come back, and DaemonSet pods that stop', async () => {
  await testEnv.nodes({ name: 'n1', labels: { ...role('old'), tier: 'silver' } }, { name: 'n2' });
  await testEnv.pool('old');
  await testEnv.pool('gpu', { taints: [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' }] });
  const labels = { daemon: 'bird' };
  const spec = { nodeSelector: role('old'), containers: [{ name: 'c', image: 'i' }] };
  await raw(cluster()).expect('POST', '/apis/apps/v1/namespaces/default/daemonsets', {
    metadata: { name: 'bird' },
    spec: { selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
  });
  const owner = { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'bird' };
  await pod({ name: 'bird-x', node: 'n1', owner, nodeSelector: role('old') });
  await pod({ name: 'plain', node: 'n1' });
  await pod({ name: 'tolerates', node: 'n1', tolerations: [{ operator: 'Exists' }] });
  await pod({ name: 'only-here', node: 'n1', owner: null, nodeSelector: { tier: 'silver' } });
  const { code, stdout, stderr } = await cliHere(cluster(), ['move', 'n1', '--to', 'gpu', '--dry-run']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(
    stdout,
    /^- label node-role\.kubernetes\.io\/old= on 1 node; no other node has it\n {2}DaemonSet default\/bird stops on 1 node: n1$/m,
  );
  assert.match(stdout, /^ {2}1 pod of ReplicaSet default\/web keeps running, but could not be scheduled there again$/m);
  assert.match(
    stdout,
    /^Pods that keep running, if all are recreated:\n {2}Pod default\/only-here: no controller recreates it; a new pod: none fits elsewhere; 1 would stay Pending: /m,
  );
  assert.doesNotMatch(stdout, /tolerates/);
});

test('mentions when all pods could come back, or could not before', async () => {
  await testEnv.nodes({ name: 'n1', labels: { ...role('old'), tier: 'silver' } });
  await testEnv.pool('old');
  await testEnv.pool('new', { labels: { tier: 'gold' } });
  await pod({ name: 'plain', node: 'n1' });
  await pod({ name: 'was-elsewhere', node: 'n1', nodeSelector: { tier: 'bronze' } });
  const { code, stdout, stderr } = await cliHere(cluster(), ['move', 'n1', '--to', 'new', '--dry-run']);
  assert.deepEqual([code, stderr], [0, '']);
  assert.match(stdout, /^Impact: none found$/m);
});
