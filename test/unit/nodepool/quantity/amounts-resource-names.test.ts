import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  inResourceOrder,
  isAccelerator,
  usualResources,
  wholeAccelerators,
} from '../../../../src/nodepool/quantity/amounts.ts';

test("recognises accelerators by their vendors' resource names", () => {
  const names =
    `nvidia.com/gpu nvidia.com/gpu.shared nvidia.com/mig-1g.5gb amd.com/gpu gpu.intel.com/i915 gpu.intel.com/xe
    google.com/tpu aws.amazon.com/neuron aws.amazon.com/neuroncore aws.amazon.com/neurondevice habana.ai/gaudi
    huawei.com/Ascend910 huawei.com/npu cambricon.com/mlu370 volcano.sh/vgpu-number aliyun.com/gpu-mem example.com/gpus
    tencent.com/qgpu-core hygon.com/dcu`.split(/\s+/);
  assert.deepEqual(
    names.filter(name => !isAccelerator(name)),
    [],
  );
  const others = `cpu memory gpu hugepages-2Mi ephemeral-storage example.com/output vpc.amazonaws.com/pod-eni
    smarter-devices/fuse example.com/migrations devices.kubevirt.io/kvm intel.com/qat attachable-volumes-aws-ebs
    example.com/input example.com/cmlus`.split(/\s+/);
  assert.deepEqual(others.filter(isAccelerator), []);
});

test('leaves out resources that are part of an accelerator', () => {
  const rows: [string, string][] = [
    ['nvidia.com/mig-1g.5gb cpu hugepages-2Mi', 'nvidia.com/mig-1g.5gb'],
    [
      'gpu.intel.com/i915 gpu.intel.com/memory.max gpu.intel.com/millicores gpu.intel.com/tiles gpu.intel.com/i915_monitoring',
      'gpu.intel.com/i915',
    ],
    ['aws.amazon.com/neuron aws.amazon.com/neuroncore', 'aws.amazon.com/neuron'],
    ['huawei.com/Ascend310P huawei.com/Ascend310P-memory', 'huawei.com/Ascend310P'],
    ['nvidia.com/gpu nvidia.com/gpumem nvidia.com/gpucores', 'nvidia.com/gpu'],
    ['volcano.sh/vgpu-number volcano.sh/vgpu-memory', 'volcano.sh/vgpu-number'],
    ['google.com/tpu amd.com/gpu google.com/tpu', 'amd.com/gpu google.com/tpu'],
    // The only one there is.
    ['aliyun.com/gpu-mem', 'aliyun.com/gpu-mem'],
    ['cpu intel.com/qat', ''],
  ];
  for (const [offered, whole] of rows) assert.equal(wholeAccelerators(offered.split(' ')).join(' '), whole);
});

test('orders cpu, memory, pods, then names, each once', () => {
  const names = ['pods', 'b', 'memory', 'a', 'cpu', 'a'];
  assert.deepEqual(inResourceOrder(names), ['cpu', 'memory', 'pods', 'a', 'b']);
  assert.deepEqual(inResourceOrder(['z', 'pods']), ['pods', 'z']);
  assert.deepEqual(usualResources(['nvidia.com/gpu', 'ephemeral-storage']), [
    'cpu',
    'memory',
    'pods',
    'nvidia.com/gpu',
  ]);
});
