import assert from 'node:assert/strict';
import { test } from 'node:test';
import { quantityReader, subtractToZero } from '../../../../src/nodepool/quantity/amounts.ts';
import { formatQuantity, parseQuantity, QuantityError } from '../../../../src/nodepool/quantity/quantity.ts';

const left = (a: string, b: string) => formatQuantity(subtractToZero(parseQuantity(a), parseQuantity(b)));

test('subtracts in the format of the first amount, and not below zero', () => {
  assert.equal(left('4', '1500m'), '2500m');
  assert.equal(left('3064520Ki', '1Gi'), '2015944Ki');
  assert.equal(left('3064520Ki', '1'), '3138068479');
  assert.equal(left('1', '1'), '0');
  assert.equal(left('1', '1001m'), '0');
  assert.equal(left('0', '0'), '0');
  assert.equal(left('1n', '0'), '1n');
});

test('parses each text once, and refuses an invalid one every time', () => {
  const read = quantityReader();
  assert.equal(read('100m'), read('100m'));
  for (let count = 0; count < 2; count++) assert.throws(() => read('many'), QuantityError);
});
