import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeDrainedPod } from '../../../../src/kube/protobuf/evicted-pod.ts';
import { toDrainPod } from '../../../../src/kube/resources/evictions.ts';
import { encode } from '../protobuf/encode.ts';

const meta = (more: Record<number, string | Uint8Array | Uint8Array[]> = {}) =>
  encode({ 1: 'p', 3: 'ns', 5: 'u', 6: '7', 11: [encode({ 1: 'app', 2: 'web' })], ...more });

test('reads a pod in protobuf as in JSON', () => {
  const owners = [
    encode({ 1: 'Thing', 3: 'other', 4: 'u1', 5: 'v1' }),
    encode({ 1: 'ReplicaSet', 3: 'web', 4: 'u2', 5: 'apps/v1', 6: 1, 7: 1 }),
  ];
  const volumes = [
    encode({ 1: 'config', 2: encode({ 19: encode({ 1: 'x' }) }) }),
    encode({ 1: 'cache', 2: encode({ 2: encode({}) }) }),
    encode({ 1: 'data', 2: encode({ 10: encode({ 1: 'data-p' }) }) }),
  ];
  const requirement = (key: string, ...values: string[]) => encode({ 1: key, 2: 'In', 3: values });
  const terms = encode({ 1: [requirement('zone', 'a', 'b')], 2: [requirement('metadata.name', 'n1')] });
  const annotations = [encode({ 1: 'kubernetes.io/config.mirror', 2: 'hash' }), encode({ 1: 'other', 2: 'x' })];
  const raw = encode({
    1: meta({ 8: encode({ 1: 1_600_000_000 }), 9: encode({ 1: 1_700_000_000 }), 12: annotations, 13: owners }),
    2: encode({
      1: volumes,
      2: [encode({ 1: 'main' })],
      7: [encode({ 1: 'disk', 2: 'ssd' })],
      10: 'node-1',
      18: encode({ 1: encode({ 1: encode({ 1: [terms], 2: [encode({ 1: 5 })] }) }) }),
      22: [encode({ 1: 'gpu', 2: 'Exists', 4: 'NoSchedule' })],
    }),
    3: encode({ 1: 'Running', 2: [encode({ 1: 'Ready', 2: 'True' })], 3: 'message' }),
  });
  const wire = decodeDrainedPod(raw);
  const nodeSelectorTerms = [
    {
      matchExpressions: [{ key: 'zone', operator: 'In', values: ['a', 'b'] }],
      matchFields: [{ key: 'metadata.name', operator: 'In', values: ['n1'] }],
    },
  ];
  const tolerations = [{ key: 'gpu', operator: 'Exists', effect: 'NoSchedule' }];
  assert.deepEqual(wire, {
    metadata: {
      name: 'p',
      namespace: 'ns',
      uid: 'u',
      creationTimestamp: '2020-09-13T12:26:40Z',
      deletionTimestamp: '2023-11-14T22:13:20Z',
      labels: { app: 'web' },
      annotations: { 'kubernetes.io/config.mirror': 'hash' },
      ownerReferences: [
        { kind: 'Thing', name: 'other', apiVersion: 'v1' },
        { kind: 'ReplicaSet', name: 'web', apiVersion: 'apps/v1', controller: true },
      ],
    },
    spec: {
      volumes: [{}, { emptyDir: {} }, { persistentVolumeClaim: { claimName: 'data-p' } }],
      nodeSelector: { disk: 'ssd' },
      affinity: {
        nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } },
      },
      tolerations,
    },
    status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'True' }] },
  });
  assert.deepEqual(toDrainPod(wire), {
    namespace: 'ns',
    name: 'p',
    uid: 'u',
    phase: 'Running',
    creationTimestamp: '2020-09-13T12:26:40Z',
    deletionTimestamp: '2023-11-14T22:13:20Z',
    controller: { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web' },
    isMirror: true,
    hasEmptyDir: true,
    claims: ['data-p'],
    labels: { app: 'web' },
    isReady: true,
    placement: { nodeSelector: { disk: 'ssd' }, nodeTerms: nodeSelectorTerms, tolerations },
  });
});

test('reads a pod without any of these fields', () => {
  const raw = encode({ 1: meta(), 2: encode({ 1: [encode({ 1: 'config', 2: encode({ 1: encode({ 1: '/' }) }) })] }) });
  assert.deepEqual(toDrainPod(decodeDrainedPod(raw)), {
    namespace: 'ns',
    name: 'p',
    uid: 'u',
    phase: '',
    isMirror: false,
    creationTimestamp: '',
    hasEmptyDir: false,
    labels: { app: 'web' },
    isReady: false,
    placement: { nodeSelector: {}, nodeTerms: undefined, tolerations: [] },
  });
});
