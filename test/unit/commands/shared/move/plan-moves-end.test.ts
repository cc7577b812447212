/** Which pool a moved node ends in, by the labels that other pools select by and set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { aNode, aPool, recordOf } from '../../../nodepool/fixtures.ts';
import { member, pool, role } from '../fake-server.ts';
import { A, planned, refused, younger } from './run-plan-moves.ts';

test('a removal keeps labels by which another pool selects the node', async () => {
  const shared = aPool({ nodeSelector: { zone: 'z', ...role('a') } }, { name: 'both', uid: 'uid-both' });
  const node = aNode({ name: 'n1', labels: { ...role('a'), zone: 'z' } });
  const later = { ...A, metadata: { ...A.metadata, creationTimestamp: '2026-03-01T00:00:00Z' } };
  const { plan } = await planned([shared, later], [node], { kind: 'remove', pool: 'both', nodes: ['n1'] });
  assert.deepEqual(plan.nodes[0]?.patch?.labels?.zone, null);
  assert.equal(plan.nodes[0]?.patch?.labels?.['node-role.kubernetes.io/a'], undefined);
  assert.equal(plan.nodes[0]?.owner, 'a');
});

test('a node with labels of two pools can be removed only from its owner', async () => {
  const [older, rival] = ['older', 'rival'].map(name =>
    aPool({ nodeSelector: { grp: 'x' } }, { name, uid: `uid-${name}` }),
  );
  assert.ok(older && rival);
  const nodes = [aNode({ name: 'n1', labels: { grp: 'x' } })];
  const { plan } = await planned([older, rival], nodes, { kind: 'remove', pool: 'older', nodes: ['n1'] });
  assert.deepEqual(plan.nodes[0]?.patch?.labels, { grp: null });
  assert.deepEqual(await refused([older, rival], nodes, { kind: 'remove', pool: 'rival', nodes: ['n1'] }), [
    'input',
    'node n1 cannot be removed from pool rival: pool older selects the node by the same labels, grp=x',
    'change the selector of the pool: `kubectl nodepool edit rival`',
  ]);
});

test('a removal cleans up a node that already left through a label of the cloud', async () => {
  const zone = aPool({ nodeSelector: { 'topology.kubernetes.io/zone': 'z' }, labels: { tier: 'a' } }, { name: 'a' });
  const node = aNode({ name: 'n1', labels: { tier: 'a' }, record: recordOf({ pool: 'a', labels: { tier: 'a' } }) });
  const { plan } = await planned([zone], [node], { kind: 'remove', pool: 'a', nodes: ['n1'] });
  assert.deepEqual(plan.nodes[0]?.patch?.labels, { tier: null });
});

test('a removal from a pool that lost the node keeps the node with its owner', async () => {
  const rival = younger('rival', { zone: 'z' });
  const node = { ...member('n1', 'a', 'a'), labels: { ...member('n1', 'a', 'a').labels, zone: 'z' } };
  const { plan } = await planned([A, rival], [node], { kind: 'remove', pool: 'rival', nodes: ['n1'] });
  assert.deepEqual(
    plan.nodes.map(({ owner, patch }) => [owner, patch?.labels]),
    [['a', { zone: null }]],
  );
});

test('refuses a removal or move that the labels of the owner would undo', async () => {
  const giver = pool('giver', { grade: 'y' });
  const taker = younger('taker', { grade: 'y' });
  const node = aNode({
    name: 'n1',
    labels: { ...role('giver'), grade: 'y' },
    record: recordOf({ pool: 'giver', labels: { grade: 'y' } }),
  });
  const next = 'to see why: `kubectl nodepool why n1`';
  assert.deepEqual(await refused([giver, taker], [node], { kind: 'remove', pool: 'taker', nodes: ['n1'] }), [
    'input',
    'node n1 would match pool taker again: pool giver sets the labels that pool taker selects',
    next,
  ]);
  // b selects by a label that only a sets, and removes on release.
  const needy = aPool({ nodeSelector: { ...role('b'), tier: 'a' } }, { name: 'b', uid: 'uid-b' });
  assert.deepEqual(await refused([A, needy], [member('n1', 'a', 'a')], { nodes: ['n1'] }), [
    'input',
    'node n1 would not stay in pool b: another pool would own the node',
    next,
  ]);
  // The label that a displaced is restored, and another pool selects by it.
  const record = recordOf({ pool: 'a', labels: { tier: 'a' }, displaced: { labels: { tier: 'old' } } });
  const [, message] = await refused(
    [A, needy, younger('c', { tier: 'old' })],
    [{ ...member('n1', 'a', 'a'), record }],
    {
      nodes: ['n1'],
    },
  );
  assert.equal(message, 'node n1 would not stay in pool b: pool c would own the node');
});
