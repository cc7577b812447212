import assert from 'node:assert/strict';
import { test } from 'node:test';
import { warningText } from '../../../../src/nodepool/errors.ts';
import type { NodePoolStatus } from '../../../../src/nodepool/types.ts';
import {
  droppedFields,
  lackingFields,
  lackingWarning,
  STATUS_SUBRESOURCE,
} from '../../../../src/reconciler/write/status-fields.ts';

const ready = { type: 'Ready', status: 'True', reason: 'PoolReady', message: '', lastTransitionTime: 'now' } as const;
const sent: NodePoolStatus = {
  status: 200,
  nodeCount: 0,
  allocatable: { cpu: '1', 'nvidia.com/gpu': '2' },
  observedGeneration: 1,
  conditions: [ready],
};
const { reason: _reason, ...bare } = ready;

for (const [name, kept, expected] of [
  ['all is kept', sent, []],
  ['the server may add', { ...sent, podCount: 3 }, []],
  [
    'nothing is kept',
    undefined,
    ['status.status', 'status.nodeCount', 'status.allocatable', 'status.observedGeneration', 'status.conditions'],
  ],
  ['a field', { ...sent, observedGeneration: undefined }, ['status.observedGeneration']],
  ['resources are one', { ...sent, allocatable: {} }, ['status.allocatable']],
  ['a field of another type', { ...sent, allocatable: 'x' as never }, ['status.allocatable']],
  ['items of another type', { ...sent, conditions: ['x'] as never }, ['status.conditions[]']],
  ['a field of an item', { ...sent, conditions: [bare] }, ['status.conditions[].reason']],
  ['items: no schema drops them', { ...sent, conditions: [] }, []],
  ['one resource: no schema drops it alone', { ...sent, allocatable: { cpu: '1' } }, []],
] as [string, NodePoolStatus | undefined, string[]][]) {
  test(`finds status fields that the response lacks: ${name}`, () => {
    assert.deepEqual(lackingFields(sent, kept), expected);
  });
}

test('names the next step', () => {
  assert.equal(
    warningText(lackingWarning(['status.b', 'status.a', 'status.b'])),
    'the CRD nodepools.nodes.lailin.xyz is of another version and drops status.a, status.b; next: run `kubectl nodepool install`',
  );
  assert.match(warningText(lackingWarning([STATUS_SUBRESOURCE])), /serves no status subresource/);
});

test('does not list a missing status subresource as a dropped field', () => {
  assert.deepEqual(droppedFields(['status.a', 'subresources.status', 'status.b']), ['status.a', 'status.b']);
});
