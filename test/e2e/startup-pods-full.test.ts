/**
 * A NoExecute startup taint on a whole cluster: controller manager, scheduler and kwok as the kubelets. While labels flap,
 * records are lost and a selector is edited and edited back, no pod is evicted.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { labelNode, setCondition } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { samplePods } from './pod-samples.ts';
import { role, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const PODS = '/api/v1/namespaces/default/pods';
const REPLICAS = 6;
const NAMES = ['w-0', 'w-1', 'w-2'];
const STARTUP = 'agent:NoExecute';

describe('a NoExecute startup taint and pods', () => {
  const testEnv = useFullTestEnv();
  const api = () => raw(testEnv.cluster());
  const records = async () =>
    (await Promise.all(NAMES.map(testEnv.node))).map(({ metadata }) => metadata.annotations?.[RECORD_ANNOTATION]);
  const areMembers = async () => (await records()).every(record => record !== undefined);
  const taints = async () => (await Promise.all(NAMES.map(testEnv.node))).flatMap(taintsOf);

  test('no pod of 6 is evicted by a label that flaps, a lost record, or a selector that is edited and edited back', {
    timeout: 300_000,
  }, async t => {
    await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', {
      startupTaints: [{ key: 'agent', effect: 'NoExecute', until: { nodeCondition: 'AgentReady' } }],
    });
    await startWatching(t, testEnv.cluster());
    await eventually('they are given', async () => (await taints()).filter(text => text === STARTUP).length === 3);
    for (const name of NAMES) await setCondition(testEnv.cluster(), name, 'AgentReady', 'True');
    await eventually('they are lifted', async () => !(await taints()).includes(STARTUP));
    // Most agents report that once, and nothing after a restart.
    for (const name of NAMES) await setCondition(testEnv.cluster(), name, 'AgentReady', null);

    const labels = { app: 'web' };
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers } };
    const selector = { matchLabels: labels };
    await api().expect('POST', '/apis/apps/v1/namespaces/default/deployments', {
      metadata: { name: 'web' },
      spec: { replicas: REPLICAS, selector, template },
    });
    await api().expect('POST', '/apis/policy/v1/namespaces/default/poddisruptionbudgets', {
      metadata: { name: 'web' },
      spec: { minAvailable: 5, selector },
    });
    const uids = async () => {
      const { items } = (await api().expect('GET', PODS)) as {
        items: { metadata: { uid: string }; status: { phase: string } }[];
      };
      return items.flatMap(({ metadata, status }) => (status.phase === 'Running' ? metadata.uid : [])).toSorted();
    };
    await eventually('all pods run', async () => (await uids()).length === REPLICAS, 120_000);
    const [before, samples] = [await uids(), await samplePods(t, testEnv.cluster())];

    for (const name of NAMES) await labelNode(testEnv.cluster(), name, { 'node-role.kubernetes.io/web': null });
    await eventually('they leave', async () => (await records()).every(record => record === undefined));
    for (const name of NAMES) await labelNode(testEnv.cluster(), name, role('web'));
    await eventually('they come back', areMembers);

    for (const name of NAMES)
      await testEnv.patchNode(name, { metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
    await eventually('they have records again', areMembers);

    await testEnv.edit('web', { spec: { nodeSelector: { other: 'x' } } });
    await eventually('they leave', async () => (await records()).every(record => record === undefined));
    await testEnv.edit('web', { spec: { nodeSelector: { ...role('web'), other: null } } });
    await eventually('they come back', areMembers);

    assert.deepEqual(await uids(), before);
    assert.ok(!(await taints()).includes(STARTUP));
    assert.equal(Math.min(...samples.fewest().values()), REPLICAS);
  });
});
