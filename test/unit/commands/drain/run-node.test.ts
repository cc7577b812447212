/** The drain of one node. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { RemovalResult } from '../../../../src/kube/cluster.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { flushPromises } from '../../controller/fake-clock.ts';
import { ACCEPTED, BUDGET, fakeDrainCluster, GONE, makePod, RULES, states } from './fake-drain-cluster.ts';

describe('draining one node', () => {
  test('cordons the node, evicts its pods at once, and ends when they are gone', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }, { name: 'q' }] } });
    const { ended } = cluster.begin();
    await flushPromises();
    assert.deepEqual(cluster.log, ['patch a {"resourceVersion":"1","unschedulable":true}', 'evict p @0', 'evict q @0']);
    cluster.removePods('p');
    await cluster.clock.advance(1000);
    cluster.removePods('q');
    assert.deepEqual(cluster.reported, [
      'node/a cordoned',
      'evicting pod ns/p',
      'evicting pod ns/q',
      'pod ns/p evicted',
    ]);
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 2/2']);
    assert.deepEqual(cluster.reported.slice(4), ['pod ns/q evicted', 'node/a drained']);
    assert.equal(cluster.lists.length, 3, 'one list at first, then one each second');
    assert.equal(cluster.log.length, 3, 'nobody is asked twice');
  });

  test('treats a pod with another UID as another pod', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.pods.set('a', [makePod({ name: 'p', uid: 'new' })]);
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(
      cluster.log.filter(line => line.startsWith('evict')),
      ['evict p @0'],
    );
  });

  test('treats 404 as evicted', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, answers: { p: [GONE] } });
    assert.deepEqual(states(await cluster.begin().ended), ['a drained 1/1']);
    assert.equal(cluster.clock.now(), 0);
  });

  test('retries every 5 s while a budget refuses, and reports each reason once', async () => {
    const other = { ...BUDGET, message: 'is being processed' };
    const cluster = fakeDrainCluster({
      pods: { a: [{ name: 'p' }] },
      answers: { p: [BUDGET, BUDGET, other, ACCEPTED] },
    });
    const { ended } = cluster.begin();
    await cluster.clock.advance(14_900);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0', 'evict p @5', 'evict p @10']);
    assert.deepEqual(cluster.reported.slice(1), [
      'evicting pod ns/p',
      'pod ns/p on node a waits for PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently',
      'pod ns/p on node a waits for PodDisruptionBudget ns/web: is being processed',
    ]);
    await cluster.clock.advance(100);
    cluster.removePods('p');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
  });

  test('does not retry a terminating pod', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, answers: { p: [BUDGET] } });
    const { ended } = cluster.begin();
    await cluster.clock.advance(4000);
    cluster.removePods('p');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0']);
  });

  test('retries after the delay of the server, but not before 5 s', async () => {
    const busy = (afterMs: number | undefined): RemovalResult => ({
      kind: 'busy',
      afterMs,
      message: 'too many requests',
    });
    const cluster = fakeDrainCluster({
      pods: { a: [{ name: 'p' }] },
      answers: { p: [busy(12_000), busy(1000), busy(undefined), GONE] },
    });
    const { ended } = cluster.begin();
    await cluster.clock.advance(30_000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0', 'evict p @12', 'evict p @17', 'evict p @22']);
  });

  test('evicts a pod again after a conflict', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, answers: { p: [{ kind: 'changed' }, GONE] } });
    const { ended } = cluster.begin();
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0', 'evict p @1']);
  });

  test('in a terminating namespace retries until the pod is being deleted, then waits', async () => {
    const ends: RemovalResult = { kind: 'namespace ends', message: 'it is being terminated' };
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, answers: { p: [ends] } });
    const { ended } = cluster.begin();
    await cluster.clock.advance(4000);
    cluster.pods.set('a', [makePod({ name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' })]);
    await cluster.clock.advance(20_000);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0', 'evict p @5']);
    cluster.removePods('p');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a drained 1/1']);
  });

  test('names the remaining pods and the reasons at the timeout', async () => {
    const cluster = fakeDrainCluster({
      pods: { a: [{ name: 'p' }, { name: 'q' }] },
      answers: { p: [BUDGET] },
      options: { timeoutMs: 7500 },
    });
    const { ended } = cluster.begin();
    await cluster.clock.advance(7500);
    assert.deepEqual(states(await ended), ['a failed 0/2 held']);
    assert.equal(
      cluster.reported.at(-1),
      'error: unable to drain node "a": gave up after 7.5 s (--timeout): ns/p waiting for PodDisruptionBudget ns/web: ' +
        'needs 2 healthy pods and has 2 currently; ns/q still terminating',
    );
  });

  test('evicts other pods when one can never be evicted, and fails the node', async () => {
    const never = { kind: 'many budgets', budgets: ['one', 'two'] } as const;
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }, { name: 'q' }] }, answers: { p: [never] } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.removePods('q');
    await cluster.clock.advance(1000);
    assert.deepEqual(states(await ended), ['a failed 1/2']);
    assert.match(
      cluster.reported.at(-1) ?? '',
      /unable to drain node "a": pod ns\/p has more than one .*: one, two \(keep only one of the PodDisruptionBudgets, or use --disable-eviction\)$/,
    );
  });

  test('reports at the timeout why another pod could not be evicted', async () => {
    const never = new NodepoolError('cluster', 'never');
    const cluster = fakeDrainCluster({
      pods: { a: [{ name: 'p' }, { name: 'q' }] },
      answers: { p: [never] },
      options: { timeoutMs: 9 },
    });
    const { ended } = cluster.begin();
    await cluster.clock.advance(9);
    assert.deepEqual(states(await ended), ['a failed 0/2']);
    assert.match(
      cluster.reported.at(-1) ?? '',
      /"a": never; gave up after 0\.009 s \(--timeout\): ns\/q still terminating$/,
    );
  });

  test('--skip-wait-for-delete-timeout skips terminating pods, before and during the wait', async () => {
    const rules = { ...RULES, skipWaitForDeleteSeconds: 3 };
    const old = { name: 'old', deletionTimestamp: '2025-12-31T23:00:00Z' };
    const cluster = fakeDrainCluster({ pods: { a: [old, { name: 'p' }] }, options: { rules } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.pods.set('a', [makePod(old), makePod({ name: 'p', deletionTimestamp: '2026-01-01T00:00:00Z' })]);
    await cluster.clock.advance(4000);
    assert.deepEqual(states(await ended), ['a drained 0/0']);
    assert.deepEqual(cluster.reported.slice(2), [
      'pod ns/p has been terminating for too long, skipping',
      'node/a drained',
    ]);
    assert.deepEqual(cluster.log.slice(1), ['evict p @0']);
  });

  test('reads a DaemonSet again for the next node after a failed read', async () => {
    const agent = { controller: { apiVersion: 'apps/v1', kind: 'DaemonSet', name: 'agent' } };
    const cluster = fakeDrainCluster({
      nodes: [{ name: 'a' }, { name: 'b' }],
      pods: { a: [{ name: 'agent-1', ...agent }], b: [{ name: 'agent-2', ...agent }] },
      hasDaemonSet: [true, new NodepoolError('cluster', 'no answer'), true],
      options: { rules: { ...RULES, ignoreDaemonSets: true } },
    });
    assert.deepEqual(states(await cluster.begin().ended), ['a failed 0/0', 'b drained 0/0']);
    assert.equal(cluster.reported.at(-2), 'error: unable to drain node "a": no answer');
  });

  test('sends no further eviction after the signal', async () => {
    const pods = { a: Array.from({ length: 40 }, (_, index) => ({ name: `p${index}` })) };
    const cluster = fakeDrainCluster({ pods, stopAtRemoval: 3 });
    assert.deepEqual(states(await cluster.begin().ended), ['a in progress 0/40']);
    assert.equal(cluster.log.filter(line => line.startsWith('evict ')).length, 3);
  });

  test('--dry-run=server does not wait', async () => {
    const later = { deletionTimestamp: '2026-01-01T00:00:00Z' };
    const cluster = fakeDrainCluster({
      dryRun: 'server',
      pods: { a: [{ name: 'held' }, { name: 'busy' }, { name: 'ends' }, { name: 'ending', ...later }] },
      answers: {
        held: [BUDGET],
        busy: [{ kind: 'busy', afterMs: undefined, message: 'it is being moved' }],
        ends: [{ kind: 'namespace ends', message: 'it ends' }],
        ending: [{ kind: 'namespace ends', message: 'it ends' }],
      },
    });
    assert.deepEqual(states(await cluster.begin().ended), ['a waits 0/4 held']);
    assert.equal(cluster.clock.now(), 0);
    assert.deepEqual(
      cluster.reported.filter(line => line.startsWith('pod ')).map(line => line.replace(/.*waits for /, '')),
      [
        'PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently',
        'the server: it is being moved',
        'the deletion of its namespace: it ends',
        'the deletion of its namespace: it ends',
      ],
    );
  });

  test('checks for remaining pods without the selector, as labels may change', async () => {
    const cluster = fakeDrainCluster({ pods: { a: [{ name: 'p' }] }, options: { podSelector: 'app=x' } });
    const { ended } = cluster.begin();
    await flushPromises();
    cluster.removePods('p');
    await cluster.clock.advance(1000);
    await ended;
    assert.deepEqual(cluster.lists, ['a app=x', 'a']);
  });
});
