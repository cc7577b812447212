/** Nodes and pods that are no longer as the plan of a drain found them. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { flushPromises } from '../../controller/fake-clock.ts';
import { BUDGET, fakeDrainCluster, makePod, states } from './fake-drain-cluster.ts';

describe('pods that the plan did not list', () => {
  test('evicts pods that arrived before the cordon or replaced a listed pod', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }, { name: 'db-0' }] } });
    const { ended } = cluster.begin(() =>
      cluster.pods.set('a', [makePod({ name: 'late' }), makePod({ name: 'db-0', uid: 'another' })]),
    );
    await flushPromises();
    cluster.removePods('late', 'db-0');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 2/2']);
    assert.deepEqual(cluster.log.slice(1), ['evict late @0', 'evict db-0 @0']);
  });

  test('fails the node, and evicts no pods, when a new pod needs a flag', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] } });
    const { ended } = cluster.begin(() =>
      cluster.pods.set('a', [makePod({ name: 'p' }), makePod({ name: 'q', hasEmptyDir: true })]),
    );
    assert.deepEqual(states(await ended), ['a failed 0/1']);
    assert.equal(cluster.log.length, 1, 'only the cordon');
    assert.match(
      cluster.reported.at(-1) ?? '',
      /unable to drain node "a": cannot delete pods with local storage .*: ns\/q$/,
    );
  });

  test('ignores a pod that arrives on the cordoned node', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p-1' }] } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.pods.set('a', [makePod({ name: 'p-2' })]);
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(cluster.log.slice(1), ['evict p-1 @0']);
    assert.equal(cluster.reported.at(-1), 'node/a drained, 1 pod came back');
  });

  test('counts new pods that remain at the end, without pods outside the selection', async () => {
    const pods = { a: [{ name: 'p' }, { name: 'q' }] };
    const cluster = fakeDrainCluster({ pods });
    const { ended } = cluster.begin();
    await flushPromises();
    const daemon = { controller: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } };
    const came = ['p2', 'p3', 'p4'].map(name => makePod({ name }));
    cluster.pods.set('a', [makePod({ name: 'q' }), ...came]);
    await cluster.clock.advance(1000);
    cluster.pods.set('a', [...came.slice(1), makePod({ name: 'agent', ...daemon })]);
    await cluster.clock.advance(1000);
    await ended;
    assert.equal(cluster.reported.at(-1), 'node/a drained, 2 pods came back');

    const some = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, options: { podSelector: 'app=p' } });
    const begun = some.begin();
    await flushPromises();
    some.pods.set('a', [makePod({ name: 'other' })]);
    await some.clock.advance(1000);
    await begun.ended;
    assert.equal(some.reported.at(-1), 'node/a drained');
  });
});

test('ends at once for a node that is recreated during its drain', async () => {
  const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, answers: { p: [BUDGET] } });
  const { ended } = cluster.begin();
  await flushPromises();
  const a = cluster.nodes.get('a');
  if (a !== undefined) cluster.nodes.set('a', { ...a, uid: 'another', unschedulable: false });
  await cluster.clock.advance(5_000);
  assert.deepEqual(states(await ended), ['a failed 0/1']);
  assert.equal(
    cluster.reported.at(-1),
    'error: unable to drain node "a": the node was deleted during the drain; a new node has the same name',
  );
});

test('ends for a recreated node even if its pods are gone', async () => {
  const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] } });
  const { ended } = cluster.begin();
  await flushPromises();
  const a = cluster.nodes.get('a');
  if (a !== undefined) cluster.nodes.set('a', { ...a, uid: 'another' });
  cluster.removePods('p');
  await cluster.clock.advance(1_000);
  assert.deepEqual(states(await ended), ['a failed 1/1']);
});

describe('nodes that changed before their turn', () => {
  const pods = { a: [{ name: 'pa' }], b: [{ name: 'pb' }] };
  const nodes = [{ name: 'a' }, { name: 'b', unschedulable: true }];

  for (const isRolling of [false, true]) {
    const how = isRolling ? ' with --rolling' : '';

    test(`cordons again a node that was uncordoned${how}`, async () => {
      const cluster = fakeDrainCluster({ nodes, pods, options: { isRolling } });
      const { ended } = cluster.begin();
      await flushPromises();
      const b = cluster.nodes.get('b');
      if (b !== undefined) cluster.nodes.set('b', { ...b, unschedulable: false });
      cluster.removePods('pa');
      await cluster.clock.advance(1000);
      cluster.removePods('pb');
      await cluster.clock.advance(1000);
      assert.deepEqual(states(await ended), ['a drained 1/1', 'b drained 1/1']);
      assert.equal(cluster.nodes.get('b')?.unschedulable, true);
      assert.ok(cluster.reported.includes('node/b cordoned'));
    });

    test(`evicts no pod from another node with the same name${how}`, async () => {
      const cluster = fakeDrainCluster({ nodes, pods, options: { isRolling } });
      const { ended } = cluster.begin();
      await flushPromises();
      const b = cluster.nodes.get('b');
      if (b !== undefined) cluster.nodes.set('b', { ...b, uid: 'another', unschedulable: false });
      cluster.removePods('pa');
      await cluster.clock.advance(1000);
      assert.deepEqual(states(await ended), ['a drained 1/1', 'b drained 0/1']);
      assert.ok(!cluster.log.some(line => line.startsWith('evict pb')));
      assert.equal(cluster.reported.at(-1), 'node/b is gone');
    });

    test(`fails a node that has left the pool${how}`, async () => {
      const cluster = fakeDrainCluster({ nodes, pods, options: { isRolling } });
      const { ended } = cluster.begin();
      await flushPromises();
      const b = cluster.nodes.get('b');
      if (b !== undefined) cluster.nodes.set('b', { ...b, labels: {} });
      cluster.removePods('pa');
      await cluster.clock.advance(1000);
      assert.deepEqual(states(await ended), ['a drained 1/1', 'b failed 0/1']);
      assert.ok(!cluster.log.some(line => line.startsWith('evict pb')));
      assert.equal(
        cluster.reported.at(-1),
        'error: unable to drain node "b": the node is no longer a member of pool worker',
      );
    });
  }
});
