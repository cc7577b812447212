/** `reconcile --watch` after false reports that a pool or node was deleted (docs/decisions/0029-gone-is-asked-again.md). */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { HAS_WATCH_LIST } from '../cluster/minor.ts';
import { isWatch } from '../fault/asked.ts';
import { startChild } from '../fault/child.ts';
import { forgeNextLine } from '../fault/streams.ts';
import { answerWith } from '../fault/treatments.ts';
import { isGet, isPools, notFound, usePoolW } from './pool-w.ts';
import { eventually } from './watching.ts';

const { testEnv, tierOf, kept, startFalsifying } = usePoolW();

/** Checks that the process still reconciles the pool and its node. */
async function assertFollowed(): Promise<void> {
  await testEnv.edit('w', { spec: { labels: { tier: 'silver' } } });
  await eventually('the pool is followed', async () => (await tierOf('a')) === 'silver');
}

test('ignores a DELETED event of a pool that the server still has', async t => {
  await testEnv.pool('x');
  await testEnv.reconcile();
  const { proxy } = await startFalsifying(t);
  const child = startChild(t, proxy);
  await child.synced();
  const pool = await testEnv.getPool('w');
  assert.ok(pool);
  await testEnv.patchNode('a', { metadata: { annotations: { some: 'change' } } });
  const { resourceVersion } = (await testEnv.node('a')).metadata;
  await kept(async () => {
    const object = { ...pool, metadata: { ...pool.metadata, resourceVersion } };
    const reported = forgeNextLine(proxy, `${JSON.stringify({ type: 'DELETED', object })}\n`, isPools);
    await testEnv.edit('x', { spec: { labels: { other: 'pool' } } });
    await reported;
    await eventually('the pool is asked for', () => proxy.requests.some(asked => isGet(asked) && asked.status === 200));
    await eventually(
      'what comes later is done',
      async () => (await testEnv.getPool('x'))?.status?.observedGeneration === 2,
    );
  });
  await assertFollowed();
  assert.equal(await child.end(), 0);
});

const noWatchList = !HAS_WATCH_LIST && 'it falsifies the initial events of a WatchList';
test('ignores a relist after a 410 that lacks a pool which the server still has', { skip: noWatchList }, async t => {
  const { proxy } = await startFalsifying(t);
  const child = startChild(t, proxy);
  await child.synced();
  await kept(async () => {
    // The list arrives as the initial events of a watch.
    let rest = '';
    const endLists = proxy.onPiece((asked, piece, client) => {
      if (!isPools(asked) || !asked.query.has('sendInitialEvents') || piece.length === 0) return undefined;
      const lines = (rest + piece).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) if (JSON.parse(line).object.metadata.name !== 'w') client.write(`${line}\n`);
      return 'eaten';
    });
    const end = proxy.onRequest(asked => {
      if (!isPools(asked) || !isWatch(asked)) return undefined;
      end();
      return answerWith(410, 'too old resource version');
    });
    proxy.cut();
    await eventually('the pool is asked for', () => proxy.requests.some(one => isGet(one) && one.status === 200));
    endLists();
  });
  await assertFollowed();
  assert.equal(await child.end(), 0);
});

test('retries a PATCH that returns NotFound for an existing node', async t => {
  const { proxy } = await startFalsifying(t);
  const child = startChild(t, proxy);
  await child.synced();
  const end = proxy.onRequest(({ method, path }) => {
    if (method !== 'PATCH' || path !== '/api/v1/nodes/a') return undefined;
    end();
    return notFound({ name: 'a', kind: 'nodes' });
  });
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drifted' } } });
  await eventually('drift is repaired', async () => (await tierOf('a')) === 'gold');
  assert.ok((await testEnv.node('a')).metadata.annotations?.[RECORD_ANNOTATION]);
  assert.match(child.log(), /cannot patch Node "a": the server answered "not found"/);
  assert.equal(await child.end(), 0);
});
