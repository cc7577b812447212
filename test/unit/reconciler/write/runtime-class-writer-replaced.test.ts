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

test('creates the next RuntimeClass with preserved fields, which the pool then forgets', async () => {
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

test('keeps a RuntimeClass that somebody created meanwhile, and forgets the preserved fields', async () => {
  const { server, state, write, forget } = begin(undefined, owned());
  state.setPool(marked);
  assert.deepEqual(await write(), { kind: 'unchanged' });
  await forget();
  assert.equal(server.live?.metadata.labels, undefined);
  assert.deepEqual(state.pool('worker')?.metadata.annotations, {});
  assert.deepEqual(server.requests, ['create', 'get', 'annotate']);
});

test('does not change a foreign RuntimeClass', async () => {
  const { server, state, write } = begin(foreign);
  state.setPool(marked);
  assert.deepEqual(await write(), { kind: 'foreign', name: NAME });
  assert.deepEqual(server.requests, []);
});

test('preserves fields at once if finalizers hold the RuntimeClass, and writes them once', async () => {
  const { server, write } = begin(owned({ handler: 'old' }, { labels, finalizers: ['example.com/hold'] }));
  await assert.rejects(write(), /while it has finalizers/);
  await assert.rejects(write(), /while it has finalizers/);
  assert.deepEqual(server.requests, ['annotate', 'delete', 'delete']);
});

test('deletes nothing when fields cannot be preserved', async () => {
  const { server, write } = begin(owned({ handler: 'old' }, { labels }));
  server.keepAnnotations = () => ({});
  await assert.rejects(write(), {
    message: `annotation ${REPLACED_ANNOTATION} of pool worker was changed by an admission policy or webhook during the write`,
  });
  assert.deepEqual(server.requests, ['annotate']);
});

test('ignores preserved fields of an earlier replacement or another pool', async () => {
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

test('deletes the RuntimeClass together with its pool', async () => {
  const { server, state, write, forget } = begin(owned());
  const { metadata, spec } = marked;
  const ending = aPool(spec, { ...metadata, deletionTimestamp: '2026-02-01T00:00:00Z' });
  state.setPool(ending);
  assert.deepEqual(await write(ending), { kind: 'deleted', name: NAME });
  await forget();
  assert.deepEqual(server.requests, ['delete']);
});
