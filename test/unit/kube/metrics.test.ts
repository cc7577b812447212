import assert from 'node:assert/strict';
import { test } from 'node:test';
import { toUsage } from '../../../src/kube/metrics.ts';

const status = (message: string) => JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message });

test('usage by node', () => {
  const items = [
    {
      metadata: { name: 'a' },
      timestamp: '2026-01-01T00:00:00Z',
      window: '10s',
      usage: { cpu: '12345n', memory: '1Ki' },
    },
    { metadata: { name: 'b' } },
  ];
  const text = JSON.stringify({ kind: 'NodeMetricsList', apiVersion: 'metrics.k8s.io/v1beta1', items });
  const byNode = new Map([
    ['a', { cpu: '12345n', memory: '1Ki' }],
    ['b', {}],
  ]);
  assert.deepEqual(toUsage({ status: 200, text }), { kind: 'served', byNode });
  const empty = { kind: 'served', byNode: new Map() };
  assert.deepEqual(toUsage({ status: 200, text: '{"kind":"NodeMetricsList","items":null}' }), empty);
});

test('a cluster without the metrics API', () => {
  assert.deepEqual(toUsage({ status: 404, text: '404 page not found\n' }), { kind: 'absent' });
});

test('a metrics API that does not work', () => {
  const reasonOf = (code: number, text: string) => {
    const usage = toUsage({ status: code, text });
    return usage.kind === 'failed' ? usage.reason : usage.kind;
  };
  assert.equal(reasonOf(503, 'service unavailable\n'), 'service unavailable');
  assert.equal(reasonOf(403, status('nodes.metrics.k8s.io is forbidden')), 'nodes.metrics.k8s.io is forbidden');
  assert.equal(reasonOf(500, ''), 'the server answered 500');
  for (const text of ['<html>', '[]', '{}', 'null', '']) assert.equal(reasonOf(200, text), 'the answer is no list');
});
