import assert from 'node:assert/strict';
import { sumResourceLists } from '../../../../src/nodepool/quantity/quantity.ts';

/** The sum of the quantities in canonical form. Throws AssertionError with the problem of an invalid one. */
export function sumOf(texts: readonly string[]): string {
  const lists = texts.map(cpu => ({ cpu }));
  return sumResourceLists(lists, (_place, problem) => assert.fail(problem)).cpu ?? '0';
}
