/** What a compromised kubelet can do to the pool of its node, with real kubelet credentials and NodeRestriction. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKubeletSettable } from '../../src/nodepool/kubelet-labels.ts';
import { clientCertificate } from '../cluster/certificates.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { nodeObject } from '../cluster/nodes.ts';
import { raw, rawClient } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { doctorOf } from './doctoring.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ apiserverFlags: ['--enable-admission-plugins=NodeRestriction'] });
const { cluster } = testEnv;

const GROUP = 'eks.amazonaws.com/nodegroup';
const SECRET = 'node-restriction.kubernetes.io/pci';
const TAINT = { key: 'dedicated', value: 'pci', effect: 'NoSchedule' } as const;
const ALLOW = { 'nodes.lailin.xyz/kubelet-membership': 'Allow' };
const RECORD = 'nodes.lailin.xyz/applied';
const DEFINITION = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';

function kubelet(node: string) {
  const { server, ca, authority } = cluster();
  const client = rawClient(server, ca, clientCertificate(authority, `system:node:${node}`, ['system:nodes']));
  const write = (path: string, body: object, method = 'PATCH') => client.request(method, `/api/v1/nodes${path}`, body);
  return {
    label: (labels: object) => write(`/${node}`, { metadata: { labels } }),
    labelByStatus: (labels: object) => write(`/${node}/status`, { metadata: { labels } }),
    annotate: (annotations: object) => write(`/${node}`, { metadata: { annotations } }),
    labelOf: (other: string) => write(`/${other}`, { metadata: { labels: { x: 'y' } } }),
    report: (status: object) => write(`/${node}/status`, { status }),
    heartbeat: () => write(`/${node}/status`, { status: { nodeInfo: { bootID: `${performance.now()}` } } }),
    register: (labels: object) => write('', nodeObject({ name: node, labels: labels as never }), 'POST'),
    unregister: () => write(`/${node}`, {}, 'DELETE'),
  };
}

const apply = async () => {
  const { code, stderr } = await kubectl(cluster(), ['apply', '-f', 'manifests/protect-membership.yaml']);
  assert.deepEqual([code, stderr], [0, '']);
};
/** Waits until the policy is enforced, with a label value that is no change. */
const enforced = async (node: string) => {
  const probe = async () => (await kubelet(node).label({ [GROUP]: `probe-${Math.floor(performance.now())}` })).status;
  await eventually('the policy is enforced', async () => (await probe()) === 422, 60_000);
  await testEnv.patchNode(node, { metadata: { labels: { [GROUP]: null } } });
};
const message = ({ body }: { body: unknown }) => (body as { message: string }).message;

test('NodeRestriction lets a kubelet set exactly the labels that the product assumes', async () => {
  await testEnv.nodes({ name: 'a' });
  const keys = [
    ...[
      'plain',
      'example.com/x',
      'eks.amazonaws.com/nodegroup',
      'notkubernetes.io/x',
      'kubernetes.io/x',
      'x.kubernetes.io/x',
    ],
    ...[
      'kubernetes.io/hostname',
      'kubernetes.io/os',
      'kubernetes.io/arch',
      'beta.kubernetes.io/os',
      'beta.kubernetes.io/x',
    ],
    ...['beta.kubernetes.io/arch', 'beta.kubernetes.io/instance-type', 'node.kubernetes.io/instance-type'],
    ...[
      'topology.kubernetes.io/zone',
      'topology.kubernetes.io/region',
      'topology.kubernetes.io/x',
      'k8s.io/x',
      'x.k8s.io/x',
    ],
    ...['failure-domain.beta.kubernetes.io/zone', 'failure-domain.beta.kubernetes.io/region', 'node.kubernetes.io/x'],
    ...['x.node.kubernetes.io/x', 'kubelet.kubernetes.io/x', 'x.kubelet.kubernetes.io/x', 'node-role.kubernetes.io/x'],
    ...['node-restriction.kubernetes.io/x', 'x.node-restriction.kubernetes.io/x', 'xnode-restriction.kubernetes.io/x'],
  ];
  for (const key of keys) {
    const { status } = await kubelet('a').label({ [key]: `changed` });
    assert.equal(isKubeletSettable(key), status === 200, `${key}: ${status}`);
  }
});

