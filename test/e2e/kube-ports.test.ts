/** The ports over the connection, against a real kube-apiserver. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type Connection, connect } from '../../src/kube/connect.ts';
import type { NodepoolError } from '../../src/nodepool/errors.ts';
import type { NodePool } from '../../src/nodepool/types.ts';
import type { RawPool } from '../../src/operations/ports.ts';
import { useCluster } from '../cluster/harness.ts';
import { createPool, pool, readCrd } from './pools.ts';

describe('the ports of a connection', () => {
  const cluster = useCluster();
  let connection: Connection;
  let manifest: Record<string, unknown>;

  before(async () => {
    const options = { kubeconfig: cluster().kubeconfig, env: {}, log: () => {}, version: '0.0.0' };
    connection = await connect(options);
    manifest = await readCrd();
  });
  after(() => connection?.close());

  const created = (body: RawPool) => createPool(connection, body);

  test('reads the version of the server', async () => {
    assert.match(await connection.serverVersion(), /^v1\.\d+\.\d+/);
  });

  describe('the CRD', () => {
    test('is missing at first, and so are pools', async () => {
      assert.equal(await connection.crd.get(), undefined);
      assert.equal(await connection.crd.delete(manifest, { dryRun: false }), 'gone');
      await assert.rejects(connection.cluster.pools.list(), (error: NodepoolError) => {
        assert.equal(error.message, `the server ${cluster().server} does not have the NodePool resource`);
        assert.equal(error.next, 'run `kubectl nodepool install`');
        return true;
      });
      await assert.rejects(connection.cluster.pools.get('a'), /does not have the NodePool resource/);
      await assert.rejects(
        connection.cluster.pools.create(pool('a'), { dryRun: false }),
        /does not have the NodePool resource/,
      );
      await assert.rejects(connection.crd.waitUntilEstablished(120), /is not established after 0\.12 s: /);
    });

    test('is applied once, then unchanged; a dry run persists nothing', async () => {
      assert.equal(await connection.crd.apply(manifest, { dryRun: true }), 'created');
      assert.equal(await connection.crd.get(), undefined);
      assert.equal(await connection.crd.apply(manifest, { dryRun: false }), 'created');
      await connection.crd.waitUntilEstablished(10_000);
      assert.deepEqual(await connection.cluster.pools.list(), []);
      assert.equal(await connection.crd.apply(manifest, { dryRun: false }), 'unchanged');
      assert.equal(await connection.crd.apply(manifest, { dryRun: true }), 'unchanged');

      const relabelled = structuredClone(manifest) as { metadata: { labels?: Record<string, string> } };
      relabelled.metadata.labels = { ...relabelled.metadata.labels, tried: 'yes' };
      assert.equal(await connection.crd.apply(relabelled, { dryRun: true }), 'configured');
      assert.equal(await connection.crd.apply(manifest, { dryRun: true }), 'unchanged');
      assert.equal(await connection.crd.apply(relabelled, { dryRun: false }), 'configured');
      assert.equal(await connection.crd.apply(manifest, { dryRun: false }), 'configured');
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
      assert.deepEqual(await connection.cluster.pools.create(pool('p1'), { dryRun: false }), { kind: 'exists' });
    });

    test('are validated by a dry run and not persisted', async () => {
      assert.equal((await connection.cluster.pools.create(pool('dry'), { dryRun: true })).kind, 'created');
      assert.equal(await connection.cluster.pools.get('dry'), undefined);
    });

    test('refuse an unknown field and an invalid value, and name them', async () => {
      const unknown = pool('bad', { spec: { lables: {} } as NodePool['spec'] });
      await assert.rejects(connection.cluster.pools.create(unknown, { dryRun: false }), (error: NodepoolError) => {
        assert.equal(error.message, 'cannot create NodePool "bad": unknown field "spec.lables"');
        assert.equal(error.kind, 'input');
        return true;
      });
      const twoBad = pool('bad', { spec: { handler: 'A_B', unmanaged: 'Maybe' } as unknown as NodePool['spec'] });
      await assert.rejects(connection.cluster.pools.create(twoBad, { dryRun: false }), (error: NodepoolError) => {
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
      const dry = await connection.cluster.pools.patch('p2', patch, { dryRun: true });
      assert.equal(dry.kind, 'written');
      const write = await connection.cluster.pools.patch('p2', patch, { dryRun: false });
      assert.equal(write.kind === 'written' && write.pool.spec.labels?.a, 'b');
      assert.deepEqual(await connection.cluster.pools.patch('p2', patch, { dryRun: false }), { kind: 'conflict' });
      assert.deepEqual(await connection.cluster.pools.patch('nowhere', { spec: {} }, { dryRun: false }), {
        kind: 'gone',
      });
    });

    test('have their whole status replaced', async () => {
      const made = await created(pool('p3'));
      const status = { status: 200, nodeCount: 2, allocatable: { cpu: '4', memory: '1Gi' } };
      const first = await connection.cluster.pools.patchStatus(made, status, { dryRun: false });
      assert.ok(first.kind === 'written');
      assert.deepEqual(first.pool.status, status);
      const emptied = { status: 200, nodeCount: 0, allocatable: { cpu: '4' } };
      assert.deepEqual(await connection.cluster.pools.patchStatus(made, emptied, { dryRun: false }), {
        kind: 'conflict',
      });
      const second = await connection.cluster.pools.patchStatus(first.pool, emptied, { dryRun: false });
      assert.deepEqual(second.kind === 'written' && second.pool.status, emptied);
      assert.deepEqual(await connection.cluster.pools.patchStatus(pool('nowhere'), emptied, { dryRun: false }), {
        kind: 'gone',
      });
    });

    test('are deleted by UID, and stay marked for deletion while they have finalizers', async () => {
      const made = await created(pool('p4'));
      const held = await connection.cluster.pools.setFinalizers(made, ['example.com/hold'], { dryRun: false });
      assert.equal(held.kind, 'written');
      assert.deepEqual(await connection.cluster.pools.setFinalizers(made, [], { dryRun: false }), { kind: 'conflict' });
      const other = { ...made, metadata: { ...made.metadata, uid: '00000000-0000-0000-0000-000000000000' } };
      assert.equal(await connection.cluster.pools.delete(other, { dryRun: false }), 'gone');
      assert.equal(await connection.cluster.pools.delete(made, { dryRun: true }), 'marked');
      assert.equal((await connection.cluster.pools.getCoerced('p4'))?.metadata.deletionTimestamp, undefined);
      assert.equal(await connection.cluster.pools.delete(made, { dryRun: false }), 'marked');
      const marked = await connection.cluster.pools.getCoerced('p4');
      assert.ok(marked?.metadata.deletionTimestamp);
      assert.equal((await connection.cluster.pools.setFinalizers(marked, [], { dryRun: false })).kind, 'written');
      assert.equal(await connection.cluster.pools.getCoerced('p4'), undefined);
      assert.equal(await connection.cluster.pools.delete(made, { dryRun: false }), 'gone');
      assert.deepEqual(await connection.cluster.pools.setFinalizers(marked, [], { dryRun: false }), { kind: 'gone' });
      assert.equal(await connection.cluster.pools.delete(await created(pool('p5')), { dryRun: false }), 'deleted');
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
    assert.equal(await connection.crd.delete(installed, { dryRun: true }), 'deleted');
    const kept = (await connection.crd.get()) as { metadata?: { deletionTimestamp?: string } };
    assert.equal(kept.metadata?.deletionTimestamp, undefined);
    const other = { ...installed, metadata: { ...(installed.metadata as object), uid: 'not-this-one' } };
    await assert.rejects(connection.crd.delete(other, { dryRun: false }), {
      message: 'CRD nodepools.nodes.lailin.xyz was deleted and created again in the meantime',
    });
    assert.equal(await connection.crd.delete(installed, { dryRun: false }), 'deleted');
    await connection.crd.waitUntilGone(10_000);
    assert.equal(await connection.crd.get(), undefined);
  });
});
