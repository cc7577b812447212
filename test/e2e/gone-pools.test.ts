/**
 * False reports that a pool was deleted (docs/decisions/0029-gone-is-asked-again.md) do not release its nodes. The
 * server is real; a proxy before it falsifies responses.
 */
import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { beforeEach, describe, test } from 'node:test';
import { type Connection, connect } from '../../src/kube/connect.ts';
import { FINALIZER, type NodePool, RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import type { ClusterPort } from '../../src/reconciler/ports.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { type Asked, isWatch } from '../fault/asked.ts';
import { startChild } from '../fault/child.ts';
import { auditMark, writes } from '../fault/oracle.ts';
import { type FaultProxy, startProxy, type Treatment } from '../fault/proxy.ts';
import { forgeNextLine } from '../fault/streams.ts';
import { answerWith } from '../fault/treatments.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const SPEC = { labels: { tier: 'gold' }, taints: [{ key: 'gold', effect: 'NoSchedule' as const }] };

const isPools = ({ path }: Asked) => path === POOLS;
const isGet = (asked: Asked) => asked.method === 'GET' && asked.path === `${POOLS}/w`;
const tierOf = async (node: string) => (await testEnv.node(node)).metadata.labels.tier;

let proxy: FaultProxy;
let proxied: Connection;

async function startLying(t: { after(fn: () => unknown): void }): Promise<void> {
  proxy = await startProxy(testEnv.cluster(), testEnv.cluster().dir);
  proxied = await connect({ kubeconfig: proxy.kubeconfig, env: {}, log: () => {}, version: '0.0.0-test' });
  t.after(async () => {
    proxied.close();
    await proxy.stop();
  });
}

function answer(status: number, body: string, type = 'application/json'): Treatment {
  return ({ client }) => client.writeHead(status, { 'content-type': type }).end(body);
}

function notFound(details: object, reason = 'NotFound'): Treatment {
  return answer(
    404,
    JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', reason, details, code: 404 }),
  );
}

const W = { name: 'w', group: 'nodes.lailin.xyz', kind: 'nodepools' };

/** Changes the items of lists of pools. */
function lists(change: (pools: NodePool[]) => NodePool[]): () => void {
  return proxy.onRequest(asked => {
    if (!isPools(asked) || isWatch(asked) || asked.method !== 'GET') return undefined;
    return async ({ forward, client }) => {
      const list = JSON.parse(await text(await forward()));
      const body = JSON.stringify({ ...list, items: change(list.items) });
      client.writeHead(200, { 'content-type': 'application/json' }).end(body);
    };
  });
}

const withoutW = (pools: NodePool[]) => pools.filter(({ metadata }) => metadata.name !== 'w');

/** Checks that `act` writes no node, and that node a keeps the values of pool w. */
async function kept(act: () => Promise<unknown>): Promise<void> {
  const mark = await auditMark(testEnv.cluster());
  await act();
  const patched = Object.keys(await writes(testEnv.cluster(), mark)).filter(write => write.includes(' nodes '));
  assert.deepEqual(patched, []);
  assert.equal(await tierOf('a'), 'gold');
}

beforeEach(async () => {
  await testEnv.nodes({ name: 'a', labels: role('w') });
  await testEnv.pool('w', SPEC);
  await testEnv.reconcile();
  assert.equal(await tierOf('a'), 'gold');
});

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
      await startLying(t);
      lists(withoutW);
      proxy.onRequest(asked => (isGet(asked) ? treatment : undefined));
      await kept(async () => {
        const [summary] = await testEnv.reconcileWith(proxied.cluster);
        assert.match(String(summary?.error?.message), message);
      });
    });
  }

  test('the pool, reconcile continues with it', async t => {
    await startLying(t);
    lists(withoutW);
    await kept(async () => {
      const [summary] = await testEnv.reconcileWith(proxied.cluster);
      assert.deepEqual([summary?.outcome?.kind, summary?.outcome?.status?.nodeCount], ['reconciled', 1]);
    });
  });

  test('the pool, its node is not handed to another pool that matches', async t => {
    await testEnv.pool('x', { nodeSelector: role('w'), labels: { tier: 'x' } });
    await startLying(t);
    lists(withoutW);
    await kept(() => testEnv.reconcileWith(proxied.cluster, 'x'));
  });

  test('NotFound, its nodes are released after one GET', async t => {
    await testEnv.nodes({ name: 'b', labels: role('w') });
    await testEnv.reconcile();
    await testEnv.edit('w', { metadata: { finalizers: [] } });
    await raw(testEnv.cluster()).expect('DELETE', `${POOLS}/w`);
    await startLying(t);
    const [summary] = await testEnv.reconcileWith(proxied.cluster);
    assert.deepEqual([summary?.outcome?.kind, summary?.left], ['released', 2]);
    assert.deepEqual([await tierOf('a'), await tierOf('b')], [undefined, undefined]);
    assert.equal(proxy.requests.filter(isGet).length, 1);
  });
});

