import assert from 'node:assert/strict';
import { test } from 'node:test';
import { gpuOf } from '../../../src/view/rows.ts';

for (const [allocatable, expected] of [
  [{ cpu: '4', memory: '16Gi', pods: '110' }, undefined],
  [{ cpu: '4', 'nvidia.com/gpu': '8' }, 'nvidia.com/gpu'],
  [{ 'nvidia.com/gpu': '0', 'nvidia.com/mig-1g.5gb': '7' }, 'nvidia.com/mig-1g.5gb'],
  [{ 'google.com/tpu': '4' }, 'google.com/tpu'],
  [{ 'example.com/output': '4', 'vpc.amazonaws.com/pod-eni': '9' }, undefined],
] as const) {
  test(`counts the GPUs of ${JSON.stringify(allocatable)}`, () => assert.equal(gpuOf(allocatable), expected));
}
