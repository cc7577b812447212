import assert from 'node:assert/strict';
import { test } from 'node:test';
import { compareVersions, isOlder } from '../../../src/controller/resource-version.ts';

/** Pairs with the sign of their order; undefined: not comparable. */
const CASES: [a: string, b: string, sign: number | undefined][] = [
  ['1', '1', 0],
  ['1', '2', -1],
  ['9', '10', -1],
  ['10', '9', 1],
  ['99', '100', -1],
  // 64-bit neighbours that a double cannot distinguish.
  ['18446744073709551614', '18446744073709551615', -1],
  ['9007199254740993', '9007199254740992', 1],
  ['9007199254740993', '9007199254740993', 0],
  // 0 means "any"; Kubernetes guarantees no order for the others.
  ['0', '1', undefined],
  ['1', '0', undefined],
  ['01', '1', undefined],
  ['+1', '2', undefined],
  ['-1', '1', undefined],
  ['1.5', '2', undefined],
  ['1e3', '2', undefined],
  [' 1', '2', undefined],
  ['1\n', '2', undefined],
  ['abc', '1', undefined],
  ['abc', 'abc', undefined],
  ['', '1', undefined],
  ['1', '', undefined],
];

test('compares only numeric resourceVersions, of any length', () => {
  for (const [a, b, sign] of CASES) {
    const order = compareVersions(a, b);
    assert.equal(order === undefined ? undefined : Math.sign(order), sign, JSON.stringify([a, b]));
    const back = compareVersions(b, a);
    assert.equal(back === undefined ? undefined : -Math.sign(back) + 0, sign, JSON.stringify([b, a]));
  }
});

test('isOlder is true only for comparable versions', () => {
  for (const [a, b, sign] of CASES) assert.equal(isOlder(a, b), sign === -1, JSON.stringify([a, b]));
});
