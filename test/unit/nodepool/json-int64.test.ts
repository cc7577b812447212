import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseInt64 } from '../../../src/nodepool/json.ts';

test('reads 64-bit integers as strconv.ParseInt of Go does', () => {
  const cases: [text: string, value: bigint | undefined][] = [
    ['0', 0n],
    ['-0', 0n],
    ['+7', 7n],
    [`-${'0'.repeat(30)}7`, -7n],
    ['0'.repeat(30), 0n],
    ['9223372036854775807', 2n ** 63n - 1n],
    ['-9223372036854775808', -(2n ** 63n)],
    ['9223372036854775808', undefined],
    ['-9223372036854775809', undefined],
    ['9'.repeat(1_000_000), undefined],
    ['', undefined],
    ['+', undefined],
    ['1_000', undefined],
    ['0x1', undefined],
    [' 1', undefined],
    ['1.0', undefined],
  ];
  for (const [text, value] of cases) assert.equal(parseInt64(text), value, text.slice(0, 40));
});
