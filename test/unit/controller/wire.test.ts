import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readItem, readLine } from '../../../src/controller/wire.ts';

const UNKNOWN = { type: 'unknown' };
const EXPIRED = { type: 'expired' };

describe('parses a line of a watch', () => {
  test('returns the object of an event unchanged', () => {
    const object = { metadata: { name: 'a' }, spec: {} };
    for (const [type, expected] of [
      ['ADDED', 'changed'],
      ['MODIFIED', 'changed'],
      ['DELETED', 'deleted'],
    ]) {
      const line = readLine({ type, object });
      assert.equal(line.type, expected);
      assert.equal('raw' in line && line.raw, object, `${type}: not a copy`);
    }
  });

  test('returns unknown for anything that is not an event', () => {
    const object = {};
    for (const line of [
      undefined,
      null,
      'ADDED',
      7,
      [],
      {},
      { type: 'ADDED' },
      { type: 'ADDED', object: null },
      { type: 'ADDED', object: 'text' },
      { type: 'added', object },
      { type: 'RENAMED', object },
      { type: 1, object },
      { object },
    ]) {
      assert.deepEqual(readLine(line), UNKNOWN, JSON.stringify(line));
    }
  });

  test('returns the resourceVersion of a bookmark, and whether it ends the initial events', () => {
    const bookmark = (metadata: unknown) => readLine({ type: 'BOOKMARK', object: { kind: 'Pod', metadata } });
    const annotated = (value: unknown) =>
      bookmark({ resourceVersion: '12', annotations: { 'k8s.io/initial-events-end': value, other: 'true' } });
    const plain = { type: 'bookmark', resourceVersion: '12', endsInitialEvents: false };
    assert.deepEqual(bookmark({ resourceVersion: '12' }), plain);
    assert.deepEqual(annotated('true'), { ...plain, endsInitialEvents: true });
    for (const value of ['false', '', true, undefined]) assert.deepEqual(annotated(value), plain, String(value));
    for (const metadata of [undefined, null, {}, { resourceVersion: '' }, { resourceVersion: 12 }]) {
      assert.deepEqual(bookmark(metadata), UNKNOWN, JSON.stringify(metadata));
    }
  });

  test('returns expired for every form of 410', () => {
    const error = (object: unknown) => readLine({ type: 'ERROR', object });
    assert.deepEqual(error({ kind: 'Status', code: 410, reason: 'Expired', message: 'too old' }), EXPIRED);
    for (const object of [{ code: 410 }, { reason: 'Expired' }, { reason: 'Gone' }]) {
      assert.deepEqual(error(object), EXPIRED, JSON.stringify(object));
    }
  });

  test('returns status, text and delay of another error', () => {
    const failureOf = (object: unknown) => {
      const line = readLine({ type: 'ERROR', object });
      return line.type === 'error' && line.failure;
    };
    const details = (retryAfterSeconds: unknown) => ({
      code: 429,
      message: 'slow down',
      details: { retryAfterSeconds },
    });
    const refusal = { kind: 'refused', status: 429, message: 'slow down', retryAfterMs: undefined };
    assert.deepEqual(failureOf(details(3)), { ...refusal, retryAfterMs: 3000 });
    for (const seconds of [0, -1, '3', null, undefined]) assert.deepEqual(failureOf(details(seconds)), refusal);
    assert.deepEqual(failureOf({}), { ...refusal, status: 500, message: 'no reason given' });
    assert.deepEqual(failureOf({ code: '500', message: '' }), { ...refusal, status: 500, message: 'no reason given' });
  });
});

describe('parses an object of a list or an event', () => {
  const metadata = { name: 'a', uid: 'u', resourceVersion: '7' };
  const kept = { kept: true };
  const read = (raw: unknown) => readItem(raw, () => kept);

  test('returns the transformed object with its name, or namespace and name', () => {
    const raw = { metadata, spec: {} };
    const seen: object[] = [];
    const result = readItem(raw, each => {
      seen.push(each);
      return kept;
    });
    assert.deepEqual(result, { kind: 'item', item: { key: 'a', uid: 'u', resourceVersion: '7', object: kept } });
    assert.equal(seen[0], raw);
    const namespaced = read({ metadata: { ...metadata, namespace: 'ns' } });
    assert.equal(namespaced.kind === 'item' && namespaced.item.key, 'ns/a');
    const empty = read({ metadata: { ...metadata, namespace: '' } });
    assert.equal(empty.kind === 'item' && empty.item.key, 'a');
  });

  test('reports an object without name, UID or resourceVersion as unusable, with the reason', () => {
    const cases: [raw: unknown, why: string][] = [
      [undefined, 'not an object'],
      [null, 'not an object'],
      ['text', 'not an object'],
      [{}, 'no name'],
      [{ metadata: null }, 'no name'],
      [{ metadata: { ...metadata, name: '' } }, 'no name'],
      [{ metadata: { ...metadata, name: 7 } }, 'no name'],
      [{ metadata: { ...metadata, uid: undefined } }, 'a has no UID or resourceVersion'],
      [{ metadata: { ...metadata, uid: '' } }, 'a has no UID or resourceVersion'],
      [{ metadata: { ...metadata, resourceVersion: 7 } }, 'a has no UID or resourceVersion'],
      [{ metadata: { name: 'a', namespace: 'ns' } }, 'ns/a has no UID or resourceVersion'],
    ];
    for (const [raw, why] of cases) assert.deepEqual(read(raw), { kind: 'unusable', why }, JSON.stringify(raw));
  });

  test('reports an object for which the transform throws as unusable, with the reason', () => {
    const fail = (thrown: unknown) =>
      readItem({ metadata }, () => {
        throw thrown;
      });
    assert.deepEqual(fail(new Error('no spec')), { kind: 'unusable', why: 'a: no spec' });
    assert.deepEqual(fail('text'), { kind: 'unusable', why: 'a: text' });
  });

  test('returns an item for an object that the transform drops', () => {
    const result = readItem({ metadata }, () => undefined);
    assert.deepEqual(result, {
      kind: 'item',
      item: { key: 'a', uid: 'u', resourceVersion: '7', object: undefined },
    });
  });
});
