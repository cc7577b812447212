import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { PoolIndex } from '../../../../src/nodepool/membership/membership.ts';
import {
  formatRecord,
  keptRecord,
  MAX_RECORD_LENGTH,
  MAX_RECORD_SLOTS,
  parseRecord,
  recordProblem,
} from '../../../../src/nodepool/plan/record.ts';
import { MAX_TAINTS } from '../../../../src/nodepool/spec/taints.ts';
import { MAX_LABELS, validatePool } from '../../../../src/nodepool/spec/validation.ts';
import type { Taint } from '../../../../src/nodepool/types.ts';
import { aNode, aPool } from '../fixtures.ts';
import { planMerge } from './plan-view.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

/** A key of the greatest length. */
function longKey(at: number): string {
  const prefix = Array.from({ length: 4 }, () => 'p'.repeat(62)).join('.');
  return `${prefix}.x/${String(at).padStart(63, 'n')}`;
}
const longValue = (letter: string) => letter.repeat(63);

test('the largest record of a valid pool is within the limit', () => {
  const keys = Array.from({ length: MAX_LABELS }, (_, at) => longKey(at));
  const taints = (value: string) =>
    Array.from({ length: MAX_TAINTS }, (_, at): Taint => ({ key: longKey(at), value, effect: 'PreferNoSchedule' }));
  const labels = (value: string) => Object.fromEntries(keys.map(key => [key, value]));
  const spec = { labels: labels(longValue('v')), taints: taints(longValue('v')) };
  const pool = aPool(spec, { name: 'p'.repeat(63) });
  assert.deepEqual(validatePool(pool), []);
  const node = aNode({ labels: labels(longValue('d')), taints: taints(longValue('d')) });
  const { patch } = planMerge(node, undefined, pool);
  const text = patch?.record ?? assert.fail();
  assert.equal(recordProblem(text), undefined);
  assert.equal(keptRecord(text), text);
  assert.equal(text.length, 157_947);
  assert.ok(text.length <= MAX_RECORD_LENGTH);
});

test('unmanaged: Remove strips no more than a record can hold', () => {
  const labels = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, 'v']));
  const pool = aPool({ unmanaged: 'Remove' });
  const fits = planMerge(aNode({ labels: labels(MAX_RECORD_SLOTS) }), undefined, pool);
  assert.equal(recordProblem(fits.patch?.record ?? assert.fail()), undefined);
  const tooMany = planMerge(aNode({ labels: labels(MAX_RECORD_SLOTS + 1) }), undefined, pool);
  assert.deepEqual([tooMany.kind, tooMany.patch, tooMany.changes], ['oversized', undefined, []]);
});

const many = (count: number) =>
  JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, at) => [`k${at}`, ''])));
const problems: [string, string][] = [
  ['x', 'not JSON'],
  ['[]', 'not a JSON object'],
  ['{"pool":5}', 'without a pool name'],
  ['{"pool":".."}', 'without a pool name'],
  ['{"pool":"a/b"}', 'without a pool name'],
  [`{"pool":"p"}${' '.repeat(MAX_RECORD_LENGTH)}`, 'larger than 163840 characters (163852)'],
  [keptRecord('x'.repeat(175_000)), 'larger than 163840 characters (175000)'],
  [`{"pool":"p","labels":${many(MAX_RECORD_SLOTS + 1)}}`, 'more than 1000 labels, taints or annotations'],
  [`{"pool":"p","annotations":${many(MAX_RECORD_SLOTS + 1)}}`, 'more than 1000 labels, taints or annotations'],
];
for (const [raw, problem] of problems) {
  test(`reports a record that is ${problem} (${raw.slice(0, 20)}), and does not use it`, () => {
    assert.equal(parseRecord(raw), undefined);
    assert.equal(recordProblem(raw), problem);
  });
}

test('uses the valid entries of a record that also has invalid ones', () => {
  const raw =
    '{"pool":"p","labels":{"a b":"x","tier":"gold"},"taints":{"k:Never":"v"},"annotations":{"a b":"","c":1,"d":null}}';
  assert.equal(recordProblem(raw), 'with 5 labels, taints or annotations that no pool sets');
  assert.equal(formatRecord(parseRecord(raw) ?? assert.fail()), '{"pool":"p","labels":{"tier":"gold"}}');
});

test('uses no more memory when the record of a node is rewritten repeatedly', () => {
  const index = new PoolIndex([]);
  const labels = Array.from({ length: 390 }, (_, at) => `"${longKey(at)}":"${longValue('v')}"`).join(',');
  const claimWith = (at: number) => {
    const record = `{"pool":"p${at}","labels":{${labels}}}`;
    assert.equal(index.ownership(aNode({ record })).record?.labels.size, 390);
    assert.ok(record.length > 150_000 && record.length <= MAX_RECORD_LENGTH);
  };
  claimWith(0);
  collectGarbage();
  const before = process.memoryUsage().heapUsed;
  for (let at = 1; at <= 150; at++) claimWith(at);
  collectGarbage();
  const grown = (process.memoryUsage().heapUsed - before) / 1024 / 1024;
  assert.ok(grown < 12, `${Math.round(grown)} MB more`);
});
