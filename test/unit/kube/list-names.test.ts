/** With a server that has no protobuf; with protobuf it is tried on a real one. */
import assert from 'node:assert/strict';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { listNames } from '../../../src/kube/list-names.ts';

async function answered(t: TestContext, status: number, body: object) {
  const asked: Pick<IncomingMessage, 'url' | 'headers'>[] = [];
  const server = createServer((request, response) => {
    asked.push(request);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve));
  t.after(() => server.close());
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const access = { cluster: { name: 'c', server: address, skipTlsVerify: false }, user: { name: 'u' }, source: '/k' };
  return { asked, names: listNames('nodes', access, { deadlineMs: 2_000, version: '1', env: {} }) };
}

test('names, and the keys of all labels once, of what the server has at hand', async t => {
  const items = [
    { metadata: { name: 'b', labels: { tier: 'x', os: 'y' } } },
    { metadata: { name: 'a', labels: { tier: 'z' } } },
    { metadata: { name: 'c' } },
  ];
  const { asked, names } = await answered(t, 200, { items });
  assert.deepEqual(await names, { names: ['b', 'a', 'c'], labelKeys: ['os', 'tier'] });
  assert.equal(asked.length, 1);
  assert.equal(asked[0]?.url, '/api/v1/nodes?resourceVersion=0');
  assert.match(asked[0]?.headers.accept ?? '', /^application\/vnd\.kubernetes\.protobuf;as=PartialObjectMetadataList;/);
});

for (const status of [401, 403, 404]) {
  test(`${status} is no names, so that those of before are not shown`, async t => {
    const { names } = await answered(t, status, { kind: 'Status', message: 'no' });
    assert.deepEqual(await names, { names: [], labelKeys: [] });
  });
}

test('500 is no answer', async t => {
  await assert.rejects((await answered(t, 500, {})).names, /no names of nodes: 500/);
});
