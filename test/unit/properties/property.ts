/**
 * A property as a test: with a fixed seed in `npm test`, with others in `npm run fuzz`, which sets the variables. On
 * failure it prints the smallest example and the command that repeats it.
 */
import { test } from 'node:test';
import fc from 'fast-check';

const { NODEPOOL_FUZZ_SEED, NODEPOOL_FUZZ_TIMES, NODEPOOL_FUZZ_PATH } = process.env;
const seed = Number(NODEPOOL_FUZZ_SEED ?? 1);

/** A property only computes: the limit ends one that never ends, also on a machine with much else to do. */
const TIMEOUT_MS = 600_000;

/** @param runs examples in `npm test`; `npm run fuzz` tries many times as many */
export function property(name: string, checked: fc.IProperty<unknown> | fc.IAsyncProperty<unknown>, runs = 100): void {
  test(name, { timeout: TIMEOUT_MS }, async () => {
    const numRuns = runs * Number(NODEPOOL_FUZZ_TIMES ?? 1);
    const path = NODEPOOL_FUZZ_PATH === undefined ? {} : { path: NODEPOOL_FUZZ_PATH };
    const found = await fc.check(checked as fc.IAsyncProperty<unknown>, { seed, numRuns, ...path });
    if (!found.failed) return;
    const again = `npm run fuzz -- --seed ${seed} --path ${found.counterexamplePath} --property ${JSON.stringify(name)}`;
    throw new Error(`${fc.defaultReportMessage(found)}\n\nrepeat it: ${again}`, { cause: found.errorInstance });
  });
}

/** Fails when it throws anything but these. */
export function throwsOnly(types: readonly (new (...given: never[]) => Error)[], run: () => unknown): void {
  try {
    run();
  } catch (error) {
    if (!types.some(type => error instanceof type)) throw error;
  }
}

/** The first surrogate, and their number. */
const [SURROGATES, SURROGATE_COUNT] = [0xd800, 0x800];

/** As `unit: 'binary'` of fast-check, whose inverse needs 2 s to build a map of Unicode. */
export const unit: fc.Arbitrary<string> = fc.integer({ min: 0, max: 0x10ffff - SURROGATE_COUNT }).map(
  index => String.fromCodePoint(index < SURROGATES ? index : index + SURROGATE_COUNT),
  text => {
    if (typeof text !== 'string' || !/^[^\ud800-\udfff]$/u.test(text)) throw new TypeError('not a character');
    const code = text.codePointAt(0) ?? 0;
    return code < SURROGATES ? code : code - SURROGATE_COUNT;
  },
);

/** Words of a language in any order with any text between, for texts that are almost valid. */
export function wordsOf(words: readonly string[], maxLength = 40): fc.Arbitrary<string> {
  const any = fc.string({ unit, maxLength: 4 });
  return fc
    .array(fc.oneof({ weight: 6, arbitrary: fc.constantFrom(...words) }, { weight: 1, arbitrary: any }), { maxLength })
    .map(parts => parts.join(''));
}

/** Characters that terminals, YAML and spreadsheets interpret, and any others. */
export const hostileText: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit }),
  fc.string({ unit: 'binary-ascii' }),
  wordsOf([
    '\u001b[31m',
    '\u0007',
    '\n',
    '\r',
    '\t',
    '"',
    "'",
    ',',
    ': ',
    ' #',
    '- ',
    '\u202e',
    '\u200d',
    '\ufe0f',
    '\u2028',
    '=',
    '\u{1f600}',
    '\u0085',
    ' ',
    'a',
    '1',
    '0x',
    '\ud800',
    '~',
    '|',
    '<<',
  ]),
);

/** Cuts the bytes at these places, each a share of the rest. */
export function cutAt(bytes: Buffer, places: readonly number[]): Buffer[] {
  const pieces: Buffer[] = [];
  let rest = bytes;
  for (const place of places) {
    const length = Math.floor(place * rest.length);
    pieces.push(rest.subarray(0, length));
    rest = rest.subarray(length);
  }
  return [...pieces, rest];
}

export const places = fc.array(fc.double({ min: 0, max: 0.999, noNaN: true }), { maxLength: 8 });
