import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodePodDemand } from '../../../../src/kube/protobuf/pod-demand.ts';
import { encode } from './encode.ts';

const entry = (name: string, quantity: string) => encode({ 1: name, 2: encode({ 1: quantity }) });

test('reads the fields of pod resources as JSON has them', () => {
  const resources = (limit: string, request: string) =>
    encode({ 1: [entry('cpu', limit)], 2: [entry('cpu', request)] });
  const container = encode({ 1: 'main', 2: 'image', 8: resources('2', '1'), 24: '' });
  const sidecar = encode({ 1: 'side', 8: encode({}), 24: 'Always' });
  const status = encode({ 1: 'main', 4: 1, 6: 'image', 10: [entry('cpu', '3')], 11: resources('5', '4') });
  const pod = encode({
    1: encode({ 1: 'p', 3: 'team', 5: 'uid', 12: [encode({ 1: 'long', 2: 'annotation' })] }),
    2: encode({ 2: [container], 10: 'node-a', 20: [sidecar], 32: [entry('memory', '1Mi')], 40: resources('7', '6') }),
    3: encode({
      1: 'Running',
      2: [encode({ 1: 'PodResizePending', 2: 'True', 5: 'Infeasible', 6: 'too much' })],
      8: [status],
      10: [encode({ 1: 'side', 11: encode({}) })],
      19: [entry('cpu', '8')],
      20: resources('9', '10'),
    }),
  });
  assert.deepEqual(decodePodDemand(pod), {
    metadata: { name: 'p', namespace: 'team' },
    spec: {
      containers: [{ name: 'main', resources: { limits: { cpu: '2' }, requests: { cpu: '1' } } }],
      nodeName: 'node-a',
      initContainers: [{ name: 'side', resources: {}, restartPolicy: 'Always' }],
      overhead: { memory: '1Mi' },
      resources: { limits: { cpu: '7' }, requests: { cpu: '6' } },
    },
    status: {
      conditions: [{ type: 'PodResizePending', reason: 'Infeasible' }],
      containerStatuses: [
        { name: 'main', allocatedResources: { cpu: '3' }, resources: { limits: { cpu: '5' }, requests: { cpu: '4' } } },
      ],
      initContainerStatuses: [{ name: 'side', resources: {} }],
      allocatedResources: { cpu: '8' },
      resources: { limits: { cpu: '9' }, requests: { cpu: '10' } },
    },
  });
});
