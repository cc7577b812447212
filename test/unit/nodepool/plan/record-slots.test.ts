import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  type AppliedRecord,
  type AppliedSlot,
  formatRecord,
  mayRemoveUnmanaged,
  NO_SLOTS,
  NO_STARTUP,
  parseRecord,
} from '../../../../src/nodepool/plan/record.ts';

const parsed = (json: unknown) => parseRecord(JSON.stringify(json));
const labelsOf = (record: AppliedRecord | undefined) => Object.fromEntries(record?.labels ?? []);
const taintsOf = (record: AppliedRecord | undefined) => Object.fromEntries(record?.taints ?? []);

test('reads all kinds of entries that it writes', () => {
  const record: AppliedRecord = {
    pool: 'worker',
    labels: new Map([
      ['a', { value: '1', displaced: 'old' }],
      ['b', { value: null, displaced: '' }],
      ['c', { value: '' }],
    ]),
    taints: new Map([['t:NoSchedule', { value: 'x', displaced: 'y' }]]),
    annotations: new Map([
      ['e.com/a', { value: 'any text\n' }],
      ['e.com/b', { value: '', displaced: '{"x":1}' }],
    ]),
    startup: new Map([
      ['s:NoExecute', ''],
      ['t:NoExecute', null],
    ]),
  };
  const text = formatRecord(record);
  assert.deepEqual(JSON.parse(text), {
    pool: 'worker',
    labels: { a: '1', b: null, c: '' },
    taints: { 't:NoSchedule': 'x' },
    annotations: { 'e.com/a': 'any text\n', 'e.com/b': '' },
    startup: { 's:NoExecute': '', 't:NoExecute': null },
    displaced: {
      labels: { a: 'old', b: '' },
      taints: { 't:NoSchedule': 'y' },
      annotations: { 'e.com/b': '{"x":1}' },
    },
  });
  assert.deepEqual(parseRecord(text), record);
});

test('writes the same bytes for any order of entries', () => {
  const slots: [string, AppliedSlot][] = [
    ['b', { value: '2' }],
    ['a', { value: '1' }],
    ['c', { value: '3' }],
  ];
  const texts = [slots, slots.toReversed(), [...slots.slice(1), ...slots.slice(0, 1)]].map(labels =>
    formatRecord({
      pool: 'worker',
      labels: new Map(labels),
      taints: new Map(),
      annotations: NO_SLOTS,
      startup: NO_STARTUP,
    }),
  );
  assert.deepEqual(new Set(texts), new Set(['{"pool":"worker","labels":{"a":"1","b":"2","c":"3"}}']));
});

test('writes a record without entries as the pool name only, and keeps it when parsed again', () => {
  const record: AppliedRecord = {
    pool: 'worker',
    labels: new Map(),
    taints: new Map(),
    annotations: NO_SLOTS,
    startup: NO_STARTUP,
  };
  assert.deepEqual([formatRecord(record), formatRecord(record)], ['{"pool":"worker"}', '{"pool":"worker"}']);
});

test('ignores text that is not a record', () => {
  assert.equal(parseRecord(undefined), undefined);
  for (const text of ['', '{', 'null', '[]', '"worker"', '7', '{}', '{"pool":7}', '{"pool":null}', '{"pool":["a"]}']) {
    assert.equal(parseRecord(text), undefined, text);
  }
});

test('accepts a pool name of up to 253 valid characters', () => {
  for (const pool of ['a', '0', 'a.b-c', 'x'.repeat(253)]) assert.equal(parsed({ pool })?.pool, pool);
  for (const pool of ['', 'x'.repeat(254), '_a', 'a_', 'a b', 'a\n']) assert.equal(parsed({ pool }), undefined, pool);
});

test('treats sections of another type as empty', () => {
  for (const section of [undefined, null, 'a', 7, ['a'], true]) {
    const sections = { labels: section, taints: section, annotations: section, startup: section, displaced: section };
    const empty = { pool: 'worker', labels: new Map(), taints: new Map(), annotations: new Map(), startup: new Map() };
    assert.deepEqual(parsed({ pool: 'worker', ...sections }), empty);
    const beside = { pool: 'worker', labels: { a: 'b' }, displaced: section };
    assert.deepEqual(labelsOf(parsed(beside)), { a: { value: 'b' } });
    const inside = { pool: 'worker', labels: { a: 'b' }, displaced: { labels: section } };
    assert.deepEqual(labelsOf(parsed(inside)), { a: { value: 'b' } });
  }
});

test('drops entries with a key or value that no pool can have written, and keeps the others', () => {
  const labels = { ok: 'v', 'bad key': 'v', number: 7, object: {}, long: 'v'.repeat(64), empty: '', gone: null };
  assert.deepEqual(labelsOf(parsed({ pool: 'worker', labels })), {
    ok: { value: 'v' },
    empty: { value: '' },
    gone: { value: null },
  });
  const taints = {
    'a:NoSchedule': 'v',
    'b:NoExecute': null,
    'example.com/c:PreferNoSchedule': '',
    'd:Never': 'v',
    NoSchedule: 'v',
    'bad key:NoSchedule': 'v',
    ':NoSchedule': 'v',
    'e:NoSchedule': 'not a value!',
  };
  assert.deepEqual(taintsOf(parsed({ pool: 'worker', taints })), {
    'a:NoSchedule': { value: 'v' },
    'b:NoExecute': { value: null },
    'example.com/c:PreferNoSchedule': { value: '' },
  });
});

test('drops an invalid displaced label value, and keeps the entry', () => {
  for (const displaced of [null, 7, 'not a value!', 'v'.repeat(64)]) {
    const json = { pool: 'worker', labels: { a: 'b' }, displaced: { labels: { a: displaced } } };
    assert.deepEqual(labelsOf(parsed(json)), { a: { value: 'b' } });
  }
  const empty = { pool: 'worker', labels: { a: null }, displaced: { labels: { a: '' } } };
  assert.deepEqual(labelsOf(parsed(empty)), { a: { value: null, displaced: '' } });
});

test('drops a stripped key of the cluster, but accepts it as a set key', () => {
  const key = 'node.kubernetes.io/x';
  assert.deepEqual(labelsOf(parsed({ pool: 'worker', labels: { [key]: null } })), {});
  assert.deepEqual(labelsOf(parsed({ pool: 'worker', labels: { [key]: 'v' } })), { [key]: { value: 'v' } });
  assert.deepEqual(taintsOf(parsed({ pool: 'worker', taints: { [`${key}:NoSchedule`]: null } })), {});
  assert.deepEqual([mayRemoveUnmanaged(key), mayRemoveUnmanaged('example.com/x')], [false, true]);
});
