import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

async function pools(): Promise<void> {
  await testEnv.nodes(
    { name: 'a-1', labels: role('alpha') },
    { name: 'a-2', labels: role('alpha'), unschedulable: true },
    { name: 'b-1', labels: role('beta') },
    { name: 'other' },
  );
  await testEnv.pool('alpha');
  await testEnv.pool('beta');
}

const closed = async () => {
  const { items } = (await raw(cluster()).expect('GET', '/api/v1/nodes')) as {
    items: { metadata: { name: string }; spec: { unschedulable?: boolean } }[];
  };
  return items.filter(({ spec }) => spec.unschedulable).map(({ metadata }) => metadata.name);
};

test('prints the same as kubectl, including for cordoned nodes', async () => {
  await pools();
  const first = await kubectl(cluster(), ['nodepool', 'cordon', 'alpha', 'beta']);
  const said = 'node/a-1 cordoned\nnode/a-2 already cordoned\nnode/b-1 cordoned\n';
  assert.deepEqual(first, { code: 0, stdout: said, stderr: '' });
  assert.deepEqual(await closed(), ['a-1', 'a-2', 'b-1']);
  const theirs = await kubectl(cluster(), ['cordon', 'a-1', 'other']);
  assert.equal(theirs.stdout, 'node/a-1 already cordoned\nnode/other cordoned\n');
  const opened = 'node/a-1 uncordoned\nnode/a-2 uncordoned\n';
  // a-2 was cordoned by others.
  assert.equal((await cliHere(cluster(), ['uncordon', 'alpha', '--yes'])).stdout, opened);
  assert.equal(await ok(['uncordon', 'alpha', 'alpha']), 'node/a-1 already uncordoned\nnode/a-2 already uncordoned\n');
  assert.deepEqual(await closed(), ['b-1', 'other']);
});

test('cordon and drain update the cordoned count, and report a status that cannot be written', async () => {
  await pools();
  await testEnv.reconcile();
  const cordoned = async () => (await testEnv.getPool('alpha'))?.status?.unschedulableNodeCount;
  assert.equal(await cordoned(), 1);
  await ok(['cordon', 'alpha']);
  assert.equal(await cordoned(), 2);
  assert.match(await ok(['get', 'alpha', '--no-headers']), /^alpha +Ready +2 +2 +2 /);
  await ok(['cordon', 'alpha', '--dry-run=server']);
  assert.equal((await cliHere(cluster(), ['uncordon', 'alpha', '--node', 'a-2', '--yes'])).code, 0);
  assert.equal(await cordoned(), 1);
  await ok(['wait', 'alpha', '--for=jsonpath={.status.unschedulableNodeCount}=1', '--timeout=5s']);
  await cliHere(cluster(), ['drain', 'alpha', '--yes']);
  assert.equal(await cordoned(), 2);

  const user = await userWith(cluster(), 'cordoner', [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['list'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch'] },
  ]);
  const { code, stdout, stderr } = await cliHere(cluster(), ['uncordon', 'alpha', '--kubeconfig', user]);
  assert.deepEqual([code, stdout], [0, 'node/a-1 uncordoned\nnode/a-2 uncordoned\n']);
  assert.match(
    stderr,
    /^warning: the cordoned nodes in the status are from the last reconcile: user ".*" may not patch .*\n$/,
  );
});

test('sends one write per node, and none for nodes that need no change', async () => {
  await pools();
  const before = (await readAudit(cluster())).length;
  await ok(['cordon', 'alpha']);
  await ok(['cordon', 'alpha']);
  const writes = (await readAudit(cluster())).slice(before).filter(isWrite);
  assert.deepEqual(
    writes.map(({ verb, resource, name }) => `${verb} ${resource} ${name}`),
    ['patch nodes a-1'],
  );
});

test('--node accepts members only', async () => {
  await pools();
  assert.equal(await ok(['cordon', 'alpha', '--node', 'a-1']), 'node/a-1 cordoned\n');
  await refused(
    ['uncordon', 'alpha', '--node', 'a-1', '--node', 'b-1'],
    1,
    'error: --node: node "b-1" is not a member of pool alpha; next: list the members with `kubectl nodepool describe alpha`',
  );
});

test('-l and --all select pools', async () => {
  await pools();
  await testEnv.edit('beta', { metadata: { labels: { team: 'b' } } });
  assert.equal(await ok(['cordon', '-l', 'team=b']), 'node/b-1 cordoned\n');
  assert.equal(
    (await cliHere(cluster(), ['uncordon', '--all', '--yes'])).stdout,
    'node/a-1 already uncordoned\nnode/a-2 uncordoned\nnode/b-1 uncordoned\n',
  );
  await refused(['cordon', '-l', 'team=x'], 0, 'No pools found.');
  await refused(['cordon', '-l', 'team in b'], 2, /^error: -l "team in b": /);
  await refused(
    ['cordon', 'alpha', '-l', 'team=b'],
    2,
    /^error: a name cannot be provided when a selector is specified; /,
  );
});

test('dry runs print what they would do', async () => {
  await pools();
  for (const [flag, suffix] of [
    ['--dry-run', ' (dry run)'],
    ['--dry-run=server', ' (server dry run)'],
  ] as const) {
    const { code, stdout } = await unchanged(['cordon', 'alpha', flag]);
    assert.equal(code, 0);
    assert.equal(stdout, `node/a-1 cordoned${suffix}\nnode/a-2 already cordoned${suffix}\n`);
  }
});

test('reports missing pools, arguments and permissions', async () => {
  await pools();
  const next = 'next: list the pools with `kubectl nodepool get`';
  await refused(['cordon', 'alpha', 'nope'], 1, `error: nodepool "nope" not found; ${next}`);
  await refused(
    ['cordon'],
    2,
    "error: no pool is specified; next: name a pool, or use -l SELECTOR or --all\nSee 'kubectl nodepool cordon --help'.",
  );
  await testEnv.pool('empty');
  await refused(['uncordon', 'empty'], 0, 'No nodes found in pool empty.');
  const forbidden = await cliHere(cluster(), ['cordon', 'alpha', '--as', 'nobody']);
  assert.equal(forbidden.code, 1);
  assert.match(forbidden.stderr, /user "nobody" may not list nodes\nnext: ask for a role with verb list on/);
});

test('keeps records, and labels and taints of others', async () => {
  await pools();
  await testEnv.edit('alpha', { spec: { taints: [{ key: 'dedicated', effect: 'NoSchedule' }] } });
  await testEnv.reconcile();
  const before = await testEnv.node('a-1');
  await ok(['cordon', 'alpha']);
  const { metadata, spec } = await testEnv.node('a-1');
  assert.deepEqual(metadata.labels, before.metadata.labels);
  assert.deepEqual(metadata.annotations, before.metadata.annotations);
  assert.deepEqual({ ...spec, unschedulable: undefined }, { ...before.spec, unschedulable: undefined });
});