test('a recreated pool keeps the nodes when a stale list has its predecessor marked for deletion', async t => {
  await startLying(t);
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

test('keeps the RuntimeClass of a pool that only a stale list has marked for deletion', async t => {
  await raw(testEnv.cluster()).expect('DELETE', '/api/v1/nodes/a');
  await testEnv.edit('w', { spec: { handler: 'runc' } });
  await testEnv.reconcile();
  const before = await testEnv.runtimeClass('w');
  assert.ok(before);
  await startLying(t);
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
  const patchNode: ClusterPort['patchNode'] = async (...args) => {
    if (isFirst) {
      isFirst = false;
      await testEnv.pool('w', { labels: { tier: 'new' } });
      await testEnv.reconcile('w');
    }
    return cluster.patchNode(...args);
  };
  await testEnv.reconcileWith({ ...cluster, patchNode });
  assert.equal(await tierOf('a'), 'new');
});

test('fails and writes no node when the pool is not found while its finalizer is set', async t => {
  await testEnv.edit('w', { metadata: { finalizers: [] } });
  await startLying(t);
  proxy.onRequest(({ method, path }) => (method === 'PATCH' && path === `${POOLS}/w` ? notFound(W) : undefined));
  await kept(async () => {
    const [summary] = await testEnv.reconcileWith(proxied.cluster);
    assert.equal(
      summary?.error?.message,
      'cannot patch NodePool "w": the server answered that it does not exist, and still has it when it is read',
    );
  });
});

test('delete fails and writes no node when the DELETE returns NotFound for an existing pool', async t => {
  await startLying(t);
  proxy.onRequest(({ method }) => (method === 'DELETE' ? notFound(W) : undefined));
  await kept(async () => {
    const { code, stderr } = await cli(testEnv.cluster(), ['delete', 'w', '--yes', '--kubeconfig', proxy.kubeconfig]);
    assert.equal(code, 1);
    assert.match(stderr, /cannot delete NodePool "w": the server answered that it does not exist, and still has it/);
  });
  assert.equal((await testEnv.getPool('w'))?.metadata.deletionTimestamp, undefined);
});

test('uninstall --cascade keeps the CRD when the server has a pool that no list shows', async t => {
  await startLying(t);
  lists(withoutW);
  await kept(async () => {
    const args = ['uninstall', '--cascade', '--yes', '--kubeconfig', proxy.kubeconfig];
    const { code, stderr } = await cli(testEnv.cluster(), args);
    assert.equal(code, 1);
    assert.match(stderr, /the resource stays, since these pools could not be deleted or are new: w;/);
  });
  assert.deepEqual((await testEnv.getPool('w'))?.metadata.finalizers, [FINALIZER]);
});

describe('under a watch', () => {
  /** Checks that the process still reconciles the pool and its node. */
  async function assertFollowed(): Promise<void> {
    await testEnv.edit('w', { spec: { labels: { tier: 'silver' } } });
    await eventually('the pool is followed', async () => (await tierOf('a')) === 'silver');
  }

  test('ignores a DELETED event of a pool that the server still has', async t => {
    await testEnv.pool('x');
    await testEnv.reconcile();
    await startLying(t);
    const child = startChild(t, proxy);
    await child.synced();
    const pool = await testEnv.getPool('w');
    assert.ok(pool);
    await testEnv.patchNode('a', { metadata: { annotations: { some: 'change' } } });
    const { resourceVersion } = (await testEnv.node('a')).metadata;
    await kept(async () => {
      const object = { ...pool, metadata: { ...pool.metadata, resourceVersion } };
      const told = forgeNextLine(proxy, `${JSON.stringify({ type: 'DELETED', object })}\n`, isPools);
      await testEnv.edit('x', { spec: { labels: { other: 'pool' } } });
      await told;
      await eventually('the pool is asked for', () =>
        proxy.requests.some(asked => isGet(asked) && asked.status === 200),
      );
      await eventually(
        'what comes later is done',
        async () => (await testEnv.getPool('x'))?.status?.observedGeneration === 2,
      );
    });
    await assertFollowed();
    assert.equal(await child.end(), 0);
  });

  test('ignores a relist after a 410 that lacks a pool which the server still has', async t => {
    await startLying(t);
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
    await startLying(t);
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
    assert.match(child.log(), /cannot patch Node "a": the server answered that it does not exist/);
    assert.equal(await child.end(), 0);
  });
});
