/**
 * False reports that a pool was deleted (docs/decisions/0029-gone-is-asked-again.md) do not release its nodes. The
 * server is real; a proxy before it falsifies responses. Under a watch: gone-pools-watch.test.ts.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { NodesClient } from '../../src/kube/cluster.ts';
import { FINALIZER } from '../../src/nodepool/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import type { Treatment } from '../fault/proxy.ts';
import { answerWith } from '../fault/treatments.ts';
import { override } from '../override.ts';
import { answer, isGet, notFound, POOLS, usePoolW, W, withoutW } from './pool-w.ts';
import { role } from './test-env.ts';

const { testEnv, tierOf, kept, startFalsifying } = usePoolW();

describe('when a list lacks pool w, and the GET of it returns', () => {
  const answers: [string, Treatment, RegExp][] = [
    [
      'a 404 of a resource that is not served',
      answer(404, '404 page not found\n', 'text/plain'),
      /does not have the Node/,
    ],
    ['a page', answer(404, '<html>no</html>', 'text/html'), /is not a Kubernetes API server/],
    ['a Status that names nothing', notFound({}), /does not have the NodePool resource/],
    ['a Status that names another pool', notFound({ ...W, name: 'x' }), /cannot get NodePool "w"/],
    ['a Status that names another kind', notFound({ ...W, kind: 'clusters' }), /cannot get NodePool "w"/],
    ['a Status that names another group', notFound({ ...W, group: 'karpenter.sh' }), /cannot get NodePool "w"/],
    ['a Status with another reason', notFound(W, 'Unknown'), /cannot get NodePool "w"/],
    ['a refusal', answerWith(403, 'no'), /cannot get NodePool "w"/],
  ];
  for (const [name, treatment, message] of answers) {
    test(`${name}, reconcile fails and writes no node`, async t => {
      const { proxy, proxied, lists } = await startFalsifying(t);
      lists(withoutW);
      proxy.onRequest(asked => (isGet(asked) ? treatment : undefined));
      await kept(async () => {
        const [summary] = await testEnv.reconcileWith(proxied.cluster);
        assert.match(String(summary?.error?.message), message);
      });
    });
  }

  test('the pool, reconcile continues with it', async t => {
    const { proxied, lists } = await startFalsifying(t);
    lists(withoutW);
    await kept(async () => {
      const [summary] = await testEnv.reconcileWith(proxied.cluster);
      assert.deepEqual([summary?.outcome?.kind, summary?.outcome?.status?.nodeCount], ['reconciled', 1]);
    });
  });

  test('the pool, its node does not move to another matching pool', async t => {
    await testEnv.pool('x', { nodeSelector: role('w'), labels: { tier: 'x' } });
    const { proxied, lists } = await startFalsifying(t);
    lists(withoutW);
    await kept(() => testEnv.reconcileWith(proxied.cluster, 'x'));
  });

  test('NotFound, its nodes are released after one GET', async t => {
    await testEnv.nodes({ name: 'b', labels: role('w') });
    await testEnv.reconcile();
    await testEnv.edit('w', { metadata: { finalizers: [] } });
    await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
    const { proxy, proxied } = await startFalsifying(t);
    const [summary] = await testEnv.reconcileWith(proxied.cluster);
    assert.deepEqual([summary?.outcome?.kind, summary?.left], ['released', 2]);
    assert.deepEqual([await tierOf('a'), await tierOf('b')], [undefined, undefined]);
    assert.equal(proxy.requests.filter(isGet).length, 1);
  });
});

test('a recreated pool keeps its nodes when a stale list shows its predecessor terminating', async t => {
  const { proxied, lists } = await startFalsifying(t);
  lists(([pool]) => {
    assert.ok(pool);
    const { metadata } = pool;
    return [
      { ...pool, metadata: { ...metadata, uid: 'earlier', deletionTimestamp: metadata.creationTimestamp ?? '' } },
    ];
  });
  await kept(async () => {
    const [summary] = await testEnv.reconcileWith(proxied.cluster);
    assert.equal(summary?.outcome?.kind, 'reconciled');
  });
});

test('keeps the RuntimeClass of a pool that is terminating only in a stale list', async t => {
  await raw(testEnv.cluster()).expect('DELETE', '/api/v1/nodes/a');
  await testEnv.edit('w', { spec: { handler: 'runc' } });
  await testEnv.reconcile();
  const before = await testEnv.runtimeClass('w');
  assert.ok(before);
  const { proxy, proxied, lists } = await startFalsifying(t);
  lists(pools =>
    pools.map(pool => {
      const { metadata } = pool;
      return { ...pool, metadata: { ...metadata, deletionTimestamp: metadata.creationTimestamp ?? '' } };
    }),
  );
  const [summary] = await testEnv.reconcileWith(proxied.cluster);
  assert.equal((await testEnv.runtimeClass('w'))?.metadata.uid, before.metadata.uid);
  assert.equal(summary?.outcome?.kind, 'reconciled');
  assert.equal(proxy.requests.filter(isGet).length, 1);
});

test('keeps what a recreated pool wrote while the nodes of its predecessor are released', async () => {
  await testEnv.edit('w', { metadata: { finalizers: [] } });
  await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
  const { cluster } = await testEnv.connection();
  let isFirst = true;
  const patch: NodesClient['patch'] = async (...args) => {
    if (isFirst) {
      isFirst = false;
      await testEnv.pool('w', { labels: { tier: 'new' } });
      await testEnv.reconcile('w');
    }
    return cluster.nodes.patch(...args);
  };
  await testEnv.reconcileWith(override(cluster, { nodes: { patch } }));
  assert.equal(await tierOf('a'), 'new');
});

test('fails and writes no node when the pool is not found while its finalizer is set', async t => {
  await testEnv.edit('w', { metadata: { finalizers: [] } });
  const { proxy, proxied } = await startFalsifying(t);
  proxy.onRequest(({ method, path }) => (method === 'PATCH' && path === `${POOLS}/w` ? notFound(W) : undefined));
  await kept(async () => {
    const [summary] = await testEnv.reconcileWith(proxied.cluster);
    assert.equal(
      summary?.error?.message,
      'cannot patch NodePool "w": the server answered "not found", but a read still finds the object',
    );
  });
});

test('delete fails and writes no node when the DELETE returns NotFound for an existing pool', async t => {
  const { proxy } = await startFalsifying(t);
  proxy.onRequest(({ method }) => (method === 'DELETE' ? notFound(W) : undefined));
  await kept(async () => {
    const { code, stderr } = await cliHere(testEnv.cluster(), [
      'delete',
      'w',
      '--yes',
      '--kubeconfig',
      proxy.kubeconfig,
    ]);
    assert.equal(code, 1);
    assert.match(stderr, /cannot delete NodePool "w": the server answered "not found", but a read still finds/);
  });
  assert.equal((await testEnv.getPool('w'))?.metadata.deletionTimestamp, undefined);
});

test('uninstall --cascade keeps the CRD when the server has a pool that no list shows', async t => {
  const { proxy, lists } = await startFalsifying(t);
  lists(withoutW);
  await kept(async () => {
    const args = ['uninstall', '--cascade', '--yes', '--kubeconfig', proxy.kubeconfig];
    const { code, stderr } = await cliHere(testEnv.cluster(), args);
    assert.equal(code, 1);
    assert.match(stderr, /the CRD was not deleted: some pools could not be deleted or are new: w;/);
  });
  assert.deepEqual((await testEnv.getPool('w'))?.metadata.finalizers, [FINALIZER]);
});
