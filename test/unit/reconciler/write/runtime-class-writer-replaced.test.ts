/** What others set on a RuntimeClass outlives a process that ends between its deletion and the next creation. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatPreserved } from '../../../../src/nodepool/plan/runtime-class.ts';
import { type NodePool, REPLACED_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aPool } from '../../nodepool/fixtures.ts';
import { begin, foreign, NAME, owned, pool } from '../runtime-class-server.ts';

const labels = { team: 'a' };
const value = formatPreserved({ labels }, 'uid-worker') ?? '';
const marked: NodePool = aPool(pool.spec, { annotations: { [REPLACED_ANNOTATION]: value } });

test('the next one is created with it, and then the pool forgets it', async () => {
  const { server, state, write, forget } = begin(owned({ handler: 'old' }, { labels }));
  server.before = request => {
    if (request === 'create') throw new Error('killed');
  };
  await assert.rejects(write(), /killed/);
  assert.equal(state.pool('worker')?.metadata.annotations?.[REPLACED_ANNOTATION], value);
  server.before = () => {};
  assert.deepEqual(await write(), { kind: 'created', name: NAME });
  assert.deepEqual(server.live?.metadata.labels, labels);
  await forget();
  assert.deepEqual(state.pool('worker')?.metadata.annotations, {});
  await forget();
  assert.deepEqual(server.requests, ['annotate', 'delete', 'create', 'create', 'annotate']);
});

test('one that somebody else created meanwhile stays as it is, and the pool forgets', async () => {
  const { server, state, write, forget } = begin(undefined, owned());
  state.setPool(marked);
  assert.deepEqual(await write(), { kind: 'unchanged' });
  await forget();
  assert.equal(server.live?.metadata.labels, undefined);
  assert.deepEqual(state.pool('worker')?.metadata.annotations, {});
  assert.deepEqual(server.requests, ['create', 'get', 'annotate']);
});

test('a foreign one is left alone', async () => {
  const { server, state, write } = begin(foreign);
  state.setPool(marked);
  assert.deepEqual(await write(), { kind: 'foreign', name: NAME });
  assert.deepEqual(server.requests, []);
});

test('one that finalizers hold is kept at once, and not written again as long as it does not change', async () => {
  const { server, write } = begin(owned({ handler: 'old' }, { labels, finalizers: ['example.com/hold'] }));
  await assert.rejects(write(), /while it has finalizers/);
  await assert.rejects(write(), /while it has finalizers/);
  assert.deepEqual(server.requests, ['annotate', 'delete', 'delete']);
});

test('nothing is deleted where it cannot be kept', async () => {
  const { server, write } = begin(owned({ handler: 'old' }, { labels }));
  server.keepAnnotations = () => ({});
  await assert.rejects(write(), {
    message: `annotation ${REPLACED_ANNOTATION} of nodepool worker was changed by an admission policy or webhook during the write`,
  });
  assert.deepEqual(server.requests, ['annotate']);
});

test('that of an earlier replacement, and of another pool, is not used', async () => {
  const other = aPool(pool.spec, {
    annotations: { [REPLACED_ANNOTATION]: formatPreserved({ labels }, 'other') ?? '' },
  });
  const { server, state, write } = begin();
  state.setPool(other);
  assert.deepEqual(await write(), { kind: 'created', name: NAME });
  assert.equal(server.live?.metadata.labels, undefined);
  const later = begin(owned({ handler: 'old' }));
  later.state.setPool(marked);
  assert.deepEqual(await later.write(), { kind: 'updated', name: NAME });
  assert.equal(later.server.live?.metadata.labels, undefined);
});

test('a pool that is being deleted takes it along', async () => {
  const { server, state, write, forget } = begin(owned());
  const { metadata, spec } = marked;
  const ending = aPool(spec, { ...metadata, deletionTimestamp: '2026-02-01T00:00:00Z' });
  state.setPool(ending);
  assert.deepEqual(await write(ending), { kind: 'deleted', name: NAME });
  await forget();
  assert.deepEqual(server.requests, ['delete']);
});
