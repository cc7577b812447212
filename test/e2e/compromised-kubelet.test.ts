/**
 * What a compromised kubelet can do to the pool of its node, with real kubelet credentials and NodeRestriction. With
 * manifests/protect-membership.yaml: protect-membership.test.ts.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isKubeletSettable } from '../../src/nodepool/membership/kubelet-labels.ts';
import { cliHere } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { doctorOf } from './doctoring.ts';
import { GROUP, kubeletOf, SECRET, TAINT } from './kubelet.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const RECORD = 'nodes.lailin.xyz/applied';
const kubelet = (node: string) => kubeletOf(cluster(), node);

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

test('60,000 or invalid resource names neither enlarge the status nor appear in output', async () => {
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
  const { message: reported } = condition(pool, 'ResourcesOmitted');
  const odd = 'left out: node a: 3 resources without a qualified name, such as "$(reboot)"';
  assert.ok(reported.includes(odd.replace('left out: ', '')), reported);
  assert.match(reported, /: \d+ sums beyond 128 resources .* node a: 14\d+ resources beyond the first 128;/);
  await testEnv.reconcile();
  assert.deepEqual((await testEnv.getPool('one'))?.metadata, pool?.metadata, 'it is the same every time');

  const all = ['--resources', 'all'];
  const { ok } = commandsOf(cluster);
  for (const args of [['get', ...all], ['describe'], ['nodes', '-o', 'json'], ['get', '-o', 'wide']]) {
    const shown = await ok(args);
    assert.ok(!/^(?!.*resources without).*(reboot|a b|evil)/m.test(shown), args.join(' '));
    assert.ok(shown.length < 100_000, `${args.join(' ')}: ${shown.length}`);
  }
  const top = await cliHere(cluster(), ['top', ...all, '--no-pods', '--by', 'resource']);
  assert.deepEqual([top.code, top.stdout.includes('reboot')], [0, false]);
  assert.ok(top.stderr.includes(`warning: ${odd}`), top.stderr);
  assert.equal(top.stdout.trimEnd().split('\n').length, 1 + 128, 'a header and 128 resources');
  assert.match(top.stderr, /^warning: \d+ more resources of nodes and pods are not shown; use --resources /m);
  const { find } = await doctorOf(cluster)();
  assert.equal(find('quantities').status, 'warning');
  assert.equal(find('quantities').details[0], `one: ${odd}`);
});

test('an overlong quantity neither changes the status number nor is printed whole', async () => {
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
    const { code, stdout, stderr } = await cliHere(cluster(), args);
    assert.equal(code, 0);
    assert.ok(!/e\+|9{60}/.test(stdout + stderr), `${args.join(' ')}: ${stdout}${stderr}`);
  }
  const { find } = await doctorOf(cluster)();
  assert.deepEqual([find('quantities').status, find('quantities').details], ['warning', [`one: left out: ${cut}`]]);
  assert.equal((await kubelet('a').report({ allocatable: { 'example.com/x': '1' } })).status, 200);
});

const FORGED_LABELS = '{"pool":"one","labels":{"x":{"applied":"1"}}}';
const FORGED_ANNOTATIONS = `{"pool":"one","annotations":{"note":"x","theirs":"y","${RECORD}":"z"},"displaced":{"annotations":{"note":"w"}}}`;

test('a forged record changes nothing on other nodes', async () => {
  await testEnv.nodes(...['a', 'b'].map(name => ({ name, labels: role('one') })), { name: 'c' });
  await testEnv.pool('one', { labels: { tier: 'gold' }, taints: [TAINT], annotations: { note: 'x' } });
  await testEnv.reconcile();
  const others = [await testEnv.node('b'), await testEnv.node('c')];
  const record = (await testEnv.node('a')).metadata.annotations?.[RECORD]?.replaceAll('"one"', '"two"');
  assert.ok(record);
  for (const forged of [record, '{}', 'x'.repeat(100_000), FORGED_LABELS, FORGED_ANNOTATIONS]) {
    assert.equal((await kubelet('a').annotate({ [RECORD]: forged })).status, 200);
    await testEnv.reconcile();
    assert.deepEqual([await testEnv.node('b'), await testEnv.node('c')], others);
    assert.equal((await testEnv.getPool('one'))?.status?.status, 200);
  }
  assert.equal((await kubelet('a').labelOf('b')).status, 403);
});

test('without the policy, a kubelet can join a pool to gain labels or leave it to lose taints', async () => {
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
