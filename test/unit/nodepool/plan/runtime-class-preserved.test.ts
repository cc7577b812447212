/** What others set on a RuntimeClass, in the annotation of its pool. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  formatPreserved,
  MAX_PRESERVED_LENGTH,
  parsePreserved,
  preservedFields,
  storedPreserved,
} from '../../../../src/nodepool/plan/runtime-class.ts';
import { REPLACED_ANNOTATION } from '../../../../src/nodepool/types.ts';
import { aPool } from '../fixtures.ts';

const metadata = { name: 'node-pool-worker' };
const preserved = {
  labels: { team: 'a', 'example.com/x': '' },
  annotations: { 'Example.com/note': 'any\ntext' },
  overhead: { podFixed: { memory: '100Mi', 'example.com/gpu': '1' } },
};
const { labels, annotations, overhead } = preserved;

test('reads what it wrote, and writes nothing when others set nothing on the RuntimeClass', () => {
  assert.deepEqual(
    preservedFields({ metadata: { ...metadata, labels, annotations }, overhead, handler: 'runc' }),
    preserved,
  );
  assert.deepEqual(parsePreserved(formatPreserved(preserved, 'a') ?? '', 'a'), preserved);
  assert.equal(preservedFields({ metadata, handler: 'runc' }), undefined);
  assert.equal(preservedFields({ metadata: { ...metadata, labels: {}, annotations: {} }, handler: 'runc' }), undefined);
});

test('limits its length: drops annotations first, then labels', () => {
  const long = 'x'.repeat(MAX_PRESERVED_LENGTH);
  const many = Object.fromEntries(Array.from({ length: 2_000 }, (_, index) => [`key-${index}`, 'x']));
  const read = (text: string | undefined) => text && parsePreserved(text, 'a');
  assert.deepEqual(read(formatPreserved({ ...preserved, annotations: { long } }, 'a')), { labels, overhead });
  assert.deepEqual(read(formatPreserved({ overhead, annotations, labels: many }, 'a')), { overhead });
  assert.equal(formatPreserved({ annotations: { long } }, 'a'), undefined);
  assert.equal(parsePreserved(`{"pool":"a","annotations":{"a":"${long}"}}`, 'a'), undefined);
});

test('is ignored for another pool', () => {
  const kept = (pool: string) =>
    storedPreserved(
      aPool({}, { uid: 'a', annotations: { [REPLACED_ANNOTATION]: formatPreserved(preserved, pool) ?? '' } }),
    );
  assert.deepEqual(kept('a'), preserved);
  assert.equal(kept('earlier'), undefined);
  assert.equal(storedPreserved(aPool({}, { uid: 'a' })), undefined);
});

const forged: [what: string, json: unknown, read: object | undefined][] = [
  ['no JSON', '{', undefined],
  ['no object', [], undefined],
  ['no pool', { labels }, undefined],
  ['no maps', { pool: 'a', labels: ['x'], annotations: 'x', overhead: 1 }, {}],
  ['invalid labels', { pool: 'a', labels: { 'a b': 'x', a: 'x y', b: 1, c: 'x' } }, { labels: { c: 'x' } }],
  ['invalid annotations', { pool: 'a', annotations: { 'a b': 'x', b: {}, c: 'x y' } }, { annotations: { c: 'x y' } }],
  [
    'invalid amounts',
    { pool: 'a', overhead: { podFixed: { cpu: '-1', memory: 'much', b: 1, 'a b': '1', c: '1' }, other: {} } },
    { overhead: { podFixed: { c: '1' } } },
  ],
  ['an infinite amount', { pool: 'a', overhead: { podFixed: { cpu: '1e9999' } } }, {}],
  ['other fields', { pool: 'a', metadata: { finalizers: ['x'] }, handler: 'x', scheduling: {}, labels }, { labels }],
];
for (const [what, json, read] of forged) {
  test(`keeps only valid fields of a RuntimeClass: ${what}`, () => {
    assert.deepEqual(parsePreserved(typeof json === 'string' ? json : JSON.stringify(json), 'a'), read);
  });
}
