/** Conflict messages in a pool's status about nodes and a RuntimeClass that others own. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { conflictMessages, specKeys } from '../../../../src/nodepool/status/status.ts';
import { aNode, aPool, taint } from '../fixtures.ts';

const pool = aPool({ labels: { tier: 'gold' }, taints: [taint('own=x:NoSchedule')], annotations: { note: 'x' } });
const bare = aPool();
const lostTo = (owner: string, ...nodes: string[]) =>
  nodes.map(name => ({ node: aNode({ name }), owner: aPool({}, { name: owner }) }));

test('names the node, its owner, and the keys that the pool does not apply', () => {
  assert.deepEqual(conflictMessages(pool, lostTo('gpu', 'a')), [
    {
      reason: 'NodeConflict',
      message: 'node a belongs to pool gpu but also matches pool worker; not applied there: tier, own:NoSchedule, note',
    },
  ]);
});

test('names several nodes of one owner in one message; lists no keys without settings', () => {
  assert.deepEqual(conflictMessages(bare, lostTo('gpu', 'b', 'c', 'a')), [
    { reason: 'NodeConflict', message: 'nodes a, b, c belong to pool gpu but also match pool worker' },
  ]);
});

test('names ten nodes and counts the rest', () => {
  const names = Array.from({ length: 12 }, (_, index) => `n${String(index).padStart(2, '0')}`);
  const ten = names.slice(0, 10).join(', ');
  const [ofTen] = conflictMessages(bare, lostTo('gpu', ...names.slice(0, 10)));
  assert.equal(ofTen?.message, `nodes ${ten} belong to pool gpu but also match pool worker`);
  const [ofTwelve] = conflictMessages(bare, lostTo('gpu', ...names));
  assert.equal(ofTwelve?.message, `nodes ${ten} and 2 more belong to pool gpu but also match pool worker`);
});

test('reports one message per owner, sorted by name', () => {
  for (const lost of [
    [...lostTo('z', 'a'), ...lostTo('m', 'b'), ...lostTo('b', 'c')],
    [...lostTo('b', 'c'), ...lostTo('z', 'a'), ...lostTo('m', 'b')],
  ]) {
    assert.deepEqual(
      conflictMessages(bare, lost).map(({ message }) => message),
      ['b', 'm', 'z'].map(
        (owner, index) => `node ${'cba'[index]} belongs to pool ${owner} but also matches pool worker`,
      ),
    );
  }
});

test('reports a foreign RuntimeClass after the nodes', () => {
  const conflicts = conflictMessages(bare, lostTo('gpu', 'a'), 'node-pool-worker');
  assert.deepEqual(conflicts.slice(1), [
    {
      reason: 'RuntimeClassConflict',
      message: 'RuntimeClass node-pool-worker exists but does not belong to pool worker; not changed',
    },
  ]);
  assert.deepEqual(conflictMessages(bare, []), []);
});

test('lists the keys of labels, taints, startup taints and annotations', () => {
  assert.deepEqual([specKeys(pool), specKeys(bare)], [['tier', 'own:NoSchedule', 'note'], []]);
  const startup = aPool({ startupTaints: [{ key: 'agent', effect: 'NoExecute' }], annotations: { note: '' } });
  assert.deepEqual(specKeys(startup), ['agent:NoExecute', 'note']);
});
