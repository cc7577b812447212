import assert from 'node:assert/strict';
import { test } from 'node:test';
import { poolOrder } from '../../../../../src/commands/shared/pools/sort-pools.ts';
import type { RawPool } from '../../../../../src/kube/cluster.ts';

/** Pools `a`, `b`, … with this as `spec.x`; undefined is none. */
function sorted(path: string, ...values: unknown[]): string {
  const pools = values.map((x, index) => {
    const name = String.fromCharCode('a'.charCodeAt(0) + index);
    return { metadata: { name }, spec: x === undefined ? {} : { x } } as unknown as RawPool;
  });
  return poolOrder(path)(pools)
    .map(({ metadata }) => metadata.name)
    .join('');
}

test('sorts by numbers, text, times and quantities', () => {
  assert.equal(sorted('.spec.x', 10, 9, 100), 'bac');
  assert.equal(sorted('.spec.x', 'b', 'c', 'a'), 'cab');
  assert.equal(sorted('.spec.x', '2026-11-21T08:00:00Z', '2026-01-21T08:00:00Z'), 'ba');
  assert.equal(sorted('.spec.x', '2Gi', '900Mi', '1', '1500m', '1e3'), 'cdeba');
  // Text beside a quantity is text.
  assert.equal(sorted('.spec.x', '10', '9x', '9'), 'cab');
});

test('accepts the path with and without dot and braces', () => {
  for (const path of ['spec.x', '.spec.x', '{spec.x}', '{.spec.x}']) assert.equal(sorted(path, 2, 1), 'ba', path);
});

test('keeps the order of equal values, and sorts missing values first as kubectl does', () => {
  assert.equal(sorted('.spec.x', 1, 1, 0, 1), 'cabd');
  assert.equal(sorted('.spec.x', undefined, 2, undefined, 1), 'cadb');
  assert.equal(sorted('.spec.x', 'a', null, null), 'bca');
});

test('sorts by the first of several values', () => {
  assert.equal(sorted('.spec.x[*]', [3, 1], [2, 9]), 'ba');
});

test('reports values that cannot be sorted', () => {
  const refuses = (message: RegExp, path: string, ...values: unknown[]) =>
    assert.throws(() => sorted(path, ...values), { name: 'NodepoolError', kind: 'input', message });
  refuses(/^--sort-by \.nope: couldn't find any field with path "\{\.nope\}" in the list of objects$/, '.nope', 1, 2);
  refuses(/^--sort-by \.spec\.x: unsortable type: bool$/, '.spec.x', true, false);
  refuses(/unsortable type: map\[string\]interface \{\}$/, '.spec.x', {}, {});
  refuses(/cannot compare (int64 with string|string with int64)$/, '.spec.x', 1, 'a');
  refuses(/^--sort-by \{\.a: unexpected path string/, '{.a', 1);
  refuses(/^--sort-by \.spec\.x\[0\]: array index out of bounds: index 0, length 0$/, '.spec.x[0]', [], [1]);
  assert.equal(sorted('.nope'), '');
});