test('60,000 resource names and invalid ones neither grow the status nor reach any output', async () => {
  await testEnv.nodes(...['a', 'b', 'c', 'd', 'e', 'f'].map(name => ({ name, labels: role('one') })));
  await testEnv.pool('one');
  const gpu = { 'nvidia.com/gpu': '2' };
  for (const name of ['b', 'c']) assert.equal((await kubelet(name).report({ allocatable: gpu })).status, 200);
  // The most that fits into a node object.
  const names = (node: string) =>
    Array.from({ length: 15_000 }, (_, at) => `a.example.com/${node}-of-a-hostile-kubelet-${at}`);
  const flood = (node: string, ...more: string[]) => {
    const allocatable = Object.fromEntries([...names(node), ...more].map(name => [name, '1']));
    return kubelet(node).report({ allocatable });
  };
  const evil = ['$(reboot)', 'a b', 'evil/\u001b[31m'];
  for (const report of [await flood('a', ...evil), await flood('d'), await flood('e'), await flood('f')])
    assert.equal(report.status, 200, 'the server takes it');
  await testEnv.reconcile();
  const pool = await testEnv.getPool('one');
  const { status, allocatable = {} } = pool?.status ?? {};
  assert.equal(status, 200, 'the pool is no worse for it');
  assert.deepEqual([Object.keys(allocatable).length, allocatable.cpu, allocatable['nvidia.com/gpu']], [128, '24', '4']);
  assert.ok(JSON.stringify(pool?.status).length < 64 * 1024);
  const { message: told } = condition(pool, 'ResourcesOmitted');
  const odd = 'left out: node a: 3 resources without a qualified name, such as "$(reboot)"';
  assert.ok(told.includes(odd.replace('left out: ', '')), told);
  assert.match(told, /: \d+ sums beyond 128 resources .* node a: 14\d+ resources beyond the first 128;/);
  await testEnv.reconcile();
  assert.deepEqual((await testEnv.getPool('one'))?.metadata, pool?.metadata, 'it is the same every time');

  const all = ['--resources', 'all'];
  const { ok } = commandsOf(cluster);
  for (const args of [['get', ...all], ['describe'], ['nodes', '-o', 'json'], ['get', '-o', 'wide']]) {
    const shown = await ok(args);
    assert.ok(!/^(?!.*resources without).*(reboot|a b|evil)/m.test(shown), args.join(' '));
    assert.ok(shown.length < 100_000, `${args.join(' ')}: ${shown.length}`);
  }
  const top = await cli(cluster(), ['top', ...all, '--no-pods']);
  assert.deepEqual([top.code, top.stdout.includes('reboot')], [0, false]);
  assert.ok(top.stderr.includes(`warning: ${odd}`), top.stderr);
  assert.equal(top.stdout.trimEnd().split('\n').length, 1 + 128, 'a header and 128 resources');
  assert.match(top.stderr, /^warning: \d+ more resources of nodes and pods are not shown; show them by name: /m);
  const { find } = await doctorOf(cluster)();
  assert.equal(find('quantities').status, 'warning');
  assert.equal(find('quantities').details[0], `one: ${odd}`);
});

test('an overlong quantity neither changes the status number nor is written or printed whole', async () => {
  await testEnv.nodes({ name: 'a', labels: role('one') }, { name: 'b', labels: role('one') });
  await testEnv.pool('one');
  const huge = '9'.repeat(509);
  const large = '9999999999999999999999999999E';
  const allocatable = { 'example.com/x': huge, 'example.com/y': '1e20000', memory: huge, cpu: large };
  assert.equal((await kubelet('a').report({ allocatable })).status, 200, 'the server takes it');
  await testEnv.reconcile();
  const pool = await testEnv.getPool('one');
  assert.equal(pool?.status?.status, 200);
  const sums = pool?.status?.allocatable ?? {};
  assert.deepEqual(
    [sums.cpu, sums.memory, 'example.com/x' in sums, 'example.com/y' in sums],
    ['9999999999999999999999999999000000000000000004', '3064520Ki', false, false],
  );
  const cut = `node a: 3 resources with a quantity of more than 500 digits, such as example.com/x "${'9'.repeat(57)}…"`;
  assert.equal(condition(pool, 'ResourcesOmitted').message, `left out of allocatable: ${cut}`);
  for (const args of [['get'], ['describe', 'one'], ['top', '--resources', 'all'], ['nodes', '-o', 'json']]) {
    const { code, stdout, stderr } = await cli(cluster(), args);
    assert.equal(code, 0);
    assert.ok(!/e\+|9{60}/.test(stdout + stderr), `${args.join(' ')}: ${stdout}${stderr}`);
  }
  const { find } = await doctorOf(cluster)();
  assert.deepEqual([find('quantities').status, find('quantities').details], ['warning', [`one: left out: ${cut}`]]);
  assert.equal((await kubelet('a').report({ allocatable: { 'example.com/x': '1' } })).status, 200);
});

