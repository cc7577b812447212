/** Which annotations a node has after it was read, from protobuf and from JSON. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { KeptAnnotations, type WireNode } from '../../../../src/kube/resources/kept-annotations.ts';
import { toNode } from '../../../../src/kube/resources/nodes.ts';
import { encode } from '../protobuf/encode.ts';

const RECORD = 'nodes.lailin.xyz/applied';
const ALL = { a: '1', b: 'two words', 'cni.io/large': 'x'.repeat(500), z: '' };

function inProtobuf(annotations: Record<string, string>): Uint8Array {
  const entries = Object.entries(annotations).map(([key, value]) => encode({ 1: key, 2: value }));
  return encode({ 1: encode({ 1: 'n', 5: 'u', 6: '7', 12: entries }) });
}

const forms: [string, (annotations: Record<string, string>, kept: KeptAnnotations) => WireNode][] = [
  ['protobuf', (annotations, kept) => kept.decoder()(inProtobuf(annotations))],
  ['JSON', annotations => ({ metadata: { name: 'n', annotations } })],
];
for (const [form, wire] of forms) {
  const read = (annotations: Record<string, string>, keys: string[]) => {
    const kept = new KeptAnnotations(keys);
    return toNode(wire(annotations, kept), kept);
  };

  describe(form, () => {
    test('without pools that set annotations, a node has no annotations', () => {
      const node = read({ ...ALL, [RECORD]: '{"pool":"p"}' }, []);
      assert.deepEqual([node.record, 'annotations' in node, 'keptAnnotations' in node], ['{"pool":"p"}', false, false]);
    });

    test('keeps annotations that pools set', () => {
      const { annotations, keptAnnotations } = read(ALL, ['b', 'z', 'absent']);
      assert.deepEqual(annotations, { b: 'two words', z: '' });
      assert.deepEqual(keptAnnotations, new Set(['b', 'z', 'absent']));
      assert.equal('annotations' in read(ALL, ['absent']), false);
    });

    test('keeps annotations in the record of the node, and in no other record', () => {
      const record = '{"pool":"gone","annotations":{"a":"1","absent":""}}';
      const node = read({ ...ALL, [RECORD]: record }, ['z']);
      assert.deepEqual(node.annotations, { a: '1', z: '' });
      assert.deepEqual(node.keptAnnotations, new Set(['z']));
      assert.deepEqual(read({ ...ALL, [RECORD]: record }, []).annotations, { a: '1' });
    });

    test('ignores an invalid record', () => {
      for (const record of ['{"annotations"', '"annotations"', '{"pool":"p","annotations":["a"]}']) {
        assert.equal('annotations' in read({ ...ALL, [RECORD]: record }, []), false);
      }
    });
  });
}

test('nodes share the key set, and a new key affects later nodes only', () => {
  const kept = new KeptAnnotations(['a']);
  const decode = kept.decoder();
  const read = () => toNode(decode(inProtobuf(ALL)), kept);
  const [first, second] = [read(), read()];
  assert.equal(first.keptAnnotations, second.keptAnnotations);
  const early = decode(inProtobuf(ALL));
  kept.add(['a', 'b']);
  assert.deepEqual(first.keptAnnotations, new Set(['a']));
  assert.deepEqual(read().annotations, { a: '1', b: 'two words' });
  assert.deepEqual(toNode(early, kept).keptAnnotations, first.keptAnnotations, 'decoded before the key was known');
  const { keptAnnotations } = read();
  kept.add(['b']);
  assert.equal(read().keptAnnotations, keptAnnotations);
});

test('keys of one request do not affect other requests', () => {
  const kept = new KeptAnnotations(['a']);
  assert.equal(kept.with(['a']), kept);
  const more = kept.with(['b']);
  assert.deepEqual(toNode(more.decoder()(inProtobuf(ALL)), more).annotations, { a: '1', b: 'two words' });
  assert.deepEqual(toNode(kept.decoder()(inProtobuf(ALL)), kept).annotations, { a: '1' });
});
