import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { ZERO } from '../../../../src/nodepool/quantity/amounts.ts';
import {
  addQuantities,
  addResourceLists,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  QuantityError,
  quantityToNumber,
  sumResourceLists,
} from '../../../../src/nodepool/quantity/quantity.ts';
import { ALLOCATABLE, ALLOCATABLE_OF_TWO } from '../../../allocatable.ts';
import { sumOf } from './sum-of.ts';

interface Vector {
  sum: string[];
  want?: string;
  error?: string;
}

/** Made with k8s.io/apimachinery: the terms added one after the other to the zero Quantity. */
const vectors = JSON.parse(
  readFileSync(new URL('../../data/quantity-vectors.json', import.meta.url), 'utf8'),
) as readonly Vector[];

test('equals the Go library for all vectors', () => {
  assert.equal(vectors.length, 1539);
  for (const { sum, want, error } of vectors) {
    assert.deepEqual(outcome(sum), want === undefined ? { error } : { want }, `the sum of ${JSON.stringify(sum)}`);
  }
});

function outcome(sum: string[]): Omit<Vector, 'sum'> {
  try {
    return { want: formatQuantity(sum.map(parseQuantity).reduce(addQuantities, ZERO)) };
  } catch (error) {
    assert.ok(error instanceof QuantityError);
    return { error: error.message };
  }
}

test('sums lists to the values of the Go library for all vectors', () => {
  for (const { sum, want, error } of vectors) {
    const lists = sum.map(cpu => ({ cpu }));
    const problems: string[] = [];
    const total = addResourceLists(lists, (_place, problem) => problems.push(problem)).get('cpu') ?? ZERO;
    if (want === undefined) assert.ok(error !== undefined && problems[0]?.endsWith(error), `${problems}`);
    else {
      assert.equal(compareQuantities(total, sum.map(parseQuantity).reduce(addQuantities, ZERO)), 0, `${sum}`);
      assert.equal(sumOf(sum), formatQuantity(total), `${sum}`);
    }
  }
});

// Each of these was compared with the Go library too; the vectors have none like them.
const oddities: [string[], string][] = [
  [['-'], '0'],
  [['Ki'], '0'],
  [['0Ki', '5'], '5'],
  [['5', '0Ki'], '5'],
  [['-1', '1', '1Ki'], '1Ki'],
  [['1e4294967299'], '1e3'],
  [['1e-999999999'], '1e-9'],
  [['-0.0000000001'], '-1n'],
  [['9Pi'], '9Pi'],
  [['16Ei'], '9223372036854775807'],
  [['-16Ei'], '-9223372036854775807'],
  [['0.5Ki'], '512'],
  [['1.0001Ki'], '1024102400u'],
  [['1024Ki'], '1Mi'],
  [['0.9765625Ki'], '1k'],
  [['-0.9765625Ki'], '-1k'],
  [['0.00048828125Ki', '1023.5'], '1024'],
  [['1023.5', '0.00048828125Ki'], '1024'],
  [['1.5Ki', '-511.5', '-0.5'], '1Ki'],
  [['1023'], '1023'],
  [['100', '1000'], '1100'],
  [['500m', '500m'], '1'],
  [['999999999999999', '999999999999999'], '1999999999999998'],
];
for (const [sum, want] of oddities) {
  test(`the sum of ${JSON.stringify(sum)} is ${want}`, () => assert.equal(sumOf(sum), want));
}

test('keeps values beyond the largest suffix, where Go drops the exponent', () => {
  assert.equal(sumOf(['999E', '1E']), '1000E');
});

test('refuses a number without digits where Go needs more than an int64', () => {
  for (const text of ['Pi', '.e-10']) assert.throws(() => sumOf([text]), /numeric part/);
});

test('refuses a number that would exhaust memory', () => {
  for (const text of ['1e999999999', '1e501', '0.1e501', `1${'0'.repeat(500)}`, `1${'0'.repeat(490)}E`]) {
    assert.throws(() => sumOf([text, '1']), /: quantities have at most 500 digits/, text);
  }
  assert.throws(() => parseQuantity('0'.repeat(513)), /^QuantityError: quantities have at most 512 characters$/);
});

