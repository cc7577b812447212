import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { NODE_POOLS } from '../../../../src/kube/api/resource.ts';
import { isConflict, isMissingObject } from '../../../../src/kube/api/status.ts';
import { failed } from '../resources/failure-status.ts';

describe('treats an object as missing only when the API server reports that object', () => {
  const p = { name: 'p', group: 'nodes.lailin.xyz', kind: 'nodepools' };
  const table: [string, boolean, number, string][] = [
    ['the object', true, 404, failed(404, 'NotFound', 'nodepools.nodes.lailin.xyz "p" not found', p)],
    ['a resource that is not served', false, 404, '404 page not found\n'],
    ['a page', false, 404, '<html><title>404</title></html>'],
    ['nothing', false, 404, ''],
    [
      'a subresource of a resource that is built in',
      false,
      404,
      failed(404, 'NotFound', 'the server could not find it'),
    ],
    ['another object', false, 404, failed(404, 'NotFound', 'no', { ...p, name: 'q' })],
    ['another kind', false, 404, failed(404, 'NotFound', 'no', { ...p, kind: 'clusters' })],
    ['another group', false, 404, failed(404, 'NotFound', 'no', { ...p, group: 'karpenter.sh' })],
    ['another reason', false, 404, failed(404, 'Unknown', 'no', p)],
    ['another kind of response', false, 404, JSON.stringify({ kind: 'NodePool', reason: 'NotFound', details: p })],
    ['another status', false, 410, failed(404, 'NotFound', 'no', p)],
  ];
  for (const [name, expected, status, text] of table) {
    test(name, () => assert.equal(isMissingObject({ status, headers: {}, text }, NODE_POOLS, 'p'), expected));
  }
});

test('does not treat a 404 or 409 of a webhook as a missing object or a conflict', () => {
  const answer = (status: number) => {
    const message = 'admission webhook "w.example.com" denied the request: no';
    return {
      status,
      headers: {},
      text: failed(status, 'NotFound', message, { name: 'p', group: 'nodes.lailin.xyz', kind: 'nodepools' }),
    };
  };
  assert.equal(isMissingObject(answer(404), NODE_POOLS, 'p'), false);
  assert.equal(isConflict(answer(409)), false);
  assert.equal(
    isConflict({ status: 409, headers: {}, text: failed(409, 'Conflict', 'modified', { name: 'n' }) }),
    true,
  );
});
