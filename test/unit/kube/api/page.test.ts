import assert from 'node:assert/strict';
import { test } from 'node:test';
import { requestPage } from '../../../../src/kube/api/page.ts';
import { NODES } from '../../../../src/kube/api/resource.ts';
import { decodeNode, PROTOBUF } from '../../../../src/kube/protobuf/objects.ts';
import type { Request } from '../../../../src/kube/transport/request.ts';
import type { Transport } from '../../../../src/kube/transport/transport.ts';
import { encode, node, nodeList } from '../protobuf/encode.ts';

test('reads a page with an unknown taint field again as JSON, in small pages', async () => {
  const newer = nodeList([node('n', [encode({ 1: 'key', 3: 'NoSchedule', 9: 'new' })])]);
  const asked: Request[] = [];
  const transport = {
    async request(request: Request) {
      asked.push(request);
      if (request.onBody === undefined) return { status: 200, headers: {}, text: '{"items":[]}' };
      request.onBody(newer);
      return { status: 200, headers: { 'content-type': PROTOBUF }, text: '' };
    },
  };
  const resource = { ...NODES, decode: decodeNode };
  const read = await requestPage(transport as unknown as Transport, resource, { limit: '2000', continue: 'token' });
  assert.equal(read.isUnknown, true);
  assert.deepEqual(
    asked.map(({ query }) => query),
    [
      { limit: '2000', continue: 'token' },
      { limit: '500', continue: 'token' },
    ],
  );
});
