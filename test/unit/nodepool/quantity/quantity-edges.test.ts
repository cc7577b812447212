/** Limits of quantities, and terms that the fast path for plain counts leaves to the parser. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  addInAnyOrder,
  addResourceLists,
  parseQuantity,
  sumResourceLists,
} from '../../../../src/nodepool/quantity/quantity.ts';
import { sumOf } from './sum-of.ts';

const sums: [string[], string][] = [
  [['-1Ki'], '-1Ki'],
  [['-1023'], '-1023'],
  [['1e+3'], '1e3'],
  [['.e-9'], '0'],
  [['m'], '0'],
  [['007', '010'], '17'],
  [['007m', '993m'], '1'],
  [['0.000000000000', '1'], '1'],
  [['0.0000000001', '1n'], '2n'],
  [['1e9223372036854775807'], '100e-3'],
  [['1e-9223372036854775808'], '1'],
];
for (const [terms, want] of sums) {
  test(`the sum of ${JSON.stringify(terms)} is ${want}`, () => assert.equal(sumOf(terms), want));
}

test('accepts at most 500 digits before the point and 512 characters', () => {
  assert.equal(sumOf(['1e499']), '10e498');
  assert.throws(() => sumOf(['1e500']), /at most 500 digits/);
  assert.equal(sumOf(['0'.repeat(512)]), '0');
});

const fail = (_place: number, problem: string) => assert.fail(problem);

test('refuses an exponent beyond int64 or after another suffix', () => {
  for (const text of ['1e9223372036854775808', '1e-9223372036854775809', '1ke5', '1em', '1mm']) {
    assert.throws(() => sumOf([text]), /: unable to parse quantity's suffix$/);
  }
});

test('formats values from 1 on and 0 with binary suffixes', () => {
  const format = (text: string) => parseQuantity(text).format;
  assert.deepEqual(['0Ki', '0.0009765625Ki', '1Ki', '-1Ki'].map(format), new Array(4).fill('BinarySI'));
  assert.deepEqual(['0.0009Ki', '5', '5m', '5e3'].map(format), [
    'DecimalSI',
    'DecimalSI',
    'DecimalSI',
    'DecimalExponent',
  ]);
});

test('sums only the requested resources', () => {
  const lists = [{ cpu: '1', memory: '1Ki' }, { cpu: '2', pods: 'no number' }, {}];
  assert.deepEqual(
    addResourceLists(lists, fail, ['cpu', 'nvidia.com/gpu', 'constructor']),
    new Map([['cpu', parseQuantity('3')]]),
  );
});

test('refuses an empty text, also as the first term', () => {
  const reported: string[] = [];
  const lists = [{ cpu: '' }, { cpu: '1' }];
  assert.deepEqual(
    sumResourceLists(lists, (_place, problem) => reported.push(problem)),
    { cpu: '1' },
  );
  assert.match(reported.join(), /^allocatable cpu "": quantities must match the regular expression '/);
});

test('throws for a value that is not text, as that is a bug', () => {
  assert.throws(() => sumResourceLists([{ cpu: 5 as unknown as string }], fail), TypeError);
});

test('chooses the format of a sum in either order, ignoring zero', () => {
  for (const [a, b, format] of [
    ['1Ki', '1', 'BinarySI'],
    ['1Ki', '1e3', 'BinarySI'],
    ['1', '1e3', 'DecimalSI'],
    ['1e3', '1e3', 'DecimalExponent'],
    ['1Ki', '1Ki', 'BinarySI'],
    ['0Ki', '1', 'DecimalSI'],
    ['0Ki', '1e3', 'DecimalExponent'],
    ['0', '1Ki', 'BinarySI'],
  ] as const) {
    const [left, right] = [parseQuantity(a), parseQuantity(b)];
    assert.equal(addInAnyOrder(left, right).format, format, `${a} + ${b}`);
    assert.equal(addInAnyOrder(right, left).format, format, `${b} + ${a}`);
  }
});

test('returns "0" for an empty sum', () => {
  const sums = addResourceLists([{ cpu: 'x' }], () => {});
  assert.deepEqual(sums.get('cpu'), { unscaled: 0n, exponent: 0, format: 'DecimalSI' });
});
