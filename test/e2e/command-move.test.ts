/** `add`, `remove` and `move`: one guarded write per node, and no other write. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readAudit } from '../cluster/audit.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { labelNode } from '../cluster/nodes.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

const GPU = { labels: { tier: 'gold' }, taints: [{ key: 'dedicated', value: 'gpu', effect: 'NoSchedule' as const }] };
const MISSING = 'next: list the nodes with `kubectl get nodes`';

/** The node patches of the product since that audit entry, by name. */
async function patches(since: number): Promise<string[]> {
  const events = (await readAudit(cluster())).slice(since);
  return events
    .filter(
      ({ verb, resource, userAgent, code }) =>
        verb === 'patch' && resource === 'nodes' && userAgent.startsWith('kubectl-nodepool/') && code === 200,
    )
    .map(({ name }) => name ?? '')
    .sort();
}
const auditLength = async () => (await readAudit(cluster())).length;

const ours = async (node: string) => {
  const { metadata } = await testEnv.node(node);
  return Object.fromEntries(
    Object.entries(metadata.labels).filter(([key]) => /^(tier|own|node-role.*|env)$/.test(key)),
  );
};

async function ends(pool: string) {
  const status = (await testEnv.getPool(pool))?.status;
  return [status?.status, status?.nodeCount];
}

test('add labels and reconciles a node in one patch, and updates status and events', async () => {
  await testEnv.nodes({ name: 'a' }, { name: 'b', labels: { tier: 'mine' } }, { name: 'c' });
  await testEnv.pool('gpu', { ...GPU, handler: 'nvidia' });
  const since = await auditLength();
  assert.equal(await ok(['add', 'gpu', 'a', 'b']), 'node/a added to pool gpu\nnode/b added to pool gpu\n');
  assert.deepEqual(await patches(since), ['a', 'b']);
  for (const node of ['a', 'b']) {
    assert.deepEqual(await ours(node), { ...role('gpu'), tier: 'gold' });
    assert.deepEqual(taintsOf(await testEnv.node(node)), ['dedicated=gpu:NoSchedule']);
  }
  assert.deepEqual(await ends('gpu'), [200, 2]);
  assert.notEqual(await testEnv.runtimeClass('gpu'), undefined);
  const events = await testEnv.events('gpu');
  assert.ok(events.some(({ reason, note }) => reason === 'NodeJoined' && note === '2 nodes joined: a, b'));
  assert.deepEqual(await ours('c'), {});
  assert.equal((await unchanged(['diff'])).code, 0, 'nothing is left to do');
  const again = await unchanged(['add', 'gpu', 'a']);
  assert.deepEqual(again, { code: 0, stdout: 'node/a is already in pool gpu\n', stderr: '' });

  assert.equal(await ok(['remove', 'gpu', 'b']), 'node/b removed from pool gpu\n');
  assert.deepEqual([await ours('b'), taintsOf(await testEnv.node('b'))], [{ tier: 'mine' }, []]);
  assert.equal((await testEnv.node('b')).metadata.annotations?.['nodes.lailin.xyz/applied'], undefined);
  assert.deepEqual(await ends('gpu'), [200, 1]);
  assert.ok((await testEnv.events('gpu')).some(({ reason }) => reason === 'NodeLeft'));
  const off = await unchanged(['remove', 'gpu', 'b']);
  assert.deepEqual(off, { code: 0, stdout: 'node/b is not in pool gpu\n', stderr: '' });
});

test('move changes the pool of a node in one write, and updates both pools', async () => {
  await testEnv.nodes({ name: 'a' }, { name: 'b', labels: { zone: 'z' } }, { name: 'c', labels: { zone: 'z' } });
  await testEnv.pool('old', { nodeSelector: { env: 'old' }, labels: { tier: 'brass', own: '1' } });
  await testEnv.pool('new', { nodeSelector: { env: 'new' }, ...GPU });
  await ok(['add', 'old', 'a', 'b', 'c']);
  const since = await auditLength();
  assert.equal(
    await ok(['move', '-l', 'zone=z', '--to', 'new']),
    'node/b moved from pool old to pool new\nnode/c moved from pool old to pool new\n',
  );
  assert.deepEqual(await patches(since), ['b', 'c']);
  assert.deepEqual(await ours('b'), { env: 'new', tier: 'gold' });
  assert.deepEqual(
    [await ends('old'), await ends('new')],
    [
      [200, 1],
      [200, 2],
    ],
  );
  assert.equal(await ok(['move', '--from', 'old', '--to', 'new']), 'node/a moved from pool old to pool new\n');
  assert.deepEqual(
    [await ends('old'), await ends('new')],
    [
      [200, 0],
      [200, 3],
    ],
  );
  assert.equal((await unchanged(['diff'])).code, 0);
  await refused(['move', 'a', '--from', 'old', '--to', 'new', '-l', 'x=y'], 2, /cannot be used together/);
  await refused(['move', '-l', '', '--to', 'old'], 2, /^error: -l: the selector is empty; /);
  await refused(['move', '-l', 'a===', '--to', 'old'], 2, /^error: -l "a===": /);
  assert.deepEqual(await unchanged(['move', '--from', 'old', '--to', 'new']), {
    code: 0,
    stdout: '',
    stderr: 'No nodes found.\n',
  });
  assert.match(
    (await unchanged(['move', '-l', 'zone=z', '--from', 'new', '--to', 'old', '--dry-run'])).stdout,
    /\nnode\/b moved from pool new to pool old \(dry run\)\nnode\/c moved from pool new to pool old \(dry run\)\n$/,
  );
  assert.match((await unchanged(['move', 'a', '--from', 'new', '--to', 'old', '--dry-run'])).stdout, /\(dry run\)\n$/);
});

