import assert from 'node:assert/strict';
import { test } from 'node:test';
import { eventBody } from '../../../../src/kube/resources/events.ts';

const PARTS = {
  regarding: { apiVersion: 'apps/v1', kind: 'Deployment', namespace: 'shop', name: 'front', uid: 'u' },
  type: 'Warning',
  reason: 'Failed',
  action: 'Scale',
  note: 'it failed',
  first: new Date('2026-01-02T03:04:05.006Z'),
  id: 'id',
} as const;
const REPORTER = { controller: 'example.com/test', instance: 'test-1' };

test('puts an event in the namespace of its object, and names object and reporter', () => {
  assert.deepEqual(eventBody(PARTS, REPORTER), {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'front.id', namespace: 'shop' },
    eventTime: '2026-01-02T03:04:05.006000Z',
    reportingController: 'example.com/test',
    reportingInstance: 'test-1',
    action: 'Scale',
    reason: 'Failed',
    type: 'Warning',
    note: 'it failed',
    regarding: PARTS.regarding,
  });
});

test('puts an event of a cluster-scoped object in default, and replaces a long name by the id', () => {
  const regarding = { apiVersion: 'v1', kind: 'Node', name: `${'n'.repeat(249)}.xyz` };
  const { metadata } = eventBody({ ...PARTS, regarding }, REPORTER);
  assert.deepEqual(metadata, { name: `${'n'.repeat(249)}.id`, namespace: 'default' });
});
