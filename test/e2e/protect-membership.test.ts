/** manifests/protect-membership.yaml keeps a kubelet from moving its node between pools. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { doctorOf } from './doctoring.ts';
import { GROUP, kubeletOf, SECRET, TAINT } from './kubelet.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ apiserverFlags: ['--enable-admission-plugins=NodeRestriction'] });
const { cluster } = testEnv;
const ALLOW = { 'nodes.lailin.xyz/kubelet-membership': 'Allow' };
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const kubelet = (node: string) => kubeletOf(cluster(), node);

const apply = async (...others: string[]) => {
  const files = ['manifests/protect-membership.yaml', ...others].flatMap(file => ['-f', file]);
  const { code, stderr } = await kubectl(cluster(), ['apply', ...files]);
  assert.deepEqual([code, stderr], [0, '']);
};
/** Waits until the policy is enforced, with a label value that is no change. */
const enforced = async (node: string) => {
  const probe = async () => (await kubelet(node).label({ [GROUP]: `probe-${Math.floor(performance.now())}` })).status;
  await eventually('the policy is enforced', async () => (await probe()) === 422, 60_000);
  await testEnv.patchNode(node, { metadata: { labels: { [GROUP]: null } } });
};
const message = ({ body }: { body: unknown }) => (body as { message: string }).message;

test('with the policy a kubelet can neither join nor leave a pool, but can write its other labels', async () => {
  await apply();
  await testEnv.nodes({ name: 'a' }, { name: 'b', labels: { [GROUP]: 'pci' } });
  await testEnv.pool('pci', {
    nodeSelector: { [GROUP]: 'pci', extra: 'x' },
    labels: { [SECRET]: 'yes' },
    taints: [TAINT],
  });
  await testEnv.pool('default');
  await enforced('a');
  const said = `a kubelet may not change the label ${GROUP}, by which pool pci selects its nodes; let an administrator change it, or allow it with the annotation nodes.lailin.xyz/kubelet-membership=Allow on the pool`;
  const joins = await kubelet('a').label({ [GROUP]: 'pci' });
  assert.equal(joins.status, 422);
  assert.ok(message(joins).endsWith(said), message(joins));
  for (const attempt of [
    await kubelet('a').labelByStatus({ [GROUP]: 'pci' }),
    await kubelet('a').label({ extra: '' }),
    await kubelet('b').label({ [GROUP]: null }),
    await kubelet('b').labelByStatus({ [GROUP]: 'other' }),
  ]) {
    assert.equal(attempt.status, 422, JSON.stringify(attempt.body));
  }
  // The CEL cost budget of the policy suffices for the largest node.
  const many = Object.fromEntries(Array.from({ length: 5_000 }, (_, at) => [`example.com/${at}`, 'x']));
  assert.equal((await kubelet('a').label(many)).status, 200);
  assert.equal((await kubelet('a').label({ [GROUP]: 'pci' })).status, 422);
  assert.equal((await kubelet('b').unregister()).status, 403, 'it cannot delete its node to register it again');
  assert.equal((await kubelet('a').label({ 'example.com/other': 'x' })).status, 200);
  assert.equal((await kubelet('a').labelByStatus({ 'topology.kubernetes.io/zone': 'z' })).status, 200);
  assert.equal((await kubelet('b').heartbeat()).status, 200);
  // The policy applies to kubelets only, not to other users or the product.
  await testEnv.patchNode('a', { metadata: { labels: { [GROUP]: 'pci', extra: 'x' } } });
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels[SECRET], 'yes');
});

