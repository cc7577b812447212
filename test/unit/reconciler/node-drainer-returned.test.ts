/** Pods that come back to a node that is drained: each owner's pods are evicted once, then once more right before the taint. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { DrainPod } from '../../../src/nodepool/drain-filters.ts';
import { BUDGET, drained, pod } from './drained.ts';

const web = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' };
const tolerant = (name: string, more: Partial<DrainPod> = {}) =>
  pod(name, {
    controller: web,
    labels: { app: 'web' },
    placement: {
      nodeSelector: {},
      nodeTerms: undefined,
      tolerations: [{ key: 'dedicated', effect: 'NoSchedule', operator: 'Exists' }],
    },
    ...more,
  });
const bound = (name: string) => pod(name, { labels: { app: 'bound' } });
const LOOK_MS = 2_600;
const PERMANENT_MS = 31_000;

test('a budget that allows one at a time: each pod is evicted once, then the node is an error, and nothing is evicted', async () => {
  const { write, calls, on, answers, clock, taints } = drained([tolerant('a'), tolerant('b')]);
  answers.set('b', BUDGET);
  assert.deepEqual(await write(), ['patch n1', 'list']);
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict a', 'evict b']);
  on.delete('a');
  on.set('a2', tolerant('a2'));
  answers.set('b', { kind: 'accepted' });
  answers.set('a2', BUDGET);
  await clock.advance(7_000);
  const rejects = async (requests: string[], pods: string) => {
    const message = `taint dedicated=x:NoExecute was not set on node n1: ${pods}`;
    await assert.rejects(write(), {
      message,
      next: 'let the budgets allow it, then run `kubectl nodepool reconcile worker`; or remove the toleration or spec.nodeName by which they come back; or set spec.noExecute to Immediate',
    });
    assert.deepEqual(calls, requests);
  };
  const why = 'came back after eviction, and PodDisruptionBudgets do not allow evicting all of them at once';
  await rejects(['list', 'evict b', 'list', 'evict a2'], `1 pod ${why}: ns/a2`);
  on.delete('b');
  on.set('b2', tolerant('b2'));
  await rejects([], `1 pod ${why}: ns/a2`);
  on.delete('a2');
  on.set('a3', tolerant('a3'));
  answers.set('b2', BUDGET);
  await clock.advance(PERMANENT_MS);
  await rejects(['list', 'evict b2'], `2 pods ${why}: ns/b2, ns/a3`);
  answers.set('b2', { kind: 'accepted' });
  answers.set('a3', BUDGET);
  await clock.advance(PERMANENT_MS);
  await rejects(['list', 'evict b2', 'evict a3'], `2 pods ${why}: ns/b2, ns/a3`);
  answers.set('a3', { kind: 'accepted' });
  for (let look = 0; look < 3; look++) {
    await clock.advance(PERMANENT_MS);
    await rejects(['list'], `1 pod ${why}: ns/a3`);
  }
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
  on.delete('a3');
  await clock.advance(PERMANENT_MS);
  assert.deepEqual(await write(), ['list', 'patch n1'], 'it is away');
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('a pod that is back before the taint is set keeps it away: its budget would not be asked', async () => {
  const { write, calls, on, clock, evictions, taints } = drained([bound('a')]);
  await write();
  on.clear();
  await clock.advance(LOOK_MS);
  on.set('b', bound('b'));
  await write();
  on.clear();
  on.set('c', bound('c'));
  const { evict } = evictions;
  evictions.evict = async (one, options) => {
    const removal = await evict(one, options);
    on.set('d', bound('d'));
    return removal;
  };
  for (const requests of [['list', 'evict c', 'list'], ['list']]) {
    await clock.advance(PERMANENT_MS);
    await assert.rejects(write(), { message: /not set on node n1: 1 pod came back after eviction/ });
    assert.deepEqual(calls, requests);
  }
  assert.deepEqual(taints(), ['dedicated:NoSchedule']);
});

test('pods that come back and that no budget keeps are evicted once more, right before the taint', async () => {
  const { write, on, clock, taints } = drained([bound('a')]);
  assert.deepEqual(await write(), ['patch n1', 'list', 'evict a']);
  on.clear();
  // Until schedulers have seen the stand-in, a new pod may be of one of them.
  on.set('b', bound('b'));
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict b']);
  on.clear();
  for (const name of ['c', 'd']) on.set(name, bound(name));
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict c', 'evict d', 'list', 'patch n1']);
  assert.deepEqual(taints(), ['dedicated:NoExecute']);
});

test('pods of another owner that come later are evicted within their budgets', async () => {
  const { write, on, clock } = drained([tolerant('a')]);
  await write();
  await clock.advance(LOOK_MS);
  assert.deepEqual(await write(), ['list', 'evict a', 'list', 'patch n1']);
  const other = drained([bound('a')]);
  await other.write();
  other.on.clear();
  other.on.set('late', tolerant('late'));
  await other.clock.advance(LOOK_MS);
  assert.deepEqual(await other.write(), ['list', 'evict late', 'list', 'patch n1']);
  assert.ok(on.has('a'));
});
