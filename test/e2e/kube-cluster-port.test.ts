/** The cluster port of the reconciler on a real kube-apiserver. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { RawPool } from '../../src/kube/cluster.ts';
import { type Connection, connect } from '../../src/kube/connect.ts';
import type { Node, RuntimeClass } from '../../src/nodepool/types.ts';
import { isWrite, readAudit } from '../cluster/audit.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { createPool, pool, readCrd } from './pools.ts';

describe('the cluster port', () => {
  const cluster = useCluster({ audit: true });
  let connection: Connection;
  /** Its writes are validated and not stored. */
  let dry: Connection;

  before(async () => {
    const manifest = await readCrd();
    const options = { kubeconfig: cluster().kubeconfig, env: {}, log: () => {}, version: '0.0.0' };
    connection = await connect(options);
    dry = await connect({ ...options, dryRun: true });
    await connection.crd.apply(manifest);
    await connection.crd.waitUntilEstablished(10_000);
  });
  after(() => Promise.all([connection?.close(), dry?.close()]));

  const created = (body: RawPool) => createPool(connection, body);

  async function node(name: string): Promise<Node> {
    const found = await connection.cluster.nodes.get(name);
    assert.ok(found);
    return found;
  }

  describe('nodes', () => {
    test('are decoded to the used fields', async () => {
      const taints = [{ key: 'gpu', value: 'yes', effect: 'NoSchedule' as const }];
      await createNodes(cluster(), [
        { name: 'a', labels: { x: 'y' }, taints },
        { name: 'b', ready: false },
      ]);
      const [a, b, ...others] = await connection.cluster.nodes.list();
      assert.deepEqual(others, []);
      assert.equal(a?.name, 'a');
      assert.equal(a?.labels.x, 'y');
      assert.deepEqual(a?.taints, taints);
      assert.equal(a?.ready, true);
      assert.equal(a?.unschedulable, false);
      assert.equal(a?.allocatable.pods, '110');
      assert.match(a?.creationTimestamp ?? '', /^\d{4}-/);
      assert.equal(b?.ready, false);
      assert.deepEqual(await connection.cluster.nodes.get('a'), a);
      assert.equal(await connection.cluster.nodes.get('nowhere'), undefined);
    });

    test('are patched only at the resourceVersion that was read', async () => {
      const before = await node('a');
      const { resourceVersion } = before;
      const taints = [...before.taints, { key: 'mine', value: '', effect: 'NoExecute' as const }];
      const patch = { resourceVersion, labels: { x: null, z: '1' }, taints, record: '{"pool":"p"}' };
      const write = await connection.cluster.nodes.patch('a', patch);
      assert.equal(write.kind, 'written');
      assert.equal(write.node.labels.x, undefined);
      assert.equal(write.node.labels.z, '1');
      assert.equal(write.node.record, '{"pool":"p"}');
      assert.deepEqual(
        write.node.taints.map(({ key }) => key),
        ['gpu', 'mine'],
      );
      assert.deepEqual(write.node, await node('a'));

      assert.deepEqual(await connection.cluster.nodes.patch('a', { ...patch, labels: { z: '2' } }), {
        kind: 'conflict',
      });
      assert.deepEqual(await connection.cluster.nodes.patch('nowhere', patch), { kind: 'gone' });
      assert.equal((await node('a')).labels.z, '1');

      const cleaned = await connection.cluster.nodes.patch('a', {
        resourceVersion: write.node.resourceVersion,
        record: null,
      });
      assert.equal(cleaned.kind === 'written' && cleaned.node.record, undefined);
      assert.equal(cleaned.kind === 'written' && cleaned.node.labels.z, '1');
    });
  });

  test('creates RuntimeClasses once, patches them at their resourceVersion, deletes them by UID', async () => {
    const scheduling = { nodeSelector: { a: 'b', c: 'd' }, tolerations: [{ key: 'k', operator: 'Exists' }] };
    const wanted: RuntimeClass = { metadata: { name: 'rc' }, handler: 'runc', scheduling };
    const made = await connection.cluster.runtimeClasses.create(wanted);
    assert.equal(made.kind, 'created');
    assert.deepEqual(await connection.cluster.runtimeClasses.create(wanted), { kind: 'exists' });
    const current = made.runtimeClass;
    const patched = await connection.cluster.runtimeClasses.patch(current, { nodeSelector: { a: 'x' } });
    assert.deepEqual(patched.kind === 'written' && patched.runtimeClass.scheduling, { nodeSelector: { a: 'x' } });
    assert.deepEqual(await connection.cluster.runtimeClasses.patch(current, {}), { kind: 'conflict' });
    assert.deepEqual((await connection.cluster.runtimeClasses.get('rc'))?.scheduling, { nodeSelector: { a: 'x' } });
    assert.deepEqual(
      (await connection.cluster.runtimeClasses.list()).map(({ metadata }) => metadata.name),
      ['rc'],
    );
    const impostor = { ...current, metadata: { ...current.metadata, uid: '00000000-0000-0000-0000-000000000000' } };
    assert.equal(await connection.cluster.runtimeClasses.delete(impostor), 'conflict');
    assert.equal(await connection.cluster.runtimeClasses.delete(current), 'deleted');
    assert.equal(await connection.cluster.runtimeClasses.delete(current), 'gone');
    assert.deepEqual(await connection.cluster.runtimeClasses.patch(current, {}), { kind: 'gone' });
    assert.equal(await connection.cluster.runtimeClasses.get('rc'), undefined);
  });

  test('lists our events and events that another operator counted through core/v1', async () => {
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
    assert.equal(ours?.reporter, 'kubectl-nodepool');
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

  test('a dry run of each client stores nothing', async () => {
    const about = await created(pool('untouched'));
    const { resourceVersion } = await node('b');
    const write = await dry.cluster.nodes.patch('b', { resourceVersion, labels: { dry: 'yes' } });
    assert.equal(write.kind === 'written' && write.node.labels.dry, 'yes');
    await dry.cluster.pools.setFinalizers(about, ['example.com/hold']);
    await dry.cluster.pools.patchStatus(about, { status: 200, nodeCount: 1 });
    await dry.cluster.runtimeClasses.create({ metadata: { name: 'dry' }, handler: 'runc' });
    const kept = await connection.cluster.runtimeClasses.create({ metadata: { name: 'kept' }, handler: 'runc' });
    assert.equal(kept.kind, 'created');
    await dry.cluster.runtimeClasses.patch(kept.runtimeClass, { nodeSelector: { a: 'b' } });
    assert.equal(await dry.cluster.runtimeClasses.delete(kept.runtimeClass), 'deleted');
    await dry.cluster.createEvent(about, { type: 'Normal', reason: 'Dry', action: 'Try', note: 'none' });
    assert.equal((await node('b')).resourceVersion, resourceVersion);
    assert.deepEqual(await connection.cluster.pools.get('untouched'), about);
    assert.equal(await connection.cluster.runtimeClasses.get('dry'), undefined);
    assert.deepEqual(await connection.cluster.runtimeClasses.get('kept'), kept.runtimeClass);
    assert.deepEqual(await connection.events.list('untouched'), []);
  });

  test('patches a node in one request', async () => {
    const patches = (await readAudit(cluster())).filter(
      event => isWrite(event) && event.resource === 'nodes' && event.name === 'a' && event.verb === 'patch',
    );
    assert.deepEqual(
      patches.map(({ code }) => code),
      [200, 409, 200],
    );
    assert.match(patches[0]?.userAgent ?? '', /^kubectl-nodepool\/0\.0\.0 \(\w+\/\w+\)$/);
  });
});
