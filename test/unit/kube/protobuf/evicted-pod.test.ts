import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeToleratingPod } from '../../../../src/kube/protobuf/evicted-pod.ts';
import { encode } from './encode.ts';

test('reads the pod fields that decide an eviction, including tolerationSeconds of zero', () => {
  const owners = [encode({ 5: 'v1', 1: 'Node', 3: 'n' }), encode({ 1: 'DaemonSet', 3: 'd', 6: 1 })];
  const tolerations = [
    encode({ 1: 'a', 2: 'Exists', 3: '', 4: 'NoExecute', 5: 0 }),
    encode({ 1: 'b', 2: 'Equal', 3: 'x', 4: '', 5: 300 }),
    encode({ 1: '', 2: 'Exists' }),
    encode({ 1: 'c', 2: 'Exists', 5: -1 }),
  ];
  const pod = encode({
    1: encode({ 1: 'p', 3: 'team', 9: encode({ 1: 1_700_000_000 }), 13: owners }),
    2: encode({ 3: 'Always', 10: 'node-a', 22: tolerations }),
    3: encode({ 1: 'Running', 3: 'unread' }),
  });
  assert.deepEqual(decodeToleratingPod(pod), {
    metadata: {
      name: 'p',
      namespace: 'team',
      deletionTimestamp: '2023-11-14T22:13:20Z',
      ownerReferences: [
        { kind: 'Node', name: 'n', apiVersion: 'v1' },
        { kind: 'DaemonSet', name: 'd', controller: true },
      ],
    },
    spec: {
      nodeName: 'node-a',
      tolerations: [
        { key: 'a', operator: 'Exists', effect: 'NoExecute', tolerationSeconds: 0 },
        { key: 'b', operator: 'Equal', value: 'x', tolerationSeconds: 300 },
        { operator: 'Exists' },
        { key: 'c', operator: 'Exists', tolerationSeconds: -1 },
      ],
    },
    status: { phase: 'Running' },
  });
});
