import assert from 'node:assert/strict';
import { test } from 'node:test';
import { waitUntilAvailable } from '../../../../src/commands/install/run.ts';
import type { ManifestObject } from '../../../../src/kube/resources/manifests.ts';

const deployment: ManifestObject = {
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name: 'nodepool-controller', namespace: 'nodepool-system', generation: 2 },
  spec: { replicas: 2 },
};

/** A clock whose time passes with each wait. */
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
  const get = async () => ({ ...deployment, status: statuses[Math.min(reads++, statuses.length - 1)] });
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

test('names how many are, and where to look, when the time is over', async () => {
  await assert.rejects(waiting({ observedGeneration: 2, availableReplicas: 1 }).done, {
    message: 'the controller is not available after 3 s: 1 of 2 pods are',
    next: /kubectl -n nodepool-system describe deployment nodepool-controller/,
  });
});
