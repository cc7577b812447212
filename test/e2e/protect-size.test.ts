/** manifests/protect-records.yaml keeps a kubelet from making its node so large that the server refuses what its pool writes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { MAINTENANCE_ANNOTATION } from '../../src/nodepool/types.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { apply } from './birth.ts';
import { GROUP, kubeletOf, TAINT } from './kubelet.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const MERGE = 'application/merge-patch+json';

/** A kubelet of a node whose size is limited. */
async function limited(name: string) {
  await apply(cluster(), 'manifests/protect-records.yaml');
  await testEnv.nodes({ name, labels: { [GROUP]: 'pci' } });
  const kubelet = kubeletOf(cluster(), name);
  const probe = async () => (await kubelet.annotate({ [MAINTENANCE_ANNOTATION]: `${performance.now()}` })).status;
  await eventually('the policy is enforced', async () => (await probe()) === 422, 60_000);
  await testEnv.patchNode(name, { metadata: { annotations: { [MAINTENANCE_ANNOTATION]: null } } });
  return kubelet;
}
const runtime = (length: number) => ({ nodeInfo: { containerRuntimeVersion: 'x'.repeat(length) } });
const LONG = 'x'.repeat(50);
const many = (count: number) =>
  Object.fromEntries(Array.from({ length: count }, (_, at) => [`example.com/${LONG}${at}`, LONG]));

test('a kubelet cannot fill its node, and taints of its pool reach the largest node', async () => {
  const kubelet = await limited('a');
  await testEnv.pool('pci', { nodeSelector: { [GROUP]: 'pci' }, labels: { tier: '1' }, annotations: { note: 'x' } });
  await testEnv.reconcile();
  const entry = { manager: 'm', operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:a': {} } };
  const managedFields = Array.from({ length: 5_000 }, (_, at) => ({ ...entry, manager: `${'m'.repeat(120)}${at}` }));
  const object = nodeObject({ name: 'b' }) as { metadata: { annotations?: object } };
  const registers = (annotations: object, more: object) => {
    const metadata = { ...object.metadata, annotations: { ...object.metadata.annotations, ...annotations } };
    return kubeletOf(cluster(), 'b').write('', { ...object, ...more, metadata }, 'POST');
  };
  for (const [what, attempt] of Object.entries({
    annotation: () => kubelet.annotate({ fill: 'x'.repeat(132_000) }),
    'in characters of two bytes': () => kubelet.annotate({ fill: 'é'.repeat(66_000) }),
    'many annotations': () => kubelet.annotate(many(1_200)),
    'by the status': () => kubelet.write('/a/status', { metadata: { annotations: { fill: 'x'.repeat(132_000) } } }),
    status: () => kubelet.report(runtime(1_100_000)),
    labels: () => kubelet.label(many(6_000)),
    managedFields: () => kubelet.write('/a', { metadata: { managedFields } }),
    'registration with annotations': () => registers({ fill: 'x'.repeat(132_000) }, {}),
    'registration with a status': () => registers({}, { status: runtime(1_100_000) }),
  })) {
    const { status, body } = await attempt();
    const text = JSON.stringify(body);
    assert.equal(status, 422, `${what}: ${text.slice(0, 300)}`);
    assert.match(
      text,
      /a kubelet may not make (its node larger than 1 MiB|the annotations of its node larger than)/,
      what,
    );
  }
  // As much as it may.
  assert.equal((await kubelet.annotate({ fill: 'x'.repeat(130_000) })).status, 200);
  assert.equal((await kubelet.report(runtime(900_000))).status, 200);
  assert.equal((await kubelet.heartbeat()).status, 200);
  await testEnv.edit('pci', {
    spec: { labels: { tier: '2' }, annotations: { note: 'y'.repeat(65_000) }, taints: [TAINT] },
  });
  await testEnv.reconcile();
  const { metadata, spec } = await testEnv.node('a');
  assert.deepEqual([metadata.labels.tier, metadata.annotations?.note?.length, spec.taints], ['2', 65_000, [TAINT]]);
});

test('an unmodified kubelet can write its node after any foreign changes', async () => {
  const kubelet = await limited('c');
  const times = { lastHeartbeatTime: null, lastTransitionTime: '2026-01-01T00:00:00Z' };
  const status = {
    capacity: { cpu: '1', memory: 100, 'example.com/x': '2' },
    conditions: [
      { type: 'Ready', status: 'True' },
      { type: 'Other', status: 'False', reason: 'r', message: '%s %d {}', ...times },
    ],
    daemonEndpoints: { kubeletEndpoint: { Port: 10250 } },
    features: { supplementalGroupsPolicy: true },
    images: [
      { names: null, sizeBytes: 5 },
      { names: ['%s'], sizeBytes: 9_007_199_254_740_991 },
    ],
    runtimeHandlers: [{ name: '', features: { recursiveReadOnlyMounts: true } }],
    volumesAttached: [{ name: 'a', devicePath: 'b' }],
  };
  const spec = {
    podCIDRs: ['10.0.0.0/24'],
    podCIDR: '10.0.0.0/24',
    taints: [{ ...TAINT, timeAdded: times.lastTransitionTime }],
  };
  const object = nodeObject({ name: 'd' }) as { metadata: object };
  const body = { ...object, metadata: { ...object.metadata, creationTimestamp: null }, spec, status };
  const registered = await kubeletOf(cluster(), 'd').write('', body, 'POST');
  assert.equal(registered.status, 201, JSON.stringify(registered.body));
  assert.equal((await kubeletOf(cluster(), 'd').write('/d/status', { status }, 'PATCH', MERGE)).status, 200);
  assert.equal((await kubeletOf(cluster(), 'e').write('', { metadata: { name: 'e' } }, 'POST')).status, 201);

  // The record is not counted, and the kubelet may keep or shorten what others wrote.
  const patch = (annotations: object) =>
    raw(cluster()).expect('PATCH', '/api/v1/nodes/c', { metadata: { annotations } });
  await patch({ 'nodes.lailin.xyz/applied': 'x'.repeat(100_000) });
  assert.equal((await kubelet.annotate({ 'csi.volume.kubernetes.io/nodeid': 'x'.repeat(1_000) })).status, 200);
  // As large as what a pool may give, and longer as text.
  await patch({ 'example.com/given': '"'.repeat(65_000) });
  assert.equal((await kubelet.annotate({ 'csi.volume.kubernetes.io/nodeid': 'y'.repeat(1_000) })).status, 200);
  await patch({ 'example.com/other': 'x'.repeat(70_000) });
  assert.equal((await kubelet.heartbeat()).status, 200);
  assert.equal((await kubelet.annotate({ more: 'x' })).status, 422);
  assert.equal((await kubelet.annotate({ 'example.com/other': 'x'.repeat(69_000) })).status, 200);
});