test('a forged record changes nothing on other nodes', async () => {
  await testEnv.nodes(...['a', 'b'].map(name => ({ name, labels: role('one') })), { name: 'c' });
  await testEnv.pool('one', { labels: { tier: 'gold' }, taints: [TAINT] });
  await testEnv.reconcile();
  const others = [await testEnv.node('b'), await testEnv.node('c')];
  const record = (await testEnv.node('a')).metadata.annotations?.[RECORD]?.replaceAll('"one"', '"two"');
  assert.ok(record);
  for (const forged of [record, '{}', 'x'.repeat(100_000), '{"pool":"one","labels":{"x":{"applied":"1"}}}']) {
    assert.equal((await kubelet('a').annotate({ [RECORD]: forged })).status, 200);
    await testEnv.reconcile();
    assert.deepEqual([await testEnv.node('b'), await testEnv.node('c')], others);
    assert.equal((await testEnv.getPool('one'))?.status?.status, 200);
  }
  assert.equal((await kubelet('a').labelOf('b')).status, 403);
});

test('without the policy a kubelet gains restricted labels by joining a pool and loses taints by leaving', async () => {
  await testEnv.nodes({ name: 'a' });
  await testEnv.pool('pci', { nodeSelector: { [GROUP]: 'pci' }, labels: { [SECRET]: 'yes' }, taints: [TAINT] });
  assert.equal((await kubelet('a').label({ [SECRET]: 'yes' })).status, 403, 'NodeRestriction is on');
  assert.equal((await kubelet('a').label({ [GROUP]: 'pci' })).status, 200);
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels[SECRET], 'yes');
  assert.equal((await kubelet('a').label({ [GROUP]: null })).status, 200);
  await testEnv.reconcile();
  assert.deepEqual(taintsOf(await testEnv.node('a')), []);
});

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
  assert.equal((await kubelet('b').unregister()).status, 403, 'it cannot delete its node to register it anew');
  assert.equal((await kubelet('a').label({ 'example.com/other': 'x' })).status, 200);
  assert.equal((await kubelet('a').labelByStatus({ 'topology.kubernetes.io/zone': 'z' })).status, 200);
  assert.equal((await kubelet('b').heartbeat()).status, 200);
  // The policy applies to kubelets only, not to other users or the product.
  await testEnv.patchNode('a', { metadata: { labels: { [GROUP]: 'pci', extra: 'x' } } });
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels[SECRET], 'yes');
});

test('a new node may register with the labels of a pool, unless the pool gives restricted labels', async () => {
  await apply();
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
    `edge selects by ${GROUP}, with which a kubelet may register a new node: it gets the label node-role.kubernetes.io/ingress, and the taint dedicated=pci:NoSchedule`,
  ]);
  await eventually('the pool is exempt', async () => (await kubelet('n3').register({ [GROUP]: 'pci' })).status === 201);
});

test('the annotation exempts one pool only', async () => {
  await apply();
  await testEnv.nodes({ name: 'a' });
  await testEnv.pool('strict', { nodeSelector: { [GROUP]: 'strict' } });
  await testEnv.pool('loose', { nodeSelector: { loose: 'yes' } }, { metadata: { annotations: ALLOW } });
  await enforced('a');
  assert.equal((await kubelet('a').label({ loose: 'yes' })).status, 200);
});

test('the policy allows node writes without the CRD and applies again after install, also beside a broken pool', {
  timeout: 120_000,
}, async () => {
  await apply();
  await testEnv.nodes({ name: 'a' });
  const { apiVersion, kind, spec } = (await raw(cluster()).expect('GET', DEFINITION)) as Definition;
  await raw(cluster()).expect('DELETE', DEFINITION);
  await eventually('it is gone', async () => (await raw(cluster()).request('GET', DEFINITION)).status === 404);
  for (let round = 0; round < 20; round++) {
    assert.equal((await kubelet('a').heartbeat()).status, 200);
    await testEnv.patchNode('a', { metadata: { labels: { round: `${round}` } } });
  }
  // As the earlier operator's CRD, which accepted anything.
  for (const version of spec.versions) {
    version.schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } };
  }
  const metadata = { name: 'nodepools.nodes.lailin.xyz' };
  await raw(cluster()).expect('POST', DEFINITION.replace(/\/[^/]*$/, ''), { apiVersion, kind, metadata, spec });
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

interface Definition {
  apiVersion: string;
  kind: string;
  spec: { versions: { schema: object }[] };
}
