/** Pods that the plan of a drain did not list. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { flushPromises } from '../controller/fake-clock.ts';
import { fakeDrainCluster, GONE, makePod, states } from './fake-drain-cluster.ts';

describe('pods that the plan did not list', () => {
  test('evicts pods that came after the plan, keeps those it must not evict, and fails the node then', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] } });
    const { ended } = cluster.begin(() =>
      cluster.pods.set('a', [
        makePod({ name: 'p' }),
        makePod({ name: 'late' }),
        makePod({ name: 'q', hasEmptyDir: true }),
      ]),
    );
    await cluster.clock.advance(1000);
    cluster.removePods('p', 'late');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a failed 2/2']);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0', 'evict late @1']);
    assert.match(
      cluster.reported.at(-1) ?? '',
      /unable to drain node "a": cannot delete pods with local storage .*: ns\/q$/,
    );
  });

  test('evicts a pod that replaced a listed one before the cordon', async () => {
    const cluster = fakeDrainCluster({
      pods: { a: [{ name: 'db-0' }] },
      answers: { 'db-0': [{ kind: 'changed' }, GONE] },
    });
    const { ended } = cluster.begin(() => cluster.pods.set('a', [makePod({ name: 'db-0', uid: 'another' })]));
    await cluster.clock.advance(1000);
    cluster.removePods('db-0');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 2/2']);
    assert.deepEqual(cluster.log.slice(1), ['evict db-0 @0', 'evict db-0 @1']);
  });

  test('Ctrl-C before the first list fails the node, as later pods are unknown', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, answers: { p: [GONE] }, stopAtRemoval: 1 });
    const { ended } = cluster.begin();
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a under way 1/1']);
  });

  test('finds pods that came after the plan when the others are gone already', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, answers: { p: [GONE] } });
    const { ended } = cluster.begin(() => cluster.pods.set('a', [makePod({ name: 'late' })]));
    await flushPromises();
    cluster.removePods('late');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 2/2']);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0', 'evict late @0']);
  });

  test('evicts a pod that returns to the cordoned node once more at most', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p-1' }] } });
    const { ended } = cluster.begin();
    await flushPromises();
    for (const nth of [2, 3]) {
      cluster.pods.set('a', [makePod({ name: `p-${nth}` })]);
      await cluster.clock.advance(1000);
    }
    assert.deepEqual(states(await ended), ['a drained 2/2']);
    assert.deepEqual(cluster.log.slice(1), ['evict p-1 @0', 'evict p-2 @1']);
  });
});
