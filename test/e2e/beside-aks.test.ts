/**
 * AKS refuses changes of the labels and taints that are configured on its node pool, by an admission webhook. Here a webhook
 * with its name, rules and messages does.
 */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { POOL_LABEL } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { condition, type LiveNode, statuses, taintsOf, useTestEnv } from './test-env.ts';
import { serveWebhook } from './webhook.ts';

const testEnv = useTestEnv();
const { ok } = commandsOf(testEnv.cluster);

const AGENT_POOL = 'kubernetes.azure.com/agentpool';
const WEBHOOK = 'aks-node-validating-webhook.azmk8s.io';
/** The configuration of AKS node pool "gpu". */
const CONFIGURED = { label: 'dept', taint: { key: 'sku', value: 'gpu', effect: 'NoSchedule' as const } };
const GPU = { labels: { [AGENT_POOL]: 'gpu', [CONFIGURED.label]: 'it' }, taints: [CONFIGURED.taint] };
/** Nodes of AKS node pool "web", which has no configuration, too. */
const ALL = { matchExpressions: [{ key: AGENT_POOL, operator: 'Exists' as const }] };

async function besideAks(t: TestContext): Promise<void> {
  await testEnv.nodes({ name: 'gpu-1', ...GPU }, { name: 'web-1', labels: { [AGENT_POOL]: 'web' } });
  const end = await serveWebhook<LiveNode>(testEnv.cluster(), {
    name: WEBHOOK,
    rules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] }],
    refusal: ({ uid, oldObject, object }) => {
      const label = (node: LiveNode) => node.metadata.labels[CONFIGURED.label];
      const taint = (node: LiveNode) =>
        taintsOf(node)
          .filter(text => text.startsWith(CONFIGURED.taint.key))
          .join();
      if (oldObject.metadata.labels[AGENT_POOL] !== 'gpu') return undefined;
      if (label(object) !== label(oldObject))
        return `(UID: ${uid}) Label update/add request "${CONFIGURED.label}:${label(object)}" refused. User is attempting to update/add a label configured on node pool. Please change node pool label configuration through Azure.`;
      if (taint(object) !== taint(oldObject))
        return `(UID: ${uid}) Taint update request "${taint(object)}" refused. User is attempting to change a taint configured on node pool "gpu".`;
      return undefined;
    },
    isInForce: async () => {
      const change = { metadata: { labels: { [CONFIGURED.label]: 'probe' } } };
      return (await raw(testEnv.cluster()).request('PATCH', '/api/v1/nodes/gpu-1?dryRun=All', change)).status === 403;
    },
  });
  t.after(end);
}

test('a label or taint that AKS refuses is reported, and other nodes are written', async t => {
  await besideAks(t);
  const before = await testEnv.node('gpu-1');
  const refused = [
    [{ labels: { dept: 'hr' } }, /Label update\/add request "dept:hr" refused/],
    [{ taints: [{ ...CONFIGURED.taint, value: 'other' }] }, /Taint update request "sku=other:NoSchedule" refused/],
  ] as const;
  await testEnv.pool('p', ALL);
  for (const [at, [spec, refusal]] of refused.entries()) {
    await testEnv.edit('p', { spec: { labels: null, taints: null, annotations: { note: String(at) }, ...spec } });
    const { code, stdout, stderr } = await cliHere(testEnv.cluster(), ['reconcile']);
    assert.equal(code, 1, stdout + stderr);
    for (const said of [stderr, condition(await testEnv.getPool('p'), 'Applied').message]) {
      assert.match(said, refusal);
      assert.ok(said.includes(WEBHOOK), said);
      assert.match(said, /gpu-1/);
      assert.doesNotMatch(said, /web-1/);
    }
    assert.deepEqual(await testEnv.node('gpu-1'), before);
    assert.equal((await testEnv.node('web-1')).metadata.annotations?.note, String(at));
    assert.equal((await testEnv.getPool('p'))?.status?.status, 500);
  }
  await testEnv.edit('p', { spec: { labels: null, taints: null } });
  assert.deepEqual(statuses(await testEnv.reconcile()), { p: 200 });
  const after = await testEnv.node('gpu-1');
  assert.equal(after.metadata.annotations?.note, '1');
  assert.deepEqual(after.spec, before.spec);
  assert.deepEqual(after.metadata.labels, { ...before.metadata.labels, [POOL_LABEL]: 'p' });
});

test('sets, repairs and removes keys unknown to AKS, and an agent removes a startup taint', async t => {
  await besideAks(t);
  await testEnv.pool('p', {
    ...ALL,
    labels: { tier: 'gold' },
    taints: [{ key: 'dedicated', effect: 'NoSchedule' }],
    startupTaints: [{ key: 'driver', effect: 'NoSchedule' }],
  });
  const taints = async () => taintsOf(await testEnv.node('gpu-1')).toSorted();
  const [aks, dedicated, driver] = ['sku=gpu:NoSchedule', 'dedicated:NoSchedule', 'driver:NoSchedule'];
  await ok(['reconcile']);
  assert.deepEqual(await taints(), [dedicated, driver, aks]);
  await testEnv.patchNode('gpu-1', { metadata: { labels: { tier: 'mine' } }, spec: { taints: GPU.taints } });
  await ok(['reconcile']);
  assert.deepEqual(await taints(), [dedicated, aks]);
  assert.equal((await testEnv.node('gpu-1')).metadata.labels.tier, 'gold');
  await testEnv.delete(['p']);
  assert.deepEqual(await taints(), [aks]);
});
