/** What a pool's status says of nodes and a RuntimeClass that others own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflictMessages, keysOf } from '../../../src/reconciler/conflicts.ts';
import { aNode, aPool, taint } from '../nodepool/fixtures.ts';

const pool = aPool({ labels: { tier: 'gold' }, taints: [taint('own=x:NoSchedule')] });
const bare = aPool();
const unchanged = { kind: 'unchanged' } as const;
const lostTo = (owner: string, ...nodes: string[]) =>
  nodes.map(name => ({ node: aNode({ name }), owner: aPool({}, { name: owner }) }));

test('one node: the message names it, its owner, and what the pool does not apply there', () => {
  assert.deepEqual(conflictMessages(pool, lostTo('gpu', 'a'), unchanged), [
    {
      reason: 'NodeConflict',
      message: 'node a belongs to pool gpu and also matches pool worker; not applied there: tier, own:NoSchedule',
    },
  ]);
});

test('several nodes of one owner are one message in order of their names; a pool that sets nothing lists no keys', () => {
  assert.deepEqual(conflictMessages(bare, lostTo('gpu', 'b', 'c', 'a'), unchanged), [
    { reason: 'NodeConflict', message: 'nodes a, b, c belong to pool gpu and also match pool worker' },
  ]);
});

test('ten nodes are named, the rest is counted', () => {
  const names = Array.from({ length: 12 }, (_, index) => `n${String(index).padStart(2, '0')}`);
  const ten = names.slice(0, 10).join(', ');
  const [ofTen] = conflictMessages(bare, lostTo('gpu', ...names.slice(0, 10)), unchanged);
  assert.equal(ofTen?.message, `nodes ${ten} belong to pool gpu and also match pool worker`);
  const [ofTwelve] = conflictMessages(bare, lostTo('gpu', ...names), unchanged);
  assert.equal(ofTwelve?.message, `nodes ${ten} and 2 more belong to pool gpu and also match pool worker`);
});

test('each owner has a message, in order of their names, whatever order the nodes come in', () => {
  for (const lost of [
    [...lostTo('z', 'a'), ...lostTo('m', 'b'), ...lostTo('b', 'c')],
    [...lostTo('b', 'c'), ...lostTo('z', 'a'), ...lostTo('m', 'b')],
  ]) {
    assert.deepEqual(
      conflictMessages(bare, lost, unchanged).map(({ message }) => message),
      ['b', 'm', 'z'].map(
        (owner, index) => `node ${'cba'[index]} belongs to pool ${owner} and also matches pool worker`,
      ),
    );
  }
});

test('a RuntimeClass of somebody else comes after the nodes; one that is the pool’s is no conflict', () => {
  const foreign = { kind: 'foreign', name: 'node-pool-worker' } as const;
  const conflicts = conflictMessages(bare, lostTo('gpu', 'a'), foreign);
  assert.deepEqual(conflicts.slice(1), [
    {
      reason: 'RuntimeClassConflict',
      message: 'RuntimeClass node-pool-worker exists and does not belong to pool worker; it is left alone',
    },
  ]);
  for (const kind of ['created', 'updated', 'deleted'] as const) {
    assert.deepEqual(conflictMessages(bare, [], { kind, name: 'node-pool-worker' }), []);
  }
  assert.deepEqual(conflictMessages(bare, [], unchanged), []);
});

test('the keys of a pool are its labels and its taints', () => {
  assert.deepEqual([keysOf(pool), keysOf(bare)], [['tier', 'own:NoSchedule'], []]);
});