test('a new node may register with the labels of a pool unless restricted labels are gained', async () => {
  await apply('manifests/protect-records.yaml');
  await testEnv.nodes({ name: 'a' });
  await testEnv.pool('plain', { nodeSelector: { [GROUP]: 'plain' }, taints: [TAINT] });
  await testEnv.pool('pci', { nodeSelector: { [GROUP]: 'pci' }, labels: { [SECRET]: 'yes' } });
  await enforced('a');
  assert.equal((await kubelet('n1').register({ [GROUP]: 'plain' })).status, 201);
  assert.equal((await kubelet('n2').register({ [GROUP]: 'none' })).status, 201);
  const refused = await kubelet('n3').register({ [GROUP]: 'pci' });
  assert.equal(refused.status, 422);
  assert.match(
    message(refused),
    /may not register a node into pool pci, which gives labels of node-restriction.kubernetes.io; register it without the label eks.amazonaws.com\/nodegroup, or allow/,
  );
  const refusal = `selects by ${GROUP} and sets ${SECRET}: the admission policy refuses new nodes that register with the pool's membership labels`;
  const { status: closed, details: named } = (await doctorOf(cluster)()).find('membership');
  assert.deepEqual([closed, named], ['warning', [`pci ${refusal}`]]);
  const created = ['create', 'gpu', '--node-selector', `${GROUP}=pci`, '--label', `${SECRET}=yes`, '--dry-run=server'];
  assert.match((await cliHere(cluster(), created)).stderr, new RegExp(`^warning: pool gpu ${refusal}; see https:.*`));
  const edited = await cliHere(cluster(), ['edit', 'pci', '--label', 'tier=gold']);
  assert.doesNotMatch(edited.stderr, /admission policy/, 'it was said when the pool was created');
  // As docs/node-life.md says: the node registers without the label by which the pool selects, and an administrator sets it.
  assert.equal((await kubelet('n3').register({})).status, 201);
  await testEnv.patchNode('n3', { metadata: { labels: { [GROUP]: 'pci' } } });
  await testEnv.reconcile();
  assert.equal((await testEnv.node('n3')).metadata.labels[SECRET], 'yes');
  await raw(cluster()).expect('DELETE', '/api/v1/nodes/n3');
  // No kubelet may register with a label of its own domain, whatever the pool says.
  assert.equal((await kubelet('n3').register({ [SECRET]: 'yes' })).status, 403);
  await testEnv.edit('pci', { metadata: { annotations: ALLOW } });
  await testEnv.pool('edge', {
    nodeSelector: { [GROUP]: 'ingress' },
    labels: { 'node-role.kubernetes.io/ingress': 'yes' },
    taints: [TAINT],
  });
  assert.equal((await kubelet('n4').register({ [GROUP]: 'ingress' })).status, 201, 'as node groups rely on');
  await testEnv.reconcile();
  assert.equal((await testEnv.node('n4')).metadata.labels['node-role.kubernetes.io/ingress'], 'yes');
  const { status, details } = (await doctorOf(cluster)()).find('membership');
  assert.equal(status, 'warning', 'doctor does not say that all is well');
  assert.deepEqual(details, [
    `edge selects by ${GROUP}; kubelets that register a new node get the label node-role.kubernetes.io/ingress, and the taint dedicated=pci:NoSchedule`,
  ]);
  await eventually('the pool is exempt', async () => (await kubelet('n3').register({ [GROUP]: 'pci' })).status === 201);
});

test('no registration is too large for the policy', async () => {
  await apply('manifests/protect-records.yaml');
  await testEnv.nodes({ name: 'a' });
  await testEnv.pool('pci', { nodeSelector: { [GROUP]: 'pci' }, labels: { [SECRET]: 'yes' } });
  await enforced('a');
  const register = (labels: Record<string, string>, metadata: object = {}, spec: object = {}) => {
    const node = nodeObject({ name: 'n1', labels }) as { metadata: object; spec?: object };
    const body = { ...node, metadata: { ...node.metadata, ...metadata }, spec: { ...node.spec, ...spec } };
    return kubelet('n1').write('', body, 'POST');
  };
  const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`key-${at}`, 'x']));
  const entry = { operation: 'Apply', apiVersion: 'v1', fieldsType: 'FieldsV1', fieldsV1: { 'f:a': {} } };
  const managedFields = Array.from({ length: 2_000 }, (_, at) => ({ ...entry, manager: `m${at}` }));
  const taints = Array.from({ length: 101 }, (_, at) => ({ key: `key-${at}`, effect: 'NoSchedule' }));
  for (const labels of [{ [GROUP]: 'pci' }, { [GROUP]: 'none' }]) {
    const attempts = [
      () => register(labels, { managedFields }),
      () => register(labels, { managedFields: managedFields.slice(0, 10) }),
      () => register({ ...labels, ...many(1_000) }),
      () => register(labels, { annotations: many(1_001) }),
      () => register(labels, {}, { taints }),
    ];
    for (const [at, attempt] of attempts.entries()) {
      const refused = async () => {
        const { status, body } = await attempt();
        if (status < 300) await raw(cluster()).request('DELETE', '/api/v1/nodes/n1');
        // Where both policies refuse it, either may be named.
        const isNamed = /may not register a node with more than 10 entries/.test(JSON.stringify(body));
        return status === 422 && (isNamed || labels[GROUP] === 'pci');
      };
      // The policy is enforced a moment later.
      if (at === 0) await eventually('protect-records is enforced', refused, 60_000);
      assert.equal(await refused(), true, `${at} ${Object.values(labels)}`);
    }
  }
  const few = { managedFields: managedFields.slice(0, 1), annotations: many(100) };
  assert.equal((await register({ [GROUP]: 'pci' }, few)).status, 422, 'by the labels');
  // Within the limits, however many names one entry has: it costs time alone.
  const names = Object.fromEntries(Array.from({ length: 20_000 }, (_, at) => [`f:key-${at}`, {}]));
  const wide = [{ ...entry, manager: 'm', fieldsV1: { 'f:metadata': { 'f:labels': names } } }];
  assert.equal((await register({ [GROUP]: 'pci' }, { managedFields: wide })).status, 422, 'by the labels');
  assert.equal((await register({ [GROUP]: 'none', ...many(100) }, few, { taints: taints.slice(0, 50) })).status, 201);
});