test('a dry run shows the change of each node and writes nothing', async () => {
  await testEnv.nodes({ name: 'a', labels: role('old') });
  await testEnv.pool('old', { labels: { own: '1' } });
  await testEnv.pool('gpu', GPU);
  await testEnv.reconcile();
  for (const [flag, suffix] of [
    ['--dry-run', '(dry run)'],
    ['--dry-run=server', '(server dry run)'],
  ] as const) {
    const { code, stdout, stderr } = await unchanged(['move', 'a', '--to', 'gpu', flag]);
    assert.deepEqual([code, stderr], [0, '']);
    assert.equal(
      stdout,
      `node a (moves from pool old to pool gpu)
  - label node-role.kubernetes.io/old=  (membership)
  + label node-role.kubernetes.io/gpu=  (membership)
  + label tier=gold  (spec)
  - label own=1  (left the pool)
  + taint dedicated=gpu:NoSchedule  (spec)

1 node would change: 3 set, 2 removed

Impact: none found
Not checked: other fields of custom resources (diff --impact-path)

node/a moved from pool old to pool gpu ${suffix}
`,
    );
  }
});

test('checks all arguments before any write', async () => {
  await testEnv.nodes(
    { name: 'a' },
    { name: 'b', labels: role('old') },
    { name: 'c', labels: { env: 'mine' } },
    { name: 'd', labels: { env: 'prod' } },
  );
  await testEnv.pool('old');
  await testEnv.pool('gpu', GPU);
  await testEnv.pool('prod', { nodeSelector: { env: 'prod' } });
  await testEnv.pool('gold', { nodeSelector: { env: 'prod', level: 'gold' } }, { younger: true });
  await testEnv.pool('arm', { nodeSelector: { 'kubernetes.io/arch': 'amd64', env: 'mine' } });
  await testEnv.pool('os', { nodeSelector: { 'kubernetes.io/os': 'windows' } });
  await testEnv.reconcile();
  const nope = 'error: nodepool "nope" not found; next: list the pools with `kubectl nodepool get`';
  await refused(['add', 'nope', 'a'], 1, nope);
  await refused(['move', 'a', '--from', 'nope', '--to', 'gpu'], 1, nope);
  await refused(['add', 'gpu', 'a', 'x', 'y'], 1, `error: nodes "x", "y" not found; ${MISSING}`);
  await refused(
    ['add', 'gpu'],
    2,
    /^error: add needs the names of nodes, or -l SELECTOR; next: write the pool first, then the nodes: `kubectl nodepool add gpu NODE\.\.\.`\n/,
  );
  await refused(['add', 'gpu', '-l', 'x=y'], 0, 'No nodes found.');
  await refused(
    ['add', 'gpu', 'a', 'b'],
    1,
    'error: node b belongs to pool old; next: move the node: `kubectl nodepool move b --to gpu`',
  );
  await refused(['add', 'prod', 'c'], 1, /^error: node c belongs to pool arm; /);
  await refused(['move', 'b', '--from', 'gpu', '--to', 'prod'], 1, /^error: --from gpu: node b belongs to pool old; /);
  await refused(
    ['move', 'd', '--to', 'gold'],
    1,
    /^error: node d cannot leave pool prod: that pool selects the node by env=prod, /,
  );
  await refused(['add', 'os', 'a'], 1, /^error: node a has the label kubernetes.io\/os=linux, but members of pool os /);
  await refused(['move'], 2, /to/);
  // The label that the cluster owns is kept; removing the other one is enough.
  assert.equal(await ok(['remove', 'arm', 'c']), 'node/c removed from pool arm (label env=mine removed)\n');
  assert.equal((await testEnv.node('c')).metadata.labels['kubernetes.io/arch'], 'amd64');
});

test('remove refuses a label that the release would restore', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('giver'), env: 'x' } });
  await testEnv.pool('giver', { labels: { grade: 'y' } });
  await testEnv.pool('taker', { nodeSelector: { grade: 'y' } }, { younger: true });
  await testEnv.reconcile();
  await refused(
    ['remove', 'taker', 'a'],
    1,
    /^error: node a would match pool taker again: pool giver sets the labels that pool taker selects; /,
  );
  // Removing it from the other pool removes it from both.
  assert.equal(await ok(['remove', 'giver', 'a']), 'node/a removed from pool giver\n');
});

