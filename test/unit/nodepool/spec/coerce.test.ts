import assert from 'node:assert/strict';
import { test } from 'node:test';
import { coercePool } from '../../../../src/nodepool/spec/coerce.ts';
import { validatePool } from '../../../../src/nodepool/spec/validation.ts';
import type { NodePool } from '../../../../src/nodepool/types.ts';
import { aPool } from '../fixtures.ts';

const read = (spec: unknown, status?: unknown) =>
  coercePool({ ...aPool(), spec, ...(status === undefined ? {} : { status }) } as NodePool);

test('returns a pool with valid types unchanged', () => {
  const pool = aPool(
    { labels: { a: 'b' }, taints: [{ key: 'k', effect: 'NoSchedule' }], handler: 'runc', nodeSelector: { x: '' } },
    { status: { status: 200, nodeCount: 1, allocatable: { cpu: '4' }, conditions: [] } },
  );
  assert.deepEqual(coercePool(pool), pool);
});

const CASES: [spec: unknown, sound: unknown, errors: string[]][] = [
  [undefined, {}, []],
  [null, {}, []],
  ['x', {}, ['spec: expected a map of fields, found "x"']],
  [[], {}, ['spec: expected a map of fields, found a list']],
  [{ labels: null, taints: null, later: 1 }, {}, []],
  [
    { labels: { a: 'b', c: 5, d: null } },
    { labels: { a: 'b' } },
    ['spec.labels[c]: expected a string, found the number 5', 'spec.labels[d]: expected a string, found nothing'],
  ],
  [{ labels: 'abc' }, {}, ['spec.labels: expected a map, found "abc"']],
  [{ taints: 'abc' }, {}, ['spec.taints: expected a list, found "abc"']],
  [
    { taints: [null, { key: 'k', effect: 'NoExecute' }, { key: 5, effect: 'NoExecute' }, {}] },
    { taints: [{ key: 'k', effect: 'NoExecute' }] },
    [
      'spec.taints[0]: expected a map of fields, found nothing',
      'spec.taints[2].key: expected a string, found the number 5',
      'spec.taints[3].key: missing',
      'spec.taints[3].effect: missing',
    ],
  ],
  [
    { handler: {}, unmanaged: 3 },
    {},
    ['spec.handler: expected a string, found a map', 'spec.unmanaged: expected a string, found the number 3'],
  ],
];

test('drops spec fields of another type, and reports them as errors of the pool', () => {
  for (const [spec, sound, errors] of CASES) {
    const pool = read(spec);
    assert.deepEqual(pool.spec, sound, JSON.stringify(spec));
    assert.deepEqual(
      validatePool(pool).map(({ field, message }) => `${field}: ${message}`),
      errors,
    );
    assert.equal('unreadable' in pool, errors.length > 0);
  }
});

test('keeps a key that is special in JavaScript', () => {
  const labels = JSON.parse('{"__proto__": "a", "constructor": "b"}');
  assert.deepEqual(Object.entries(read({ labels }).spec.labels ?? {}), [
    ['__proto__', 'a'],
    ['constructor', 'b'],
  ]);
});

test('ignores the default status of the CRD, and its generation beside old status fields', () => {
  assert.equal(read({}, { observedGeneration: -1 }).status, undefined);
  assert.deepEqual(read({}, { observedGeneration: -1, status: 200, nodeCount: 1 }).status, {
    status: 200,
    nodeCount: 1,
  });
});

test('reads stops of rollouts, and drops those of another type', () => {
  const stop = { rollout: '0123456789', time: '2026-05-01T12:00:00Z', nodes: ['a'] };
  const stopsOf = (stoppedRollouts: unknown) =>
    read({}, { status: 200, nodeCount: 1, stoppedRollouts }).status?.stoppedRollouts ?? [];
  assert.deepEqual(stopsOf([stop, null, 7, { rollout: 'x' }, { ...stop, nodes: 'a' }]).slice(0, 1), [stop]);
  for (const wrong of [null, 7, {}, 'x', [null]]) assert.deepEqual(stopsOf(wrong), [], JSON.stringify(wrong));
});

test('corrects a status without marking the pool invalid', () => {
  const time = '2026-01-01T00:00:00Z';
  const good = { type: 'Other', status: 'True', reason: 'R', message: 'm', lastTransitionTime: time };
  const conditions = [
    null,
    'x',
    good,
    { type: 'Other', status: 'False' },
    { type: 'NoStatus' },
    { type: 'Odd', status: 'Perhaps' },
    { type: 'Untimely', status: 'False', lastTransitionTime: 'soon' },
  ];
  const pool = read({}, { status: '200', nodeCount: 1, allocatable: { cpu: 4, memory: '1Kii', pods: {} }, conditions });
  assert.deepEqual(pool.status, {
    nodeCount: 1,
    allocatable: { cpu: '4', memory: '1Kii' },
    conditions: [good, { type: 'Untimely', status: 'False' }],
  });
  assert.deepEqual(validatePool(pool), []);
  assert.deepEqual(read({}, { conditions: 'x', allocatable: 5 }).status, {});
  for (const status of ['x', 5, [], null]) assert.equal(read({}, status).status, undefined);
});
