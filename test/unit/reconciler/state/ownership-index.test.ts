import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Node, NodePool } from '../../../../src/nodepool/types.ts';
import { OwnershipIndex } from '../../../../src/reconciler/state/ownership-index.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';

const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
const pool = (name: string) => aPool({}, { name, uid: `uid-${name}` });
const names = (nodes: readonly Node[]) => nodes.map(({ name }) => name).sort();

/** OwnershipIndex over maps that the test changes as a cache does: first the map, then the notification. */
function createIndex(pools: NodePool[], ...nodes: Node[]) {
  const byPool = new Map(pools.map(each => [each.metadata.name, each]));
  const byNode = new Map(nodes.map(node => [node.name, node]));
  const ownerships = new OwnershipIndex(byPool, byNode);
  return {
    ownerships,
    set(node: Node) {
      byNode.set(node.name, node);
      ownerships.setNode(node);
    },
    remove(name: string) {
      byNode.delete(name);
      ownerships.removeNode(name);
    },
    setPools(...next: NodePool[]) {
      byPool.clear();
      for (const each of next) byPool.set(each.metadata.name, each);
      ownerships.poolsChanged();
    },
    concerned: (name: string) => names(ownerships.select(name, () => true)),
    poolNames: () => [...ownerships.poolNames()].sort(),
  };
}

const member = aNode({ name: 'member', labels: role('a') });
const shared = aNode({ name: 'shared', labels: { ...role('a'), ...role('b') } });
const left = aNode({ name: 'left', labels: role('b'), record: recordOf({ pool: 'a' }) });
const orphan = aNode({ name: 'orphan', record: recordOf({ pool: 'gone' }) });
const free = aNode({ name: 'free' });

test('relates a node to its owner, the pools that lost it, and the pool in its record, each once', () => {
  const { ownerships, concerned, poolNames } = createIndex([pool('a'), pool('b')], member, shared, left, orphan, free);
  assert.deepEqual(ownerships.poolsOf('member'), ['a']);
  assert.deepEqual(ownerships.poolsOf('shared'), ['a', 'b']);
  assert.deepEqual(ownerships.poolsOf('left'), ['b', 'a']);
  assert.deepEqual(ownerships.poolsOf('orphan'), ['gone']);
  assert.deepEqual([ownerships.poolsOf('free'), ownerships.poolsOf('nobody')], [[], []]);
  assert.deepEqual(poolNames(), ['a', 'b', 'gone']);
  assert.deepEqual(concerned('a'), ['left', 'member', 'shared']);
  assert.deepEqual(concerned('b'), ['left', 'shared']);
  assert.deepEqual(concerned('gone'), ['orphan']);
  assert.deepEqual(concerned('nobody'), []);
});

test('selects matching ownerships only', () => {
  const { ownerships } = createIndex([pool('a'), pool('b')], member, shared, left);
  assert.deepEqual(names(ownerships.select('b', ({ owner }) => owner === 'b')), ['left']);
  assert.deepEqual(names(ownerships.select('b', ({ conflicting }) => conflicting.includes('b'))), ['shared']);
  assert.deepEqual(
    ownerships.select('b', () => false),
    [],
  );
});

test('neighbours are the pool itself and pools that share a node with it', () => {
  const { ownerships } = createIndex(
    [pool('a'), pool('b'), pool('c')],
    member,
    shared,
    aNode({ name: 'x', labels: role('c') }),
  );
  assert.deepEqual([...ownerships.neighbours('a')].sort(), ['a', 'b']);
  assert.deepEqual([...ownerships.neighbours('c')], ['c']);
  assert.deepEqual([...ownerships.neighbours('nobody')], ['nobody']);
});

test('moves a changed node to its new pools only', () => {
  const { ownerships, set, remove, concerned, poolNames } = createIndex([pool('a'), pool('b')], member);
  assert.deepEqual(concerned('a'), ['member']);
  set({ ...member, labels: role('b') });
  assert.deepEqual([concerned('a'), concerned('b'), poolNames()], [[], ['member'], ['b']]);
  assert.equal(ownerships.get('member')?.owner, 'b');
  set(shared);
  assert.deepEqual([concerned('a'), concerned('b')], [['shared'], ['member', 'shared']]);
  remove('member');
  assert.deepEqual([ownerships.get('member'), concerned('b')], [undefined, ['shared']]);
  remove('shared');
  remove('nobody');
  assert.deepEqual(poolNames(), []);
});

test('recomputes ownership after pools change, and otherwise returns the same objects', () => {
  const { ownerships, setPools, concerned, poolNames } = createIndex([pool('a')], member, shared);
  const before = ownerships.get('shared');
  assert.equal(ownerships.get('shared'), before);
  assert.equal(ownerships.index, ownerships.index);
  setPools(pool('b'));
  assert.equal(ownerships.get('shared')?.owner, 'b');
  assert.equal(ownerships.get('member')?.owner, undefined);
  assert.deepEqual([concerned('a'), concerned('b'), poolNames()], [[], ['shared'], ['b']]);
});

test('computes ownership for a node that changes between a pool change and the next read', () => {
  const { ownerships, set, remove, setPools, concerned } = createIndex([pool('a')], member);
  assert.deepEqual(concerned('a'), ['member']);
  setPools(pool('a'), pool('b'));
  set(left);
  remove('member');
  assert.deepEqual(ownerships.poolsOf('left'), ['b', 'a']);
  assert.deepEqual(concerned('a'), ['left']);
});

test('does not select a deleted node before its delete event', () => {
  const nodes = new Map([member, shared].map(node => [node.name, node]));
  const ownerships = new OwnershipIndex(new Map([['a', pool('a')]]), nodes);
  assert.equal(ownerships.get('member')?.owner, 'a');
  nodes.delete('member');
  assert.deepEqual(names(ownerships.select('a', () => true)), ['shared']);
});