test('remove leaves a node that two pools match to the other pool', async () => {
  await testEnv.nodes({ name: 'a', labels: { ...role('first'), ...role('second') } });
  await testEnv.pool('first', { labels: { tier: '1' } });
  await testEnv.pool('second', { labels: { tier: '2' } }, { younger: true });
  await testEnv.reconcile();
  assert.deepEqual(
    [await ends('first'), await ends('second')],
    [
      [200, 1],
      [409, 0],
    ],
  );
  assert.equal(await ok(['remove', 'first', 'a']), 'node/a removed from pool first, is in pool second\n');
  assert.deepEqual([await ends('first'), await ends('second'), (await ours('a')).tier], [[200, 0], [200, 1], '2']);
});

test('writes no other node, and reports a pool that has more to do', async () => {
  await testEnv.nodes({ name: 'a' }, { name: 'b', labels: role('gpu') });
  await testEnv.pool('gpu', GPU);
  await testEnv.reconcile();
  await labelNode(cluster(), 'b', { tier: 'drift' });
  const { code, stdout, stderr } = await cliHere(cluster(), ['add', 'gpu', 'a']);
  assert.deepEqual([code, stdout], [0, 'node/a added to pool gpu\n']);
  assert.equal(
    stderr,
    'warning: gpu: 1 other node differs from the labels and taints of the pool; next: run `kubectl nodepool reconcile gpu`\n',
  );
  assert.equal((await ours('b')).tier, 'drift');
  const drifted = await testEnv.getPool('gpu');
  const { status, nodeCount, updatedNodeCount } = drifted?.status ?? {};
  assert.deepEqual([status, nodeCount, updatedNodeCount], [200, 2, 1]);
  const { status: isApplied, reason, message } = condition(drifted, 'Applied');
  const says = '1 of 2 nodes differs from the labels and taints of the pool: b';
  assert.deepEqual([isApplied, reason, message], ['False', 'NodesNotUpdated', says]);
  await ok(['reconcile', 'gpu']);
  const repaired = await testEnv.getPool('gpu');
  assert.deepEqual([repaired?.status?.updatedNodeCount, condition(repaired, 'Applied').status], [2, 'True']);
});

test('kubectl runs add, remove and move', async () => {
  await testEnv.nodes({ name: 'a' });
  await testEnv.pool('gpu', GPU);
  const { code, stdout } = await kubectl(cluster(), ['nodepool', 'add', 'gpu', 'a']);
  assert.deepEqual([code, stdout], [0, 'node/a added to pool gpu\n']);
});

test('add and move ask before a control-plane node joins, and scripts need --yes', async () => {
  const name = 'ip-10-0-1-15.eu-west-1.compute.internal';
  const taints = [{ key: 'node-role.kubernetes.io/control-plane', effect: 'NoSchedule' as const }];
  await testEnv.nodes(
    { name, taints },
    { name: 'cp', labels: { 'node-role.kubernetes.io/master': '' } },
    { name: 'a' },
  );
  await testEnv.pool('gpu', GPU);
  const asked = `2 nodes (cp, ip-10-0-1-15…) run the control plane and would get the labels and taints of the pool`;
  await refused(
    ['add', 'gpu', 'a', 'cp', name],
    1,
    `error: ${asked}; nothing was changed; next: to continue, run the command again with --yes`,
  );
  await refused(['move', 'cp', '--to', 'gpu'], 1, /^error: 1 node \(cp\) runs the control plane /);
  if (NO_TERMINAL === undefined) {
    const { shown, code } = await inTerminal(cluster(), ['add', 'gpu', 'a', 'cp', name], 'n\n', 400);
    assert.equal(code, 1);
    assert.ok(
      shown.includes(
        `Add 3 nodes (a, cp, ip-10-0-1-15…) to pool gpu in context nodepool-demo: ${asked}? [y/N] nothing was changed\n`,
      ),
      shown,
    );
  }
  const { code, stderr } = await cliHere(cluster(), ['add', 'gpu', 'cp', '--yes']);
  assert.deepEqual([code, stderr], [0, `warning: ${asked.replace(/^.* run /, '1 node (cp) runs ')}\n`]);
});

test('move lists the labels and taints to remove before it asks', { skip: NO_TERMINAL ?? false }, async () => {
  await testEnv.nodes({ name: 'a', labels: role('old') });
  await testEnv.pool('old', { labels: { tier: 'brass', own: '1' }, taints: [{ key: 'old', effect: 'NoSchedule' }] });
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.reconcile();
  const { shown, code } = await inTerminal(cluster(), ['move', 'a', '--to', 'gpu'], 'y\n', 400);
  assert.equal(code, 0, shown);
  assert.match(
    shown,
    /^This removes label own=1 from 1 node \(a\); removes taint old:NoSchedule from 1 node \(a\); changes label tier=brass to gold on 1 node \(a\)\n[\s\S]*node\/a moved from pool old/m,
  );
  assert.equal(shown.match(/This removes/g)?.length, 1);
});
