import assert from 'node:assert/strict';
import { test } from 'node:test';
import { listNodes, type NodesOptions } from '../../../../../src/commands/shared/pools/nodes.ts';
import type { ClusterPort } from '../../../../../src/kube/cluster.ts';
import type { Node } from '../../../../../src/nodepool/types.ts';
import { aNode, aPool, recordOf, taint } from '../../../nodepool/fixtures.ts';

const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
const POOLS = [aPool({ labels: { tier: 'a' } }, { name: 'a' }), aPool({}, { name: 'b' })];
const ALL: NodesOptions = { pools: [], unassigned: false, selector: undefined };

async function listed(nodes: Node[], options: Partial<NodesOptions> = {}) {
  const cluster = {
    pools: { listCoerced: async () => POOLS },
    nodes: { serverTime: () => new Date(), list: async () => nodes },
  } as unknown as ClusterPort;
  return listNodes({ ...ALL, ...options }, { cluster });
}

const list = async (...args: Parameters<typeof listed>) => (await listed(...args)).nodes;

test('counts nodes that match a chosen pool and belong to another', async () => {
  const both = { ...role('a'), ...role('b') };
  const nodes = [aNode({ name: 'n', labels: both, record: recordOf({ pool: 'a' }) })];
  const { nodes: found, ownedByOthers } = await listed(nodes, { pools: ['b'] });
  assert.deepEqual([found, [...ownedByOthers]], [[], [['a', 1]]]);
  for (const pools of [[], ['a'], ['a', 'b']]) {
    assert.equal((await listed(nodes, { pools })).ownedByOthers.size, 0);
  }
});

const applied = {
  taints: [taint('x=1:NoSchedule'), taint('mine:NoSchedule')],
  annotations: { owner: 'us', other: 'theirs' },
  record: recordOf({
    pool: 'a',
    labels: { tier: 'a', gone: 'x' },
    taints: { 'x:NoSchedule': '1' },
    annotations: { owner: 'us', lost: '' },
  }),
};

test('lists what its pool set and what still exists', async () => {
  const [found] = await list([aNode({ labels: { ...role('a'), tier: 'a', gone: 'y' }, ...applied })]);
  const annotations = { owner: 'us' };
  assert.deepEqual(found?.applied, { labels: { tier: 'a' }, taints: [taint('x=1:NoSchedule')], annotations });
});

test('leaves out what the previous pool set', async () => {
  const [found] = await list([aNode({ labels: { ...role('b'), tier: 'a' }, ...applied })]);
  const nothing = { labels: {}, taints: [], annotations: {} };
  assert.deepEqual([found?.pool, found?.leaving, found?.applied], ['b', false, nothing]);
  assert.deepEqual(
    found?.changes.map(({ key, action }) => [key, action]),
    [
      ['tier', 'remove'],
      ['x', 'remove'],
      ['owner', 'remove'],
    ],
  );
});

test('lists members and leaving nodes of the named pools, and other nodes as unassigned', async () => {
  const nodes = [
    aNode({ name: 'member', labels: role('a') }),
    aNode({ name: 'leaving', record: recordOf({ pool: 'a', labels: { tier: 'a' } }) }),
    aNode({ name: 'orphan', record: recordOf({ pool: 'gone' }) }),
    aNode({ name: 'other', labels: role('b') }),
    aNode({ name: 'free' }),
  ];
  const names = async (options: Partial<NodesOptions>) =>
    (await list(nodes, options)).map(({ node, leaving }) => `${node.name}${leaving ? ',Leaving' : ''}`);
  assert.deepEqual(await names({}), ['member', 'leaving,Leaving', 'orphan,Leaving', 'other']);
  assert.deepEqual(await names({ pools: ['a'] }), ['member', 'leaving,Leaving']);
  assert.deepEqual(await names({ pools: ['gone', 'b'] }), ['orphan,Leaving', 'other']);
  assert.deepEqual(await names({ unassigned: true }), ['free']);
});