test('expressions: a kubelet can change neither their labels nor the pool label of members', async () => {
  await apply();
  await testEnv.nodes({ name: 'a' }, { name: 'b', labels: { size: '8' } });
  await testEnv.pool('big', {
    matchExpressions: [
      { key: 'size', operator: 'Gt', values: ['4'] },
      { key: GROUP, operator: 'NotIn', values: ['spot', 'test'] },
    ],
    labels: { [SECRET]: 'yes' },
  });
  await testEnv.pool('rest', {
    matchExpressions: [{ key: 'node-role.kubernetes.io/x', operator: 'DoesNotExist' }],
    labels: { [SECRET]: 'yes' },
  });
  await enforced('a');
  for (const attempt of [
    await kubelet('a').label({ size: '5' }),
    await kubelet('b').labelByStatus({ size: '3' }),
    await kubelet('b').label({ [GROUP]: 'spot' }),
    await kubelet('a').label({ 'nodes.lailin.xyz/pool': 'big' }),
    await kubelet('n1').register({ size: '5' }),
    await kubelet('n2').register({ size: '005', [GROUP]: 'other' }),
    await kubelet('n3').register({ 'nodes.lailin.xyz/pool': 'big' }),
  ]) {
    assert.equal(attempt.status, 422, JSON.stringify(attempt.body));
  }
  assert.match(message(await kubelet('n1').register({ size: '5' })), /register it without the label size, or allow/);
  const fine: Record<string, string>[] = [{}, { size: '4' }, { size: 'x' }, { size: '5', [GROUP]: 'spot' }];
  for (const [at, labels] of fine.entries()) {
    const { status, body } = await kubelet(`fine-${at}`).register(labels);
    assert.equal(status, 201, JSON.stringify(body));
  }
});

test('the annotation exempts only one pool', async () => {
  await apply();
  await testEnv.nodes({ name: 'a' });
  await testEnv.pool('strict', { nodeSelector: { [GROUP]: 'strict' } });
  await testEnv.pool('loose', { nodeSelector: { loose: 'yes' } }, { metadata: { annotations: ALLOW } });
  await enforced('a');
  assert.equal((await kubelet('a').label({ loose: 'yes' })).status, 200);
});

test('the policy allows node writes without the CRD, and applies again after install', {
  timeout: 120_000,
}, async () => {
  await apply();
  await testEnv.nodes({ name: 'a' });
  const { apiVersion, kind, spec } = (await raw(cluster()).expect('GET', CRD)) as Crd;
  await raw(cluster()).expect('DELETE', CRD);
  await eventually('it is gone', async () => (await raw(cluster()).request('GET', CRD)).status === 404);
  for (let round = 0; round < 20; round++) {
    assert.equal((await kubelet('a').heartbeat()).status, 200);
    await testEnv.patchNode('a', { metadata: { labels: { round: `${round}` } } });
  }
  // As the earlier operator's CRD, which accepted anything.
  for (const version of spec.versions) {
    version.schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  }
  const metadata = { name: 'nodepools.nodes.lailin.xyz' };
  await raw(cluster()).expect('POST', CRD.replace(/\/[^/]*$/, ''), { apiVersion, kind, metadata, spec });
  const { crd: port } = await testEnv.connection();
  await port.waitUntilEstablished(30_000);
  const create = (name: string, nodeSelector: unknown) => {
    const pool = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name }, spec: { nodeSelector } };
    return raw(cluster()).request('POST', '/apis/nodes.lailin.xyz/v1/nodepools', pool);
  };
  await eventually('pools can be made', async () => (await create('broken', 'text')).status === 201);
  assert.equal((await create('pci', { [GROUP]: 'pci' })).status, 201);
  await enforced('a');
  assert.equal((await kubelet('a').heartbeat()).status, 200);
});

interface Crd {
  apiVersion: string;
  kind: string;
  spec: { versions: { schema: object }[] };
}
