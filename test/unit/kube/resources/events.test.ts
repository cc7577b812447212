import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toEvent, toRecord } from '../../../../src/kube/resources/events.ts';

const source = { hostname: 'host', now: () => new Date('2026-01-02T03:04:05.006Z'), suffix: () => '0123456789abcdef' };
const event = { type: 'Normal', reason: 'NodeJoined', action: 'Reconcile', note: 'a joined' } as const;

function pool(name: string) {
  return {
    apiVersion: 'nodes.lailin.xyz/v1',
    kind: 'NodePool',
    metadata: { name, uid: 'u', resourceVersion: '7' },
    spec: {},
  };
}

test('builds an event as the API server requires', () => {
  assert.deepEqual(toEvent(pool('p'), event, source), {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: 'p.0123456789abcdef', namespace: 'default' },
    eventTime: '2026-01-02T03:04:05.006000Z',
    reportingController: 'kubectl-nodepool',
    reportingInstance: 'kubectl-nodepool-host',
    action: 'Reconcile',
    reason: 'NodeJoined',
    type: 'Normal',
    note: 'a joined',
    regarding: { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', name: 'p', uid: 'u', resourceVersion: '7' },
  });
});

test('cuts long texts at the limits of the server, never inside a character', () => {
  const long = { ...event, note: `${'x'.repeat(1023)}€`, reason: 'R'.repeat(200), action: 'A'.repeat(200) };
  const made = toEvent(pool(`${'p'.repeat(235)}.${'q'.repeat(17)}`), long, { ...source, hostname: 'h'.repeat(300) });
  assert.equal(made.note, 'x'.repeat(1023));
  assert.equal(made.reason?.length, 128);
  assert.equal(made.action?.length, 128);
  assert.equal(made.reportingInstance?.length, 128);
  assert.equal(made.metadata?.name, `${'p'.repeat(235)}.0123456789abcdef`);
  assert.equal(toEvent(pool('p'), { ...event, note: '€'.repeat(400) }, source).note, '€'.repeat(341));
});

test('writes the count and last time of a series', () => {
  const record = toRecord({
    eventTime: '2026-01-01T00:00:00.000000Z',
    metadata: { creationTimestamp: '2026-01-01T00:00:00Z' },
    series: { count: 12, lastObservedTime: '2026-01-01T01:00:00.000000Z' },
    regarding: { name: 'p', uid: 'u' },
    type: 'Warning',
    reason: 'R',
    note: 'n',
    reportingController: 'c',
  });
  assert.deepEqual(record, {
    pool: 'p',
    poolUid: 'u',
    type: 'Warning',
    reason: 'R',
    note: 'n',
    firstSeen: '2026-01-01T00:00:00.000000Z',
    lastSeen: '2026-01-01T01:00:00.000000Z',
    count: 12,
    reporter: 'c',
  });
});
