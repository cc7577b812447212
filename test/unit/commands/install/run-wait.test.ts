import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntilAvailable } from '../../../../src/commands/install/run.ts';
import type { ManifestObject } from '../../../../src/kube/resources/manifests.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';

const deployment: ManifestObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'nodepool-controller', namespace: 'nodepool-system', generation: 2 },
  spec: { replicas: 2 },
};

/** A clock whose time passes with each wait. @param statuses or errors, one for each read */
function waiting(...statuses: object[]) {
  let now = 0;
  const clock = {
    now: () => now,
    after(ms: number, callback: () => void) {
      now += ms;
      queueMicrotask(callback);
      return () => {};
    },
  };
  let reads = 0;
  const get = async () => {
    const status = statuses[Math.min(reads++, statuses.length - 1)];
    if (status instanceof Error) throw status;
    return { ...deployment, status };
  };
  return { done: waitUntilAvailable(deployment, 3_000, { get }, clock), reads: () => reads };
}

test('waits until all pods of the newest spec are available', async () => {
  const old = { observedGeneration: 1, availableReplicas: 2, updatedReplicas: 2 };
  const some = { observedGeneration: 2, availableReplicas: 1, updatedReplicas: 2 };
  const all = { observedGeneration: 2, availableReplicas: 2, updatedReplicas: 2 };
  const { done, reads } = waiting(old, some, all);
  await done;
  assert.equal(reads(), 3);
});

test('at the timeout, names how many pods are available, and where to look', async () => {
  await assert.rejects(waiting({ observedGeneration: 2, availableReplicas: 1 }).done, {
    message: 'the controller is not available after 3 s: 1 of 2 pods are',
    next: /kubectl -n nodepool-system describe deployment nodepool-controller/,
  });
});

test('waits until pods of the previous spec are gone, as they may be the available ones', async () => {
  const rolling = { observedGeneration: 2, replicas: 3, availableReplicas: 2, updatedReplicas: 2 };
  const { done, reads } = waiting(rolling, { ...rolling, replicas: 2 });
  await done;
  assert.equal(reads(), 2);
  await assert.rejects(waiting(rolling).done, {
    message: 'the controller is not available after 3 s: 2 of 2 pods are, and 1 of these may run the earlier version',
  });
});

test('retries temporary errors until the timeout, and ends at other errors', async () => {
  const busy = new NodepoolError('cluster', 'too many requests');
  const all = { observedGeneration: 2, replicas: 2, availableReplicas: 2, updatedReplicas: 2 };
  const { done, reads } = waiting(busy, busy, all);
  await done;
  assert.equal(reads(), 3);
  await assert.rejects(waiting(busy).done, busy);
  const forbidden = new NodepoolError('cluster', 'no', undefined, { isPermanent: true });
  for (const error of [forbidden, new TypeError('a bug')]) {
    const ended = waiting(error, all);
    await assert.rejects(ended.done, error);
    assert.equal(ended.reads(), 1);
  }
});
