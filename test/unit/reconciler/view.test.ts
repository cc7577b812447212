import assert from 'node:assert/strict';
import { test } from 'node:test';
import { View } from '../../../src/reconciler/view.ts';
import { aNode, aPool, recordOf } from '../nodepool/fixtures.ts';

const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
const names = (nodes: { name: string }[]) => nodes.map(node => node.name).sort();

test('members, held and lost nodes follow what is put in', () => {
  const worker = aPool({}, { name: 'worker' });
  const other = aPool({}, { name: 'other', creationTimestamp: '2026-02-01T00:00:00Z' });
  const view = new View(
    [worker, other],
    [
      aNode({ name: 'a', labels: role('worker') }),
      aNode({ name: 'b', labels: { ...role('worker'), ...role('other') } }),
      aNode({ name: 'c', record: recordOf({ pool: 'worker' }) }),
      aNode({ name: 'd', record: recordOf({ pool: 'gone' }) }),
      aNode({ name: 'e' }),
    ],
    [],
  );
  assert.deepEqual(names(view.members('worker')), ['a', 'b']);
  assert.deepEqual(names(view.held('worker')), ['a', 'b', 'c']);
  assert.deepEqual(names(view.lost('other').map(({ node }) => node)), ['b']);
  assert.deepEqual(view.poolNames(), ['gone', 'other', 'worker']);

  view.setNode(aNode({ name: 'a', labels: role('other') }));
  assert.deepEqual([names(view.members('worker')), names(view.members('other'))], [['b'], ['a']]);
  view.removeNode('d', aNode({ name: 'd' }).uid);
  assert.deepEqual(view.poolNames(), ['other', 'worker']);
  view.removePool('worker', worker.metadata.uid);
  assert.deepEqual(names(view.members('other')), ['a', 'b']);
});

test('a pool whose selector changed claims anew; a new status does not', () => {
  const pool = aPool({}, { name: 'worker' });
  const view = new View([pool], [aNode({ name: 'a', labels: role('worker') })], []);
  const claim = view.claim('a');
  view.setPool({ ...pool, status: { status: 200, nodeCount: 1, observedGeneration: 1 } });
  assert.equal(view.claim('a'), claim, 'the claim is the same object: nothing was computed again');
  view.setPool({ ...pool, metadata: { ...pool.metadata, generation: 2 }, spec: { nodeSelector: { other: 'x' } } });
  assert.deepEqual(view.members('worker'), []);
});

test('what the server has when it is asked outweighs the removals before that, and not those since', () => {
  const pool = aPool({}, { name: 'worker', resourceVersion: '5' });
  const view = new View([pool], [], []);
  const before = view.moment();
  view.removePool('worker', pool.metadata.uid);
  view.setPool(pool);
  assert.equal(view.pool('worker'), undefined, 'a cache that is behind');
  view.setPool(pool, before);
  assert.equal(view.pool('worker'), undefined, 'an answer that was asked for before');
  view.setPool(pool, view.moment());
  assert.ok(view.pool('worker'));
  const later = { ...pool, metadata: { ...pool.metadata, resourceVersion: '6' } };
  view.setPool(later);
  assert.equal(view.pool('worker')?.metadata.resourceVersion, '6', 'a cache is believed again');
});
