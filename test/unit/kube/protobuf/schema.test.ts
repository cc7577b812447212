import assert from 'node:assert/strict';
import { test } from 'node:test';
import { sharedText } from '../../../../src/kube/protobuf/schema.ts';

function read(text: string): string {
  const bytes = Buffer.from(`<${text}>`);
  return sharedText(bytes, 1, bytes.length - 1);
}

test('returns the text of the bytes after any earlier reads', () => {
  const texts = [
    '',
    'a',
    'ab',
    'topology.kubernetes.io/zone',
    'ba',
    'é',
    'Ã©',
    'ÿ',
    '日本',
    '😀',
    'x'.repeat(65),
    '\0',
    '�',
  ];
  for (let i = 0; i < 3000; i++) texts.push(`node-${i}`, `zone-${i % 7}`);
  for (const text of [...texts, ...texts.toReversed()]) assert.equal(read(text), text);
});

test('distinguishes different bytes of the same length in one cache slot', () => {
  // They differ only in bytes that do not choose the slot.
  for (const text of ['a-1-b-2-cd', 'a-9-b-9-cd', 'a-1-b-2-cd']) assert.equal(read(text), text);
});

test('decodes malformed UTF-8 as Buffer does', () => {
  const bytes = Buffer.from([0x61, 0xff, 0x62]);
  assert.equal(sharedText(bytes, 0, 3), 'a\ufffdb');
  assert.equal(sharedText(bytes, 0, 3), 'a\ufffdb');
});
