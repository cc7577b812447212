/** With a server without protobuf; e2e tests use protobuf. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listNames } from '../../../../src/kube/resources/list-names.ts';

async function answered(t: TestContext, status: number, body: object, kind: 'pools' | 'nodes' = 'nodes') {
  const asked: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const access = { cluster: { name: 'c', server: address, skipTlsVerify: false }, user: { name: 'u' }, source: '/k' };
  return { asked, names: listNames(kind, access, { deadlineMs: 2_000, version: '1', env: {} }) };
}

test('lists names, and each label key and value once, from the watch cache', async t => {
  const items = [
    { metadata: { name: 'b', labels: { tier: 'x', os: 'y' } } },
    { metadata: { name: 'a', labels: { tier: 'z' } } },
    { metadata: { name: 'c' } },
  ];
  const { asked, names } = await answered(t, 200, { items });
  const labelValues = { os: ['y'], tier: ['x', 'z'] };
  const expected = { names: ['b', 'a', 'c'], labelKeys: ['os', 'tier'], labelValues, recorded: {}, roles: {} };
  assert.deepEqual(await names, expected);
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.url, '/api/v1/nodes?resourceVersion=0');
  assert.match(asked[0]?.headers.accept ?? '', /^application\/vnd\.kubernetes\.protobuf;as=PartialObjectMetadataList;/);
});

test('finds the pool of a node by its record, or else by its role label', async t => {
  const role = (pool: string) => ({ [`node-role.kubernetes.io/${pool}`]: '' });
  const record = (raw: string) => ({ 'nodes.lailin.xyz/applied': raw });
  const items = [
    { metadata: { name: 'a', labels: role('gpu'), annotations: record('{"pool":"worker"}') } },
    { metadata: { name: 'b', labels: { ...role('gpu'), ...role('edge') }, annotations: record('{') } },
    { metadata: { name: 'c', labels: role('gpu') } },
    { metadata: { name: 'd', labels: { 'node-role.kubernetes.io/gpu': 'true' }, annotations: { other: '' } } },
  ];
  const { recorded, roles } = await (await answered(t, 200, { items })).names;
  assert.deepEqual({ recorded, roles }, { recorded: { worker: ['a'] }, roles: { gpu: ['b', 'c'], edge: ['b'] } });
});

test('leaves out the values of a key with many', async t => {
  const items = Array.from({ length: 101 }, (_, at) => ({
    metadata: { name: `n${at}`, labels: { host: `n${at}`, zone: `z${at % 100}` } },
  }));
  const { labelKeys, labelValues = {} } = await (await answered(t, 200, { items })).names;
  assert.deepEqual([labelKeys, Object.keys(labelValues)], [['host', 'zone'], ['zone']]);
});

test('lists resources, taints and annotations that any pool has', async t => {
  const dedicated = { key: 'dedicated', value: 'gpu', effect: 'NoSchedule' };
  const items = [
    { metadata: { name: 'a' }, status: { allocatable: { cpu: '4', 'nvidia.com/gpu': '2', 'hugepages-2Mi': '0' } } },
    { metadata: { name: 'b' }, status: { allocatable: { memory: '1Gi', cpu: '1' } } },
    { metadata: { name: 'c' }, status: 'broken', spec: { taints: [{ key: 1 }, 'x'], annotations: ['x'] } },
    {
      metadata: { name: 'd' },
      spec: { taints: [dedicated, { key: 'old', effect: 'NoExecute' }], startupTaints: [dedicated] },
    },
    { metadata: { name: 'e' }, spec: { taints: [dedicated], annotations: { 'e.com/b': 'x', 'e.com/a': 'y' } } },
  ];
  const { asked, names } = await answered(t, 200, { items }, 'pools');
  assert.deepEqual(await names, {
    names: ['a', 'b', 'c', 'd', 'e'],
    labelKeys: [],
    labelValues: {},
    resources: ['cpu', 'memory', 'nvidia.com/gpu'],
    taints: ['dedicated=gpu:NoSchedule', 'old:NoExecute'],
    startupTaints: ['dedicated=gpu:NoSchedule'],
    annotations: ['e.com/a', 'e.com/b'],
  });
  assert.equal(asked[0]?.headers.accept, 'application/json');
});

for (const status of [401, 403, 404]) {
  test(`caches an empty list after ${status}, so that earlier names are not offered`, async t => {
    const { names } = await answered(t, status, { kind: 'Status', message: 'no' });
    assert.deepEqual(await names, { names: [], labelKeys: [], labelValues: {} });
  });
}

test('treats status 500 as no answer', async t => {
  await assert.rejects((await answered(t, 500, {})).names, /no names of nodes: 500/);
});
