/** The ports over the connection, against a real kube-apiserver. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { RawPool } from '../../src/kube/cluster.ts';
import { type Connection, connect } from '../../src/kube/connect.ts';
import type { NodepoolError } from '../../src/nodepool/errors.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import { useCluster } from '../cluster/harness.ts';
import { createPool, pool, readCrd } from './pools.ts';

describe('the ports of a connection', () => {
  const cluster = useCluster();
  let connection: Connection;
  /** Its writes are validated and not stored. */
  let dry: Connection;
  let manifest: Record<string, unknown>;

  before(async () => {
    const options = { kubeconfig: cluster().kubeconfig, env: {}, log: () => {}, version: '0.0.0' };
    connection = await connect(options);
    dry = await connect({ ...options, dryRun: true });
    manifest = await readCrd();
  });
  after(() => Promise.all([connection?.close(), dry?.close()]));

  const created = (body: RawPool) => createPool(connection, body);

  test('reads the version of the server', async () => {
    assert.match(await connection.serverVersion(), /^v1\.\d+\.\d+/);
  });

  describe('the CRD', () => {
    test('is missing at first, and so are pools', async () => {
      assert.equal(await connection.crd.get(), undefined);
      assert.equal(await connection.crd.delete(manifest), 'gone');
      await assert.rejects(connection.cluster.pools.list(), (error: NodepoolError) => {
        assert.equal(error.message, `the server ${cluster().server} does not have the NodePool resource`);
        assert.equal(error.next, 'run `kubectl nodepool install`');
        return true;
      });
      await assert.rejects(connection.cluster.pools.get('a'), /does not have the NodePool resource/);
      await assert.rejects(connection.cluster.pools.create(pool('a')), /does not have the NodePool resource/);
      await assert.rejects(connection.crd.waitUntilEstablished(120), /is not established after 0\.12 s: /);
    });

    test('is applied once, then unchanged; a dry run persists nothing', async () => {
      assert.equal(await dry.crd.apply(manifest), 'created');
      assert.equal(await connection.crd.get(), undefined);
      assert.equal(await connection.crd.apply(manifest), 'created');
      await connection.crd.waitUntilEstablished(10_000);
      assert.deepEqual(await connection.cluster.pools.list(), []);
      assert.equal(await connection.crd.apply(manifest), 'unchanged');
      assert.equal(await dry.crd.apply(manifest), 'unchanged');

      const relabelled = structuredClone(manifest) as { metadata: { labels?: Record<string, string> } };
      relabelled.metadata.labels = { ...relabelled.metadata.labels, tried: 'yes' };
      assert.equal(await dry.crd.apply(relabelled), 'configured');
      assert.equal(await dry.crd.apply(manifest), 'unchanged');
      assert.equal(await connection.crd.apply(relabelled), 'configured');
      assert.equal(await connection.crd.apply(manifest), 'configured');
    });
  });

  describe('pools', () => {
    test('keep unknown fields', async () => {
      const made = await created(pool('p1', { spec: { labels: { a: 'b' } } }));
      const [read] = await connection.cluster.pools.list();
      assert.deepEqual(read, made);
      assert.deepEqual(await connection.cluster.pools.get('p1'), made);
      assert.ok('managedFields' in made.metadata);
      assert.equal(await connection.cluster.pools.get('nowhere'), undefined);
      assert.deepEqual(await connection.cluster.pools.create(pool('p1')), { kind: 'exists' });
    });

    test('are validated by a dry run and not persisted', async () => {
      assert.equal((await dry.cluster.pools.create(pool('dry'))).kind, 'created');
      assert.equal(await connection.cluster.pools.get('dry'), undefined);
    });

    test('refuse an unknown field and an invalid value, and name them', async () => {
      const unknown = pool('bad', { spec: { lables: {} } as NodePool['spec'] });
      await assert.rejects(connection.cluster.pools.create(unknown), (error: NodepoolError) => {
        assert.equal(error.message, 'cannot create NodePool "bad": unknown field "spec.lables"');
        assert.equal(error.kind, 'input');
        return true;
      });
      const twoBad = pool('bad', { spec: { handler: 'A_B', unmanaged: 'Maybe' } as unknown as NodePool['spec'] });
      await assert.rejects(connection.cluster.pools.create(twoBad), (error: NodepoolError) => {
        const [head, ...causes] = error.message.split('\n');
        assert.equal(head, 'cannot create NodePool "bad": invalid:');
        assert.ok(
          causes.some(line => line.startsWith('  spec.handler: ')),
          error.message,
        );
        assert.ok(
          causes.some(line => line.startsWith('  spec.unmanaged: ')),
          error.message,
        );
        return true;
      });
    });

    test('are patched only at the resourceVersion that was read', async () => {
      const made = await created(pool('p2'));
      const { resourceVersion } = made.metadata;
      const patch = { metadata: { resourceVersion }, spec: { labels: { a: 'b' } } };
      const tried = await dry.cluster.pools.patch('p2', patch);
      assert.equal(tried.kind, 'written');
      const write = await connection.cluster.pools.patch('p2', patch);
      assert.equal(write.kind === 'written' && write.pool.spec.labels?.a, 'b');
      assert.deepEqual(await connection.cluster.pools.patch('p2', patch), { kind: 'conflict' });
      assert.deepEqual(await connection.cluster.pools.patch('nowhere', { spec: {} }), {
        kind: 'gone',
      });
    });

    test('have their whole status replaced', async () => {
      const made = await created(pool('p3'));
      const status = { status: 200, nodeCount: 2, allocatable: { cpu: '4', memory: '1Gi' } };
      const first = await connection.cluster.pools.patchStatus(made, status);
      assert.ok(first.kind === 'written');
      assert.deepEqual(first.pool.status, status);
      const emptied = { status: 200, nodeCount: 0, allocatable: { cpu: '4' } };
      assert.deepEqual(await connection.cluster.pools.patchStatus(made, emptied), {
        kind: 'conflict',
      });
      const second = await connection.cluster.pools.patchStatus(first.pool, emptied);
      assert.deepEqual(second.kind === 'written' && second.pool.status, emptied);
      assert.deepEqual(await connection.cluster.pools.patchStatus(pool('nowhere'), emptied), {
        kind: 'gone',
      });
    });

    test('are deleted by UID, and stay marked for deletion while they have finalizers', async () => {
      const made = await created(pool('p4'));
      const held = await connection.cluster.pools.setFinalizers(made, ['example.com/hold']);
      assert.equal(held.kind, 'written');
      assert.deepEqual(await connection.cluster.pools.setFinalizers(made, []), { kind: 'conflict' });
      const other = { ...made, metadata: { ...made.metadata, uid: '00000000-0000-0000-0000-000000000000' } };
      assert.equal(await connection.cluster.pools.delete(other), 'gone');
      assert.equal(await dry.cluster.pools.delete(made), 'marked');
      assert.equal((await connection.cluster.pools.getCoerced('p4'))?.metadata.deletionTimestamp, undefined);
      assert.equal(await connection.cluster.pools.delete(made), 'marked');
      const marked = await connection.cluster.pools.getCoerced('p4');
      assert.ok(marked?.metadata.deletionTimestamp);
      assert.equal((await connection.cluster.pools.setFinalizers(marked, [])).kind, 'written');
      assert.equal(await connection.cluster.pools.getCoerced('p4'), undefined);
      assert.equal(await connection.cluster.pools.delete(made), 'gone');
      assert.deepEqual(await connection.cluster.pools.setFinalizers(marked, []), { kind: 'gone' });
      assert.equal(await connection.cluster.pools.delete(await created(pool('p5'))), 'deleted');
    });

    test('are filtered by label', async () => {
      await created(pool('labelled', { metadata: { name: 'labelled', labels: { team: 'a' } } }));
      const names = (await connection.cluster.pools.list({ labelSelector: 'team=a' })).map(
        ({ metadata }) => metadata.name,
      );
      assert.deepEqual(names, ['labelled']);
      await assert.rejects(
        connection.cluster.pools.list({ labelSelector: '=,=' }),
        /^NodepoolError: cannot list nodepools: found '='/,
      );
    });
  });

  test('deletes the CRD and its pools', async () => {
    const installed = (await connection.crd.get()) ?? {};
    assert.equal(await dry.crd.delete(installed), 'deleted');
    const kept = (await connection.crd.get()) as { metadata?: { deletionTimestamp?: string } };
    assert.equal(kept.metadata?.deletionTimestamp, undefined);
    const other = { ...installed, metadata: { ...(installed.metadata as object), uid: 'not-this-one' } };
    await assert.rejects(connection.crd.delete(other), {
      message: 'CRD nodepools.nodes.lailin.xyz was deleted and recreated meanwhile',
    });
    assert.equal(await connection.crd.delete(installed), 'deleted');
    await connection.crd.waitUntilGone(10_000);
    assert.equal(await connection.crd.get(), undefined);
  });
});
