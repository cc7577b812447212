/** The ports over the connection, against a real kube-apiserver. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, describe, test } from 'node:test';
import { load } from 'js-yaml';
import { type Connection, connect } from '../../src/kube/connect.ts';
import type { NodepoolError } from '../../src/nodepool/errors.ts';
import type { Node, NodePool, RuntimeClass } from '../../src/nodepool/types.ts';
import type { RawPool } from '../../src/operations/ports.ts';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';

describe('the ports of a connection', () => {
  const cluster = useCluster({ audit: true });
  let connection: Connection;
  let definition: Record<string, unknown>;

  before(async () => {
    const options = { kubeconfig: cluster().kubeconfig, env: {}, log: () => {}, version: '0.0.0' };
    connection = await connect(options);
    const manifest = new URL('../../manifests/nodepools.nodes.lailin.xyz.yaml', import.meta.url);
    definition = load(await readFile(manifest, 'utf8')) as Record<string, unknown>;
  });
  after(() => connection?.close());

  function pool(name: string, more: Partial<NodePool> = {}): RawPool {
    return { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name }, spec: {}, ...more };
  }

  async function created(body: RawPool): Promise<RawPool> {
    const made = await connection.pools.create(body, { dryRun: false });
    assert.equal(made.kind, 'created');
    return made.pool;
  }

  async function node(name: string): Promise<Node> {
    const found = await connection.cluster.getNode(name);
    assert.ok(found);
    return found;
  }

  test('the version of the server', async () => {
    assert.match(await connection.serverVersion(), /^v1\.\d+\.\d+/);
  });

  describe('the definition', () => {
    test('is missing at first, and so are pools', async () => {
      assert.equal(await connection.definition.get(), undefined);
      assert.equal(await connection.definition.delete(definition, { dryRun: false }), 'gone');
      await assert.rejects(connection.pools.list(), (error: NodepoolError) => {
        assert.equal(error.message, `the server ${cluster().server} does not have the NodePool resource`);
        assert.equal(error.next, 'run `kubectl nodepool install`');
        return true;
      });
      await assert.rejects(connection.pools.get('a'), /does not have the NodePool resource/);
      await assert.rejects(
        connection.pools.create(pool('a'), { dryRun: false }),
        /does not have the NodePool resource/,
      );
      await assert.rejects(connection.definition.waitUntilEstablished(120), /is not ready after 0\.12 s: /);
    });

    test('is applied once, then unchanged; a dry run keeps nothing', async () => {
      assert.equal(await connection.definition.apply(definition, { dryRun: true }), 'created');
      assert.equal(await connection.definition.get(), undefined);
      assert.equal(await connection.definition.apply(definition, { dryRun: false }), 'created');
      await connection.definition.waitUntilEstablished(10_000);
      assert.deepEqual(await connection.pools.list(), []);
      assert.equal(await connection.definition.apply(definition, { dryRun: false }), 'unchanged');
      assert.equal(await connection.definition.apply(definition, { dryRun: true }), 'unchanged');

      const relabelled = structuredClone(definition) as { metadata: { labels?: Record<string, string> } };
      relabelled.metadata.labels = { ...relabelled.metadata.labels, tried: 'yes' };
      assert.equal(await connection.definition.apply(relabelled, { dryRun: true }), 'configured');
      assert.equal(await connection.definition.apply(definition, { dryRun: true }), 'unchanged');
      assert.equal(await connection.definition.apply(relabelled, { dryRun: false }), 'configured');
      assert.equal(await connection.definition.apply(definition, { dryRun: false }), 'configured');
    });
  });

  describe('nodes', () => {
    test('are read as what is used of them', async () => {
      const taints = [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' as const }];
      await createNodes(cluster(), [
        { name: 'a', labels: { x: 'y' }, taints },
        { name: 'b', ready: false },
      ]);
      const [a, b, ...others] = await connection.cluster.listNodes();
      assert.deepEqual(others, []);
      assert.equal(a?.name, 'a');
      assert.equal(a?.labels.x, 'y');
      assert.deepEqual(a?.taints, taints);
      assert.equal(a?.ready, true);
      assert.equal(a?.unschedulable, false);
      assert.equal(a?.allocatable.pods, '110');
      assert.match(a?.creationTimestamp ?? '', /^\d{4}-/);
      assert.equal(b?.ready, false);
      assert.deepEqual(await connection.cluster.getNode('a'), a);
      assert.equal(await connection.cluster.getNode('nowhere'), undefined);
    });

    test('are patched only as they were read', async () => {
      const before = await node('a');
      const { resourceVersion } = before;
      const taints = [...before.taints, { key: 'mine', value: '', effect: 'NoExecute' as const }];
      const patch = { resourceVersion, labels: { x: null, z: '1' }, taints, record: '{"pool":"p"}' };
      const write = await connection.cluster.patchNode('a', patch);
      assert.equal(write.kind, 'written');
      assert.equal(write.node.labels.x, undefined);
      assert.equal(write.node.labels.z, '1');
      assert.equal(write.node.record, '{"pool":"p"}');
      assert.deepEqual(
        write.node.taints.map(({ key }) => key),
        ['gpu', 'mine'],
      );
      assert.deepEqual(write.node, await node('a'));

      assert.deepEqual(await connection.cluster.patchNode('a', { ...patch, labels: { z: '2' } }), { kind: 'conflict' });
      assert.deepEqual(await connection.cluster.patchNode('nowhere', patch), { kind: 'gone' });
      assert.equal((await node('a')).labels.z, '1');

      const cleaned = await connection.cluster.patchNode('a', {
        resourceVersion: write.node.resourceVersion,
        record: null,
      });
      assert.equal(cleaned.kind === 'written' && cleaned.node.record, undefined);
      assert.equal(cleaned.kind === 'written' && cleaned.node.labels.z, '1');
    });

    test('are listed over several pages, none twice', async () => {
      await createNodes(
        cluster(),
        Array.from({ length: 1100 }, (_, i) => ({ name: `many-${i}` })),
      );
      const names = (await connection.cluster.listNodes()).map(({ name }) => name);
      assert.equal(names.length, 1102);
      assert.equal(new Set(names).size, 1102);
    });
  });

  describe('pools', () => {
    test('keep fields that this version does not know', async () => {
      const made = await created(pool('p1', { spec: { labels: { a: 'b' } } }));
      const [read] = await connection.pools.list();
      assert.deepEqual(read, made);
      assert.deepEqual(await connection.pools.get('p1'), made);
      assert.ok('managedFields' in made.metadata);
      assert.equal(await connection.pools.get('nowhere'), undefined);
      assert.deepEqual(await connection.pools.create(pool('p1'), { dryRun: false }), { kind: 'exists' });
    });

    test('are checked by a dry run and not kept', async () => {
      assert.equal((await connection.pools.create(pool('dry'), { dryRun: true })).kind, 'created');
      assert.equal(await connection.pools.get('dry'), undefined);
    });

    test('refuse an unknown field and a bad value, and say which', async () => {
      const unknown = pool('bad', { spec: { lables: {} } as NodePool['spec'] });
      await assert.rejects(connection.pools.create(unknown, { dryRun: false }), (error: NodepoolError) => {
        assert.equal(error.message, 'cannot create NodePool "bad": unknown field "spec.lables"');
        assert.equal(error.kind, 'input');
        return true;
      });
      const twoBad = pool('bad', { spec: { handler: 'A_B', unmanaged: 'Maybe' } as unknown as NodePool['spec'] });
      await assert.rejects(connection.pools.create(twoBad, { dryRun: false }), (error: NodepoolError) => {
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

    test('are patched only as they were read', async () => {
      const made = await created(pool('p2'));
      const { resourceVersion } = made.metadata;
      const patch = { metadata: { resourceVersion }, spec: { labels: { a: 'b' } } };
      const dry = await connection.pools.patch('p2', patch, { dryRun: true });
      assert.equal(dry.kind, 'written');
      const write = await connection.pools.patch('p2', patch, { dryRun: false });
      assert.equal(write.kind === 'written' && write.pool.spec.labels?.a, 'b');
      assert.deepEqual(await connection.pools.patch('p2', patch, { dryRun: false }), { kind: 'conflict' });
      assert.deepEqual(await connection.pools.patch('nowhere', { spec: {} }, { dryRun: false }), { kind: 'gone' });
    });

    test('have their status replaced whole', async () => {
      const made = await created(pool('p3'));
      const status = { status: 200, nodeCount: 2, allocatable: { cpu: '4', memory: '1Gi' } };
      const first = await connection.cluster.patchStatus(made, status);
      assert.ok(first.kind === 'written');
      assert.deepEqual(first.pool.status, status);
      const emptied = { status: 200, nodeCount: 0, allocatable: { cpu: '4' } };
      assert.deepEqual(await connection.cluster.patchStatus(made, emptied), { kind: 'conflict' });
      const second = await connection.cluster.patchStatus(first.pool, emptied);
      assert.deepEqual(second.kind === 'written' && second.pool.status, emptied);
      assert.deepEqual(await connection.cluster.patchStatus(pool('nowhere'), emptied), { kind: 'gone' });
    });

    test('are deleted by UID, and stay marked while they have finalizers', async () => {
      const made = await created(pool('p4'));
      const held = await connection.cluster.setFinalizers(made, ['example.com/hold']);
      assert.equal(held.kind, 'written');
      assert.deepEqual(await connection.cluster.setFinalizers(made, []), { kind: 'conflict' });
      const other = { ...made, metadata: { ...made.metadata, uid: '00000000-0000-0000-0000-000000000000' } };
      assert.equal(await connection.pools.delete(other, { dryRun: false }), 'gone');
      assert.equal(await connection.pools.delete(made, { dryRun: true }), 'marked');
      assert.equal((await connection.cluster.getPool('p4'))?.metadata.deletionTimestamp, undefined);
      assert.equal(await connection.pools.delete(made, { dryRun: false }), 'marked');
      const marked = await connection.cluster.getPool('p4');
      assert.ok(marked?.metadata.deletionTimestamp);
      assert.equal((await connection.cluster.setFinalizers(marked, [])).kind, 'written');
      assert.equal(await connection.cluster.getPool('p4'), undefined);
      assert.equal(await connection.pools.delete(made, { dryRun: false }), 'gone');
      assert.deepEqual(await connection.cluster.setFinalizers(marked, []), { kind: 'gone' });
      assert.equal(await connection.pools.delete(await created(pool('p5')), { dryRun: false }), 'deleted');
    });

    test('are filtered by label', async () => {
      await created(pool('labelled', { metadata: { name: 'labelled', labels: { team: 'a' } } }));
      const names = (await connection.pools.list({ labelSelector: 'team=a' })).map(({ metadata }) => metadata.name);
      assert.deepEqual(names, ['labelled']);
      await assert.rejects(
        connection.pools.list({ labelSelector: '=,=' }),
        /^NodepoolError: cannot list nodepools: found '='/,
      );
    });
  });

  test('RuntimeClasses are created once, patched as read, deleted by UID', async () => {
    const scheduling = { nodeSelector: { a: 'b', c: 'd' }, tolerations: [{ key: 'k', operator: 'Exists' }] };
    const wanted: RuntimeClass = { metadata: { name: 'rc' }, handler: 'runc', scheduling };
    const made = await connection.cluster.createRuntimeClass(wanted);
    assert.equal(made.kind, 'created');
    assert.deepEqual(await connection.cluster.createRuntimeClass(wanted), { kind: 'exists' });
    const current = made.runtimeClass;
    const patched = await connection.cluster.patchRuntimeClass(current, { nodeSelector: { a: 'x' } });
    assert.deepEqual(patched.kind === 'written' && patched.runtimeClass.scheduling, { nodeSelector: { a: 'x' } });
    assert.deepEqual(await connection.cluster.patchRuntimeClass(current, {}), { kind: 'conflict' });
    assert.deepEqual((await connection.cluster.getRuntimeClass('rc'))?.scheduling, { nodeSelector: { a: 'x' } });
    assert.deepEqual(
      (await connection.cluster.listRuntimeClasses()).map(({ metadata }) => metadata.name),
      ['rc'],
    );
    const impostor = { ...current, metadata: { ...current.metadata, uid: '00000000-0000-0000-0000-000000000000' } };
    assert.equal(await connection.cluster.deleteRuntimeClass(impostor), 'conflict');
    assert.equal(await connection.cluster.deleteRuntimeClass(current), 'deleted');
    assert.equal(await connection.cluster.deleteRuntimeClass(current), 'gone');
    assert.deepEqual(await connection.cluster.patchRuntimeClass(current, {}), { kind: 'gone' });
    assert.equal(await connection.cluster.getRuntimeClass('rc'), undefined);
  });

  test('events: ours, and those that another operator counted through core/v1', async () => {
    const about = await created(pool('evented'));
    const event = { type: 'Warning', reason: 'NodeConflict', action: 'Reconcile', note: 'ü'.repeat(600) } as const;
    await connection.cluster.createEvent(about, event);
    const others = raw(cluster());
    const old = (name: string, involvedObject: Record<string, string>) =>
      others.expect('POST', '/api/v1/namespaces/default/events', {
        apiVersion: 'v1',
        kind: 'Event',
        metadata: { name, namespace: 'default' },
        involvedObject,
        type: 'Normal',
        reason: 'Synced',
        message: 'all well',
        count: 7,
        firstTimestamp: '2026-01-01T00:00:00Z',
        lastTimestamp: '2026-01-02T00:00:00Z',
        source: { component: 'other-operator' },
      });
    const involved = { kind: 'NodePool', name: 'evented', apiVersion: 'nodes.lailin.xyz/v1' };
    await old('evented.1', involved);
    await old('evented.2', { ...involved, apiVersion: 'karpenter.sh/v1' });
    await old('evented.3', { ...involved, name: 'another' });

    const [ours, theirs, ...rest] = (await connection.events.list('evented')).toSorted((a, b) => a.count - b.count);
    assert.deepEqual(rest, []);
    assert.equal(ours?.note, 'ü'.repeat(512));
    assert.equal(ours?.poolUid, about.metadata.uid);
    assert.equal(ours?.reporter, 'nodepool-controller');
    assert.match(ours?.lastSeen ?? '', /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
    assert.deepEqual(theirs, {
      pool: 'evented',
      poolUid: undefined,
      type: 'Normal',
      reason: 'Synced',
      note: 'all well',
      firstSeen: '2026-01-01T00:00:00Z',
      lastSeen: '2026-01-02T00:00:00Z',
      count: 7,
      reporter: 'other-operator',
    });
    assert.equal((await connection.events.list()).length, 3);
  });

  test('a dry connection writes nothing', async () => {
    const options = { kubeconfig: cluster().kubeconfig, env: {}, log: () => {}, version: '0.0.0' };
    const dry = await connect({ ...options, dryRun: true });
    const about = await created(pool('untouched'));
    const { resourceVersion } = await node('b');
    const write = await dry.cluster.patchNode('b', { resourceVersion, labels: { dry: 'yes' } });
    assert.equal(write.kind === 'written' && write.node.labels.dry, 'yes');
    await dry.cluster.setFinalizers(about, ['example.com/hold']);
    await dry.cluster.patchStatus(about, { status: 200, nodeCount: 1 });
    await dry.cluster.createRuntimeClass({ metadata: { name: 'dry' }, handler: 'runc' });
    const kept = await connection.cluster.createRuntimeClass({ metadata: { name: 'kept' }, handler: 'runc' });
    assert.equal(kept.kind, 'created');
    await dry.cluster.patchRuntimeClass(kept.runtimeClass, { nodeSelector: { a: 'b' } });
    assert.equal(await dry.cluster.deleteRuntimeClass(kept.runtimeClass), 'deleted');
    await dry.cluster.createEvent(about, { type: 'Normal', reason: 'Dry', action: 'Try', note: 'none' });
    dry.close();
    assert.equal((await node('b')).resourceVersion, resourceVersion);
    assert.deepEqual(await connection.pools.get('untouched'), about);
    assert.equal(await connection.cluster.getRuntimeClass('dry'), undefined);
    assert.deepEqual(await connection.cluster.getRuntimeClass('kept'), kept.runtimeClass);
    assert.deepEqual(await connection.events.list('untouched'), []);
  });

  test('one node patch is one request', async () => {
    const patches = (await readAudit(cluster())).filter(
      event => isWrite(event) && event.resource === 'nodes' && event.name === 'a' && event.verb === 'patch',
    );
    assert.deepEqual(
      patches.map(({ code }) => code),
      [200, 409, 200],
    );
    assert.match(patches[0]?.userAgent ?? '', /^kubectl-nodepool\/0\.0\.0 \(\w+\/\w+\)$/);
  });

  test('the definition goes, and its pools with it', async () => {
    const installed = (await connection.definition.get()) ?? {};
    assert.equal(await connection.definition.delete(installed, { dryRun: true }), 'deleted');
    const kept = (await connection.definition.get()) as { metadata?: { deletionTimestamp?: string } };
    assert.equal(kept.metadata?.deletionTimestamp, undefined);
    const other = { ...installed, metadata: { ...(installed.metadata as object), uid: 'not-this-one' } };
    await assert.rejects(connection.definition.delete(other, { dryRun: false }), {
      message: 'the definition nodepools.nodes.lailin.xyz was removed and installed anew meanwhile',
    });
    assert.equal(await connection.definition.delete(installed, { dryRun: false }), 'deleted');
    await connection.definition.waitUntilGone(10_000);
    assert.equal(await connection.definition.get(), undefined);
  });
});