test('is exact beyond the precision of a double', () => {
  const terms = Array.from({ length: 20 }, () => '999999999999999Ki');
  assert.equal(sumOf(terms), '19999999999999980Ki');
  assert.equal(sumOf(['999999999999999m', ...Array<string>(10).fill('999999999999999m')]), '10999999999999989m');
});

test('sums counts with one suffix as Go does by adding them one by one', () => {
  for (const suffix of ['', 'm', 'Ki']) {
    const terms = Array.from({ length: 60 }, (_, index) => `${index === 0 ? 0 : 7 ** (index % 17)}${suffix}`);
    const oneByOne = terms.map(parseQuantity).reduce(addQuantities);
    assert.equal(sumOf(terms), formatQuantity(oneByOne));
    assert.equal(sumOf([...terms, '1.5']), formatQuantity(addQuantities(oneByOne, parseQuantity('1.5'))));
  }
});

test('chooses the format of a node sum in any order, ignoring zeros', () => {
  const orders = [
    ['1Gi', '1G', '0'],
    ['0', '1G', '1Gi'],
    ['1G', '0', '1Gi'],
  ];
  const sums = orders.map(
    order =>
      sumResourceLists(
        order.map(memory => ({ memory })),
        fail,
      ).memory,
  );
  assert.deepEqual([...new Set(sums)], ['2073741824']);
  const kibi = [
    ['1Ki', '1024'],
    ['1024', '1Ki'],
  ].map(
    order =>
      sumResourceLists(
        order.map(x => ({ x })),
        fail,
      ).x,
  );
  assert.deepEqual(kibi, ['2Ki', '2Ki']);
  const exponent = [
    ['1e3', '1k'],
    ['1k', '1e3'],
  ].map(
    order =>
      sumResourceLists(
        order.map(x => ({ x })),
        fail,
      ).x,
  );
  assert.deepEqual(exponent, ['2k', '2k']);
});

test('compares by value in any format', () => {
  const order = ['-1Ki', '-1', '0', '1n', '999m', '1', '1001m', '1k', '1Ki', '1e4', '1E', '1Ei'];
  for (const [left, a] of order.entries()) {
    for (const [right, b] of order.entries()) {
      const expected = Math.sign(left - right);
      assert.equal(compareQuantities(parseQuantity(a), parseQuantity(b)), expected, `${a} against ${b}`);
    }
  }
  assert.equal(compareQuantities(parseQuantity('1Gi'), parseQuantity('1073741824000m')), 0);
});

test('converts to a number for bars', () => {
  assert.equal(quantityToNumber(parseQuantity('15820m')), 15.82);
  assert.equal(quantityToNumber(parseQuantity('6129040Ki')), 6129040 * 1024);
  assert.equal(quantityToNumber(parseQuantity('-1e3')), -1000);
  assert.equal(quantityToNumber(parseQuantity('0')), 0);
});

const fail = (_place: number, problem: string) => assert.fail(problem);

test('sums resource lists by resource', () => {
  assert.deepEqual(sumResourceLists([ALLOCATABLE, ALLOCATABLE], fail), ALLOCATABLE_OF_TWO);
  assert.deepEqual(sumResourceLists([{ cpu: '1' }, { 'nvidia.com/gpu': '8' }, {}], fail), {
    cpu: '1',
    'nvidia.com/gpu': '8',
  });
  assert.deepEqual(sumResourceLists([], fail), {});
});

test('drops values that are not quantities, and reports resource and value', () => {
  const reported: [number, string][] = [];
  const lists = [{ cpu: '1' }, { cpu: '1Kii', pods: '5' }, { cpu: '2' }, { cpu: '1e20000' }];
  assert.deepEqual(
    sumResourceLists(lists, (place, problem) => reported.push([place, problem])),
    { cpu: '3', pods: '5' },
  );
  assert.deepEqual(reported, [
    [1, `allocatable cpu "1Kii": unable to parse quantity's suffix`],
    [3, 'allocatable cpu "1e20000": quantities have at most 500 digits before the point'],
  ]);
});
