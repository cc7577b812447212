/** `why`, and nodes by their short names: the part before the first dot. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);

const DOMAIN = 'eu-west-1.compute.internal';
const [A, B, C] = ['ip-10-0-1-1', 'ip-10-0-1-15', 'ip-10-0-2-15'].map(name => `${name}.${DOMAIN}`) as [
  string,
  string,
  string,
];

async function fill(): Promise<void> {
  await testEnv.nodes(
    { name: A, labels: role('gpu') },
    { name: B, labels: role('gpu') },
    { name: C, labels: { pool: 'workers' } },
    { name: 'twin.a', labels: role('gpu') },
    { name: 'twin.b', labels: role('gpu') },
  );
  await testEnv.pool('gpu', { labels: { tier: 'gold' } });
  await testEnv.pool('worker', { nodeSelector: { pool: 'worker' } });
  await testEnv.reconcile();
}

test('why explains a node by its short name, and a nearly matching value', async () => {
  await fill();
  assert.equal(
    await ok(['why', 'ip-10-0-2-15']),
    `node ${C} is in no pool

pool worker: does not match
  ! pool=worker  the node has pool=workers; the selector requires pool=worker

pool gpu: does not match
  ! node-role.kubernetes.io/gpu=  the node does not have this label
`,
  );
  const one = `node ${B} is in pool gpu

pool gpu: owns the node
  = node-role.kubernetes.io/gpu=  the node has this label
  the pool set tier=gold
`;
  assert.equal(await ok(['why', `node/${B}`, 'gpu']), one);
  assert.equal(await ok(['nodes', 'gpu', '--why', 'ip-10-0-1-15']), one);
  const answer = JSON.parse(await ok(['why', 'ip-10-0-1-15', '-o', 'json'])) as { node: string; applied: object };
  assert.deepEqual([answer.node, answer.applied], [B, { labels: { tier: 'gold' }, taints: [], annotations: {} }]);
  const order = `error: node "gpu" not found: it is a pool; next: write the node first: \`kubectl nodepool why ip-10-0-1-1 gpu\``;
  await refused(['why', 'gpu', 'ip-10-0-1-1'], 1, order);
  await refused(['why', 'ip-10-0-115'], 1, `error: node "ip-10-0-115" not found; did you mean "${B}"?`);
});

test('commands that change nodes accept short names, and print full ones', async () => {
  await fill();
  assert.equal(await ok(['cordon', 'gpu', '--node', 'ip-10-0-1-1']), `node/${A} cordoned\n`);
  assert.equal(await ok(['uncordon', 'gpu', '--node', 'ip-10-0-1-1', '--yes']), `node/${A} uncordoned\n`);
  const drained = await cliHere(cluster(), ['drain', 'gpu', '--node', 'ip-10-0-1-15']);
  assert.match(drained.stdout, new RegExp(`^node/${B} cordoned$`, 'm'));
});

test('refuses short names of several nodes or of nodes outside the pool', async () => {
  await fill();
  const ambiguous = 'error: node "twin" is ambiguous: twin.a, twin.b; next: use the full name';
  for (const args of [
    ['why', 'twin'],
    ['remove', 'gpu', 'twin'],
    ['move', 'twin', '--to', 'worker'],
    ['history', 'twin'],
  ])
    await refused(args, 1, ambiguous);
  for (const command of ['cordon', 'uncordon', 'drain'])
    await refused([command, 'gpu', '--node', 'twin'], 1, ambiguous.replace('node "', '--node: node "'));
  const outside = `error: --node: node "${C}" is not a member of pool gpu; next: list the members with \`kubectl nodepool describe gpu\``;
  for (const command of ['cordon', 'drain']) await refused([command, 'gpu', '--node', 'ip-10-0-2-15'], 1, outside);
  // The name of another node is not the short name of a member.
  await testEnv.nodes({ name: 'ip-10-0-1-15' });
  await refused(['drain', 'gpu', '--node', 'ip-10-0-1-15'], 1, outside.replace(C, 'ip-10-0-1-15'));
  const { code } = await unchanged(['create', 'new', '--nodes', 'twin']);
  assert.equal(code, 1);
});

test('create and move find nodes by short names', async () => {
  await fill();
  await ok(['create', 'new', '--nodes', 'ip-10-0-2-15', '--reconcile', '--yes']);
  assert.match(await ok(['why', 'ip-10-0-2-15', 'new']), new RegExp(`^node ${C} is in pool new\n`));
  assert.equal(
    await ok(['move', 'ip-10-0-2-15', '--to', 'gpu', '--yes']),
    `node/${C} moved from pool new to pool gpu\n`,
  );
  assert.equal(await ok(['remove', 'gpu', 'ip-10-0-2-15', '--yes']), `node/${C} removed from pool gpu\n`);
  await refused(
    ['describe', 'ip-10-0-1-15'],
    1,
    /is a node of pool gpu: `kubectl nodepool why ip-10-0-1-15\.eu-west-1\.compute\.internal`/,
  );
  const history = await cliHere(cluster(), ['history', 'ip-10-0-2-15']);
  assert.equal(history.code, 0);
  assert.match(history.stdout, /NodeJoined/);
  assert.match(history.stderr, /^Not shown: expired Events .*\n$/);
});
