import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nodeUsage } from '../../../../src/kube/resources/metrics.ts';
import type { Request } from '../../../../src/kube/transport/request.ts';
import type { Transport } from '../../../../src/kube/transport/transport.ts';
import { NodepoolError } from '../../../../src/nodepool/errors.ts';
import { encode, envelope } from '../protobuf/encode.ts';

const status = (message: string) => JSON.stringify({ kind: 'Status', apiVersion: 'v1', status: 'Failure', message });

/** The usage that a server reports as text. */
function usageOf(code: number, text: string) {
  const refusing = { request: async () => ({ status: code, headers: {}, text }) } as Partial<Transport> as Transport;
  const transport = code === 200 ? answering(Buffer.from(text)) : refusing;
  return nodeUsage(transport, new AbortController().signal);
}

test('reads usage by node', async () => {
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
  assert.deepEqual(await usageOf(200, text), { kind: 'served', byNode });
  const empty = { kind: 'served', byNode: new Map() };
  assert.deepEqual(await usageOf(200, '{"kind":"NodeMetricsList","items":null}'), empty);
});

/** Responds with that body, as the transport does. */
function answering(body: Buffer): Transport {
  const request = async ({ onBody }: Request) => {
    onBody?.(body);
    return { status: 200, headers: {}, text: '' };
  };
  return { request } as Partial<Transport> as Transport;
}

test('reads names and usage in protobuf, without labels', async () => {
  const amount = (name: string, quantity: string) => encode({ 1: name, 2: encode({ 1: quantity }) });
  const metadata = encode({ 1: 'a', 5: 'uid', 11: [encode({ 1: 'label', 2: 'value' })] });
  const one = encode({ 1: metadata, 2: encode({ 1: 7 }), 4: [amount('cpu', '12345n'), amount('memory', '1Ki')] });
  const list = envelope(
    'NodeMetricsList',
    encode({ 1: encode({ 2: '7' }), 2: [one, encode({ 1: encode({ 1: 'b' }) })] }),
  );
  const { signal } = new AbortController();
  const byNode = new Map([
    ['a', { cpu: '12345n', memory: '1Ki' }],
    ['b', {}],
  ]);
  assert.deepEqual(await nodeUsage(answering(list), signal), { kind: 'served', byNode });
  const cut = await nodeUsage(answering(list.subarray(0, 40)), signal);
  assert.equal(cut.kind, 'failed');
});

test('reports a timeout, a failure, and a bug', async () => {
  const failing = (error: Error) => ({ request: () => Promise.reject(error) }) as Partial<Transport> as Transport;
  const gone = new NodepoolError('cluster', 'the connection broke');
  const { signal } = new AbortController();
  assert.deepEqual(await nodeUsage(failing(gone), signal), { kind: 'failed', reason: 'the connection broke' });
  const late = { kind: 'failed', reason: 'no answer in time' };
  assert.deepEqual(await nodeUsage(failing(gone), AbortSignal.abort()), late);
  await assert.rejects(nodeUsage(failing(new TypeError('x')), signal), TypeError);
});

test('reports a cluster without the metrics API', async () => {
  assert.deepEqual(await usageOf(404, '404 page not found\n'), { kind: 'absent' });
});

test('reports a metrics API that fails', async () => {
  const reasonOf = async (code: number, text: string) => {
    const usage = await usageOf(code, text);
    return usage.kind === 'failed' ? usage.reason : usage.kind;
  };
  assert.equal(await reasonOf(503, 'service unavailable\n'), 'service unavailable');
  assert.equal(await reasonOf(403, status('nodes.metrics.k8s.io is forbidden')), 'nodes.metrics.k8s.io is forbidden');
  assert.equal(await reasonOf(500, ''), 'the server answered 500');
  for (const text of ['<html>', '[]', '{}', 'null', ''])
    assert.equal(await reasonOf(200, text), 'the answer is not a list');
});
