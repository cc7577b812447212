/** Map keys that Object.prototype has too. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeNode } from '../../../../src/kube/protobuf/objects.ts';
import { encode } from './encode.ts';

const KEYS = ['constructor', '__proto__'];

test('reads a label in protobuf', () => {
  const labels = KEYS.map(key => encode({ 1: key, 2: 'x' }));
  const node = decodeNode(encode({ 1: encode({ 1: 'a', 11: labels }) })) as { metadata: { labels: object } };
  assert.deepEqual(
    Object.entries(node.metadata.labels),
    KEYS.map(key => [key, 'x']),
  );
});
