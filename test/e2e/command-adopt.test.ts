import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Taint } from '../../src/nodepool/types.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

const EKS = 'eks.amazonaws.com/nodegroup';
const GPU: Taint = { key: 'nvidia.com/gpu', value: 'present', effect: 'NoSchedule' };

/** As on EKS: two node groups of eksctl, one node with a role only, a control plane node. */
async function cloud(): Promise<void> {
  const group = (name: string) => ({ [EKS]: name, 'alpha.eksctl.io/nodegroup-name': name, ...role('worker') });
  await testEnv.nodes(
    { name: 'sys-1', labels: { ...group('system'), tier: 'base', rack: 'r1' } },
    { name: 'sys-2', labels: { ...group('system'), tier: 'base', rack: 'r2' }, ready: false },
    {
      name: 'gpu-1',
      labels: { ...group('GPU_a100'), tier: 'gold', rack: 'r1' },
      taints: [GPU, { key: 'ToBeDeletedByClusterAutoscaler', value: '1', effect: 'NoSchedule' }],
      unschedulable: true,
    },
    { name: 'edge-1', labels: role('edge') },
    { name: 'cp-1', labels: role('control-plane') },
  );
}

/** The warning about a new pool whose label the kubelet registers with. */
const RISK =
  /^warning: pool gpu-a100 selects by eks.amazonaws.com\/nodegroup; kubelets can change this label on their own node and so leave the pool and its taints; next: run `kubectl nodepool install --policies` once per cluster\n$/;

/** The warning of command lines that propose or create gpu-a100. */
async function warned(args: string[]): Promise<string> {
  const { code, stdout, stderr } = await cliHere(cluster(), args);
  assert.equal(code, 0, args.join(' '));
  assert.match(stderr, RISK, args.join(' '));
  return stdout;
}

/** All labels and taints of the nodes. */
async function marks() {
  const names = ['sys-1', 'sys-2', 'gpu-1', 'edge-1', 'cp-1'];
  const nodes = await Promise.all(names.map(name => testEnv.node(name)));
  return nodes.map(node => ({ labels: node.metadata.labels, taints: taintsOf(node) }));
}

