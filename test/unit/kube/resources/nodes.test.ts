import assert from 'node:assert/strict';
import { test } from 'node:test';
import { KeptAnnotations } from '../../../../src/kube/resources/kept-annotations.ts';
import { nodePatchBody, toNode } from '../../../../src/kube/resources/nodes.ts';

test('puts only changed fields into a node patch', () => {
  const resourceVersion = '7';
  assert.deepEqual(nodePatchBody({ resourceVersion }), { metadata: { resourceVersion } });
  const taints = [{ key: 'k', value: 'v', effect: 'NoSchedule' as const }];
  assert.deepEqual(nodePatchBody({ resourceVersion, labels: { a: null }, taints, record: null }), {
    metadata: { resourceVersion, labels: { a: null }, annotations: { 'nodes.lailin.xyz/applied': null } },
    spec: { taints },
  });
  assert.deepEqual(nodePatchBody({ resourceVersion, unschedulable: true }).spec, { unschedulable: true });
  assert.deepEqual(nodePatchBody({ resourceVersion, unschedulable: false }).spec, { unschedulable: null });
});

test('patches a node without labels, annotations and taints', () => {
  assert.deepEqual(toNode({ metadata: { name: 'n', uid: 'u', resourceVersion: '1' } }, new KeptAnnotations()), {
    name: 'n',
    uid: 'u',
    resourceVersion: '1',
    creationTimestamp: '',
    labels: {},
    taints: [],
    ready: false,
    unschedulable: false,
    allocatable: {},
  });
});
