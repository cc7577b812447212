import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { type Amounts, quantityReader } from '../../../../src/nodepool/quantity/amounts.ts';
import { type DemandingPod, podLimits, podRequests } from '../../../../src/nodepool/quantity/pod-resources.ts';
import { formatQuantity } from '../../../../src/nodepool/quantity/quantity.ts';
import type { ResourceList } from '../../../../src/nodepool/types.ts';

interface Vector {
  pod: DemandingPod;
  requests: ResourceList;
  limits: ResourceList;
}

/**
 * Pods put together at random, and what PodRequests and PodLimits of k8s.io/component-helpers v0.36.3 make of them, with
 * UseStatusResources and InPlacePodLevelResourcesVerticalScalingEnabled, as the scheduler of 1.36 calls them.
 */
const vectors = JSON.parse(
  readFileSync(new URL('../../data/pod-resources-vectors.json', import.meta.url), 'utf8'),
) as readonly Vector[];

test("equals the scheduler's Go library for all vectors", () => {
  const read = quantityReader();
  const texts = (amounts: Amounts) =>
    Object.fromEntries([...amounts].map(([name, quantity]) => [name, formatQuantity(quantity)]));
  assert.equal(vectors.length, 320);
  for (const { pod, requests, limits } of vectors) {
    const said = JSON.stringify(pod);
    assert.deepEqual(texts(podRequests(pod, read)), requests, `requests of ${said}`);
    assert.deepEqual(texts(podLimits(pod, read)), limits, `limits of ${said}`);
  }
});
