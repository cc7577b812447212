import assert from 'node:assert/strict';
import { test } from 'node:test';
import { displayQuantity, isPositive } from '../../../src/print/quantity.ts';

const VECTORS: [resource: string, quantity: string, want: string][] = [
  ['cpu', '8', '8'],
  ['cpu', '15820m', '15.82'],
  ['cpu', '500m', '0.5'],
  ['cpu', '1001m', '1'],
  ['cpu', '12k', '12000'],
  ['pods', '220', '220'],
  ['memory', '6129040Ki', '5.8Gi'],
  ['memory', '1258291Mi', '1.2Ti'],
  ['memory', '64Gi', '64Gi'],
  ['memory', '1048560Ki', '1Gi'],
  ['memory', '512', '512'],
  ['memory', '0', '0'],
  ['memory', '9223372036854775807', '8Ei'],
  ['ephemeral-storage', '184026512Ki', '175.5Gi'],
  ['hugepages-2Mi', '4Mi', '4Mi'],
  ['nvidia.com/gpu', '8', '8'],
  ['cpu', 'lots', 'lots'],
  ['cpu', '10e399', '10e399'],
  ['cpu', '9999999999999999999999999999E', '9999999999999999999999999999E'],
  ['memory', '9999999999999999999999999999E', '9999999999999999999999999999E'],
  ['cpu', '999E', '999000000000000000000'],
];

test('prints quantities for people', () => {
  for (const [resource, quantity, want] of VECTORS) {
    assert.equal(displayQuantity(resource, quantity), want, `${resource} ${quantity}`);
  }
});

test('prints values above zero', () => {
  assert.deepEqual(['0', '0Ki', '1m', '8', 'lots'].map(isPositive), [false, false, true, true, false]);
});