/** No label and no taint differs. The nodes of a new pool have no record yet. */
async function noDifference() {
  const { code, stdout, stderr } = await cliHere(cluster(), ['diff']);
  assert.deepEqual([code, stdout], [0, '']);
  assert.match(
    stderr,
    /^(pool \S+: record is missing on \d nodes? that already ha(s|ve) the pool's values: .*; reconcile updates it\n)+$/,
  );
}

test('lists the pools that labels suggest in a table', async () => {
  await cloud();
  const { code, stdout, stderr } = await unchanged(['adopt']);
  assert.equal(code, 0);
  assert.match(stderr, RISK);
  assert.equal(
    stdout,
    `
POOL       STATE   NODES   READY   PROVIDER   LABEL                          VALUE      LABELS      TAINTS                              ANNOTATIONS
gpu-a100   new     1       1       EKS        eks.amazonaws.com/nodegroup    GPU_a100   tier=gold   nvidia.com/gpu=present:NoSchedule   <none>
system     new     2       1       EKS        eks.amazonaws.com/nodegroup    system     tier=base   <none>                              <none>
edge       new     1       1       role       node-role.kubernetes.io/edge   ""         <none>      <none>                              <none>
`.slice(1),
  );
});

test('creates pools that change no node in diff or reconcile', async () => {
  await cloud();
  const before = await marks();
  assert.equal(
    await warned(['adopt', '--create', '--yes']),
    ['gpu-a100', 'system', 'edge'].map(name => `nodepool.nodes.lailin.xyz/${name} created\n`).join(''),
  );
  assert.deepEqual((await testEnv.getPool('gpu-a100'))?.spec, {
    labels: { tier: 'gold' },
    nodeSelector: { [EKS]: 'GPU_a100' },
    taints: [GPU],
  });
  await noDifference();
  assert.match(await ok(['reconcile']), /^system +Ready +2 nodes/m);
  assert.deepEqual(await marks(), before);
  assert.equal(await ok(['diff']), '');
  const states = (await ok(['adopt'])).split('\n').map(line => line.split(/ +/).slice(0, 2).join(' '));
  assert.deepEqual(states, ['POOL STATE', 'gpu-a100 adopted', 'system adopted', 'edge adopted', '']);
  await refused(['adopt', '--create'], 0, 'Nothing to adopt.');
  await refused(['adopt', 'system', '--create'], 0, 'Nothing to adopt.');
  // Deleting them leaves the nodes as they were.
  await ok(['delete', 'gpu-a100', 'system', 'edge']);
  assert.deepEqual(await marks(), before);
});

test('prints with -o yaml what kubectl applies, and writes nothing in dry runs', async () => {
  await cloud();
  const { items } = JSON.parse((await unchanged(['adopt', '-o', 'json'])).stdout);
  assert.deepEqual(
    items.map((pool: { metadata: { name: string } }) => pool.metadata.name),
    ['gpu-a100', 'system', 'edge'],
  );
  const one = await unchanged(['adopt', 'system', '-o', 'yaml']);
  assert.match(one.stdout, /^apiVersion: nodes.lailin.xyz\/v1\nkind: NodePool\nmetadata:\n {2}name: system\n/);
  for (const [flag, suffix] of [
    ['--dry-run', 'dry run'],
    ['--dry-run=server', 'server dry run'],
  ] as const) {
    const { code, stdout } = await unchanged(['adopt', '--create', 'edge', flag]);
    assert.deepEqual({ code, stdout }, { code: 0, stdout: `nodepool.nodes.lailin.xyz/edge created (${suffix})\n` });
  }
  const { code, stderr } = await kubectl(cluster(), ['apply', '-f', '-'], {
    stdin: await warned(['adopt', '-o', 'yaml']),
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  await noDifference();
  // A List, however many pools it has, unless one name was given.
  for (const more of [[], ['--create']]) {
    assert.deepEqual(JSON.parse(await ok(['adopt', '-o', 'json', ...more])).items, []);
  }
  await testEnv.nodes({ name: 'late-1', labels: { [EKS]: 'late' } });
  assert.equal(JSON.parse(await ok(['adopt', '-o', 'json'])).items[0].metadata.name, 'late');
  assert.equal(JSON.parse(await ok(['adopt', 'late', '-o', 'json', '--create'])).metadata.name, 'late');
});

test('--label replaces the known labels, and may name the control plane', async () => {
  await cloud();
  const table = await ok(['adopt', '--label', 'rack', '--label', 'node-role.kubernetes.io/control-plane']);
  const rows = table.split('\n').map(line => line.split(/ +/).slice(0, 5).join(' '));
  assert.deepEqual(rows.slice(1), ['r1 new 2 2 label', 'r2 new 1 0 label', 'control-plane-nodes new 1 1 role', '']);
  await refused(
    ['adopt', '--label', 'a=b'],
    2,
    /^error: --label: the name of key "a=b" must consist of .*; next: give only the key\n/,
  );
  await refused(['adopt', '--label', 'nobody/has-it'], 0, 'No node has the label nobody/has-it.');
});

test('names control-plane nodes that a proposed or created pool would get', async () => {
  const os = { 'example.com/os': 'linux' };
  await testEnv.nodes(
    { name: 'cp-1', labels: { ...os, ...role('control-plane') } },
    { name: 'w', labels: { ...os, ...role('w') } },
  );
  const text = 'warning: pool linux selects 2 nodes, 1 of them in the control plane: cp-1';
  const label = ['--label', 'example.com/os'];
  for (const more of [[], ['-o', 'yaml'], ['--create', '--dry-run=server']]) {
    const { stderr } = await cliHere(cluster(), ['adopt', ...label, ...more]);
    assert.deepEqual(stderr.match(/.*in the control plane.*/g), [text], stderr);
  }
  const { stderr } = await cliHere(cluster(), ['adopt', ...label, '--create']);
  assert.match(
    stderr,
    /^warning: pool linux selects 2 nodes, 1 of them in the control plane: cp-1; next: exclude the control plane with `kubectl nodepool edit linux --node-selector/m,
  );
  const named = await cliHere(cluster(), ['adopt', '--label', 'node-role.kubernetes.io/control-plane']);
  assert.doesNotMatch(named.stderr, /in the control plane/, 'it names the role');
});

test('reports nodes that have no known label', async () => {
  await testEnv.nodes({ name: 'plain' });
  await refused(['adopt'], 0, 'No known node group labels found. Use --label KEY for a label of your own.');
});

test('creates no pool for nodes with two roles unless one is chosen', async () => {
  await testEnv.nodes(
    { name: 'a', labels: { ...role('worker'), ...role('infra') } },
    { name: 'b', labels: role('worker') },
  );
  const all = await unchanged(['adopt', '--create']);
  assert.deepEqual(all, {
    code: 0,
    stdout: '',
    stderr: `warning: infra is not created: it shares nodes with worker; next: choose one pool by name, or relabel the nodes
warning: worker is not created: it shares nodes with infra; next: choose one pool by name, or relabel the nodes
Nothing to adopt.
`,
  });
  await refused(
    ['adopt', 'worker', 'infra', '--create'],
    1,
    /^error: infra shares nodes with worker; a node can be in only one pool; next: /,
  );
  assert.equal(await ok(['adopt', 'worker', '--create']), 'nodepool.nodes.lailin.xyz/worker created\n');
  await noDifference();
  assert.match(await ok(['adopt']), /^infra +overlaps:worker .*\nworker +adopted /m);
  const next = 'change the node selector of that pool (kubectl nodepool edit worker), or relabel the nodes';
  await refused(
    ['adopt', 'infra', '--create'],
    1,
    `error: infra shares nodes with pool worker, which exists; a node can be in only one pool; next: ${next}`,
  );
  assert.match(
    (await unchanged(['adopt', '--create'])).stderr,
    /is not created: it shares nodes with pool worker, which exists; next: change/,
  );
});

test('reports an existing pool and an unknown name', async () => {
  await cloud();
  await testEnv.pool('system', { nodeSelector: { nobody: 'has-it' } });
  assert.equal(await ok(['adopt', 'system-2', '--create']), 'nodepool.nodes.lailin.xyz/system-2 created\n');
  await refused(
    ['adopt', 'nope', '--create'],
    1,
    'error: no proposed pool is named "nope"; next: list the proposed pools with `kubectl nodepool adopt`',
  );
  await refused(
    ['adopt', 'system', '--create'],
    1,
    /^error: no proposed pool is named "system": \S+ created a pool of the same name at \d{4}-[^;]+Z; next: list the proposed pools with/,
  );
  const { code, stdout, stderr } = await unchanged(['adopt', '--yes']);
  assert.equal(code, 0);
  assert.match(stdout, /^POOL /);
  assert.match(stderr, /^warning: --yes has no effect without --create: nothing is created$/m);
  await refused(['adopt', '--dry-run'], 2, /^error: --dry-run needs --create; next: /);
});

test('asks on a terminal before creating several pools', { skip: NO_TERMINAL ?? false }, async () => {
  await cloud();
  const no = await inTerminal(cluster(), ['adopt', '--create'], 'n\n');
  assert.equal(no.code, 1);
  assert.match(no.shown, /Create pools gpu-a100, system, edge in context \S+\? \[y\/N\] .*nothing was created/s);
  assert.equal(await testEnv.getPool('edge'), undefined);
  const one = await inTerminal(cluster(), ['adopt', '--create', 'edge'], '');
  assert.match(one.shown, /^nodepool.nodes.lailin.xyz\/edge created/);
  const yes = await inTerminal(cluster(), ['adopt', '--create'], 'y\n');
  assert.match(yes.shown, /system created/);
});

test('reports missing permissions', async () => {
  const bob = await kubeconfigFor(cluster(), 'bob');
  const { code, stdout, stderr } = await cliHere(cluster(), ['adopt', '--kubeconfig', bob]);
  assert.deepEqual([code, stdout], [1, '']);
  assert.match(
    stderr,
    /^error: the user lacks permissions:\n {2}user "bob" may not list nodepools\n {2}user "bob" may not list nodes\nnext: ask for a role with verb list on/,
  );
});

test('the next step after a remove from an adopted pool works', async () => {
  const eks = { 'eks.amazonaws.com/nodegroup': 'system' };
  await testEnv.nodes({ name: 's-1', labels: eks }, { name: 's-2', labels: eks });
  await cliHere(cluster(), ['adopt', 'system', '--create']);
  const refusal = await cliHere(cluster(), ['remove', 'system', 's-1']);
  assert.equal(refusal.code, 1);
  const steps = [...refusal.stderr.matchAll(/`kubectl ([^`]+)`/g)].map(([, words = '']) => words.split(' '));
  assert.equal(steps.length, 2, refusal.stderr);
  for (const words of steps) assert.equal((await kubectl(cluster(), words)).code, 0, words.join(' '));
  const removed = await cliHere(cluster(), ['remove', 'system', 's-1']);
  assert.deepEqual([removed.code, removed.stdout], [0, 'node/s-1 removed from pool system\n']);
  const { stdout } = await cliHere(cluster(), ['nodes', 'system', '-o', 'name']);
  assert.equal(stdout, 'node/s-2\n');
});
