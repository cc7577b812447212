/** Quantities compared with integer arithmetic in nanos, and any text. */
import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  addQuantities,
  compareQuantities,
  formatQuantity,
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityToNumber,
  simpleNumber,
  sumResourceLists,
} from '../../../src/nodepool/quantity/quantity.ts';
import { MEASURES, ResourceTotals } from '../../../src/nodepool/quantity/resource-usage.ts';
import { computeStatus } from '../../../src/nodepool/status/status.ts';
import { aNode, aPool, EMPTY_OBSERVATION } from '../nodepool/fixtures.ts';
import { sumOf } from '../nodepool/quantity/sum-of.ts';
import { property, throwsOnly, unit, wordsOf } from './property.ts';

const BINARY = ['Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];
const DECIMAL = ['n', 'u', 'm', '', 'k', 'M', 'G', 'T', 'P', 'E'];
const NANOS = 10n ** 9n;
const MAX_VALUE = (2n ** 63n - 1n) * NANOS;

interface Written {
  sign: string;
  integer: string;
  fraction: string;
  suffix: string;
}

const written: fc.Arbitrary<Written> = fc.record({
  sign: fc.constantFrom('', '', '+', '-'),
  integer: fc.nat({ max: 1_000_000_000 }).chain(n => fc.constantFrom(`${n}`, `00${n}`, `${n}`.repeat(3))),
  fraction: fc.oneof(fc.constant(''), fc.string({ unit: fc.constantFrom(...'0123456789'), maxLength: 14 })),
  suffix: fc.oneof(
    fc.constantFrom(...DECIMAL, ...BINARY),
    fc.integer({ min: -20, max: 20 }).map(power => `e${power}`),
  ),
});

const textOf = ({ sign, integer, fraction, suffix }: Written) =>
  `${sign}${integer}${fraction === '' ? '' : `.${fraction}`}${suffix}`;

/** As in Go: rounds away from zero to whole nanos, and caps binary ones at int64. */
function nanosOf({ sign, integer, fraction, suffix }: Written): bigint {
  const isBinary = BINARY.includes(suffix);
  const power = suffix.startsWith('e') ? Number(suffix.slice(1)) : (DECIMAL.indexOf(suffix) - 3) * 3;
  const tens = 9 - fraction.length + (isBinary ? 0 : power);
  const digits = BigInt(integer + fraction) * (isBinary ? 1024n ** BigInt(BINARY.indexOf(suffix) + 1) : 1n);
  const divisor = tens < 0 ? 10n ** BigInt(-tens) : 1n;
  const nanos = tens < 0 ? (digits + divisor - 1n) / divisor : digits * 10n ** BigInt(tens);
  const capped = isBinary && nanos > MAX_VALUE ? MAX_VALUE : nanos;
  return sign === '-' ? -capped : capped;
}

const worthOf = ({ unscaled, exponent }: Quantity) => unscaled * 10n ** BigInt(exponent + 9);

property(
  'small integers have the same number as exact arithmetic',
  fc.property(
    fc.nat({ max: 10 ** 12 }),
    fc.constantFrom('', '0', '000'),
    fc.constantFrom('', 'm', 'Ki'),
    (n, zeros, suffix) => {
      const text = `${n}${zeros}${suffix}`;
      assert.equal(simpleNumber(text), quantityToNumber(parseQuantity(text)));
    },
  ),
);

property(
  'any other text has the number of exact arithmetic, or needs the full parser',
  fc.property(written, one => {
    const [text, simple] = [textOf(one), simpleNumber(textOf(one))];
    if (simple !== undefined) assert.equal(simple, quantityToNumber(parseQuantity(text)));
  }),
);

property(
  'sums small integers of one suffix to the same text as exact arithmetic does',
  fc.property(
    fc.array(
      fc.nat({ max: 999_999_999_999_999 }).map(n => n - (n % 1000 ** (n % 5))),
      { minLength: 1, maxLength: 4 },
    ),
    fc.constantFrom('', 'm', 'Ki'),
    (counts, suffix) => {
      const exact = counts.map(n => parseQuantity(`${n}${suffix}`)).reduce(addQuantities);
      assert.equal(sumOf(counts.map(n => `${n}${suffix}`)), formatQuantity(exact));
    },
  ),
);

property(
  'parses a quantity to the value of its text',
  fc.property(written, one => {
    assert.equal(worthOf(parseQuantity(textOf(one))), nanosOf(one));
  }),
);

property(
  'reads a formatted quantity as the same value, and formats it the same',
  fc.property(written, one => {
    const text = formatQuantity(parseQuantity(textOf(one)));
    assert.equal(worthOf(parseQuantity(text)), nanosOf(one));
    assert.equal(formatQuantity(parseQuantity(text)), text);
  }),
);

property(
  'sums and compares exactly',
  fc.property(fc.array(written, { minLength: 1, maxLength: 8 }), terms => {
    const expected = terms.map(nanosOf).reduce((a, b) => a + b);
    assert.equal(worthOf(terms.map(textOf).map(parseQuantity).reduce(addQuantities)), expected);
    // Go formats a larger sum with a binary suffix, and parses that as the largest int64.
    if (expected <= MAX_VALUE && expected >= -MAX_VALUE) {
      assert.equal(worthOf(parseQuantity(sumOf(terms.map(textOf)))), expected);
    }
    const [first, last] = [terms[0], terms.at(-1)].map(
      one => one ?? { sign: '', integer: '0', fraction: '', suffix: '' },
    );
    if (first === undefined || last === undefined) return;
    const [a, b] = [nanosOf(first), nanosOf(last)];
    const order = compareQuantities(parseQuantity(textOf(first)), parseQuantity(textOf(last)));
    assert.equal(Math.sign(order), a < b ? -1 : a > b ? 1 : 0);
  }),
);

const shuffled = fc
  .array(
    written.map(one => textOf({ ...one, sign: '' })),
    { minLength: 1, maxLength: 8 },
  )
  .chain(terms => fc.tuple(fc.constant(terms), fc.shuffledSubarray(terms, { minLength: terms.length })));

property(
  'formats the sum of nodes the same in any order',
  fc.property(shuffled, ([terms, others]) => {
    const nodes = (texts: string[]) => texts.map((x, at) => aNode({ name: `n${at}`, allocatable: { x } }));
    const statusOf = (texts: string[]) =>
      computeStatus(aPool(), { ...EMPTY_OBSERVATION, members: nodes(texts) }, '2026-03-01T00:00:00Z');
    assert.deepEqual(statusOf(terms), statusOf(others));
    const tallyOf = (texts: string[]) => {
      const [whole, half, one] = [0, 1, 2].map(() => new ResourceTotals(['x'], true));
      if (whole === undefined || half === undefined || one === undefined) return assert.fail();
      const reading = { read: parseQuantity, onProblem: (problem: string) => assert.fail(problem) };
      const load = { pods: 1, requests: new Map([['x', parseQuantity('1')]]), limits: new Map() };
      for (const node of nodes(texts)) {
        one.add({ node, load, used: node.allocatable }, reading);
        if (node.name < 'n4') half.add({ node, load, used: undefined }, reading);
        else whole.add({ node, load, used: undefined }, reading);
      }
      whole.addAll(half);
      const figures = [one, whole].map(tally => tally.figures.get('x') ?? assert.fail());
      return figures.map(its => MEASURES.map(measure => its[measure] && formatQuantity(its[measure])));
    };
    assert.deepEqual(tallyOf(terms), tallyOf(others));
  }),
);

const anyText = fc.oneof(
  fc.string({ unit }),
  wordsOf(
    ['0', '1', '9'.repeat(200), '.', '+', '-', 'e', 'E', 'i', 'K', 'Ki', 'm', '0'.repeat(300), 'e999999999999'],
    8,
  ),
);

property(
  'parses any text as a quantity, or throws a QuantityError',
  fc.property(anyText, text => {
    throwsOnly([QuantityError], () => formatQuantity(parseQuantity(text)));
    sumResourceLists([{ cpu: text }, { cpu: '1Ki' }, { cpu: text }], () => {});
  }),
);
