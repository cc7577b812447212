/**
 * Exact Kubernetes quantities ("7910m", "6129040Ki"), with the same results as Go's resource.Quantity. One difference:
 * Go prints 1000E as "1" because it has no larger suffix; here it stays "1000E".
 */
import { MAX_INT64, ownValue, parseInt64, setOwn } from '../json.ts';
import { ellipsize } from '../text.ts';
import type { ResourceList } from '../types.ts';

type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

/** The value is `unscaled * 10 ** exponent`, exactly. */
export interface Quantity {
  unscaled: bigint;
  exponent: number;
  format: QuantityFormat;
}

export class QuantityError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'QuantityError';
  }
}

const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['n', -9],
  ['u', -6],
  ['m', -3],
  ['', 0],
  ['k', 3],
  ['M', 6],
  ['G', 9],
  ['T', 12],
  ['P', 15],
  ['E', 18],
]);
/** Powers of two. */
const BINARY_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);

const BINARY_NAMES = [...BINARY_SUFFIXES.keys()];
const DECIMAL_NAMES_FROM_MILLI = [...DECIMAL_SUFFIXES.keys()].slice(2);

/** a + b as Go's Add: in the format of a, or of b if a is zero. */
export function addQuantities(a: Quantity, b: Quantity): Quantity {
  const format = a.unscaled === 0n ? b.format : a.format;
  if (b.unscaled === 0n) return { unscaled: a.unscaled, exponent: a.exponent, format };
  if (a.unscaled === 0n) return { unscaled: b.unscaled, exponent: b.exponent, format };
  const exponent = Math.min(a.exponent, b.exponent);
  return { unscaled: at(a, exponent) + at(b, exponent), exponent, format };
}

/**
 * a + b in a format that does not depend on the order of the additions, if no quantity is negative: BinarySI if any
 * non-zero term has it, otherwise DecimalSI if any has it, otherwise DecimalExponent.
 */
export function addInAnyOrder(a: Quantity, b: Quantity): Quantity {
  const sum = addQuantities(a, b);
  const isEither = (format: QuantityFormat) => a.format === format || b.format === format;
  if (a.unscaled === 0n || b.unscaled === 0n || a.format === b.format) return sum;
  return { ...sum, format: isEither('BinarySI') ? 'BinarySI' : 'DecimalSI' };
}

/** Negative, zero or positive, for Array.sort. */
export function compareQuantities(a: Quantity, b: Quantity): number {
  const exponent = Math.min(a.exponent, b.exponent);
  const [left, right] = [at(a, exponent), at(b, exponent)];
  return left < right ? -1 : left > right ? 1 : 0;
}

export function formatQuantity(quantity: Quantity): string {
  if (quantity.unscaled === 0n) return '0';
  const whole = quantity.format === 'BinarySI' ? wholeValue(quantity) : undefined;
  if (whole !== undefined && (whole <= -1024n || whole >= 1024n)) return formatBinary(whole);
  return formatDecimal(quantity);
}

/** An approximation, for bars and rounded columns. */
export function quantityToNumber(quantity: Quantity): number {
  return Number(`${quantity.unscaled}e${quantity.exponent}`);
}

/** As addResourceLists(), in canonical form. */
export function sumResourceLists(
  lists: readonly ResourceList[],
  onProblem: (place: number, problem: string) => void,
): ResourceList {
  const texts: ResourceList = {};
  const [only] = lists;
  // Pools of one node need no map of sums.
  if (only !== undefined && lists.length === 1) {
    for (const name of Object.keys(only)) {
      const sum = new Sum();
      addTo(sum, name, only[name] ?? '', 0, onProblem);
      setOwn(texts, name, sum.text());
    }
    return texts;
  }
  for (const [name, sum] of sumsOf(lists, onProblem)) setOwn(texts, name, sum.text());
  return texts;
}

/** The sums by resource, in any order. Skips invalid quantities. @param onProblem gets the index and a sentence */
export function addResourceLists(
  lists: Iterable<ResourceList>,
  onProblem: (place: number, problem: string) => void,
  only?: readonly string[],
): Map<string, Quantity> {
  return new Map([...sumsOf(lists, onProblem, only)].map(([name, sum]) => [name, sum.total()]));
}

function sumsOf(
  lists: Iterable<ResourceList>,
  onProblem: (place: number, problem: string) => void,
  only?: readonly string[],
): Map<string, Sum> {
  const sums = new Map<string, Sum>();
  let place = 0;
  for (const list of lists) {
    for (const name of only ?? Object.keys(list)) {
      const text = ownValue(list, name);
      if (text === undefined) continue;
      let sum = sums.get(name);
      if (sum === undefined) {
        sum = new Sum();
        sums.set(name, sum);
      }
      addTo(sum, name, text, place, onProblem);
    }
    place += 1;
  }
  return sums;
}

type OnProblem = (place: number, problem: string) => void;

function addTo(sum: Sum, name: string, text: string, place: number, onProblem: OnProblem): void {
  try {
    sum.add(text);
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    onProblem(place, `allocatable ${name} ${quoteQuantity(text)}: ${error.message}`);
  }
}

/** A running sum. Small integers with one suffix, as nodes report them, are added as numbers while that is exact. */
class Sum {
  /** The sum as long as every term was a small integer with the same suffix. */
  #count: number | undefined;
  #suffix = '';
  /** The sum otherwise. */
  #exact: Quantity | undefined;

  add(text: string): void {
    const suffix = simpleSuffix(text);
    if (suffix !== undefined && this.#exact === undefined) {
      const count = Number.parseInt(text, 10);
      if (this.#count === undefined) {
        this.#count = count;
        this.#suffix = suffix;
        return;
      }
      const total = this.#count + count;
      if (suffix === this.#suffix && total <= Number.MAX_SAFE_INTEGER) {
        this.#count = total;
        return;
      }
    }
    const current = this.#current();
    const term = parseQuantity(text);
    this.#exact = current === undefined ? term : addInAnyOrder(current, term);
  }

  total(): Quantity {
    return this.#current() ?? { unscaled: 0n, exponent: 0, format: 'DecimalSI' };
  }

  /** The total in canonical form. */
  text(): string {
    if (this.#exact !== undefined || this.#count === undefined) return formatQuantity(this.total());
    return formatCount(this.#count, this.#suffix);
  }

  #current(): Quantity | undefined {
    if (this.#exact !== undefined) return this.#exact;
    if (this.#count === undefined) return undefined;
    const count = BigInt(this.#count);
    if (this.#suffix === 'Ki') return { unscaled: count * 1024n, exponent: 0, format: 'BinarySI' };
    return { unscaled: count, exponent: this.#suffix === 'm' ? -3 : 0, format: 'DecimalSI' };
  }
}

/** As formatQuantity(), in a tenth of the time. @param count a safe integer, not negative */
function formatCount(count: number, suffix: string): string {
  if (count === 0) return '0';
  if (suffix === 'Ki') return withSuffix(count, 1024, BINARY_NAMES, 0);
  return withSuffix(count, 1000, DECIMAL_NAMES_FROM_MILLI, suffix === 'm' ? 0 : 1);
}

/** @param place of the count's suffix in `suffixes` */
function withSuffix(count: number, base: number, suffixes: readonly string[], place: number): string {
  let mantissa = count;
  let at = place;
  for (; mantissa % base === 0 && at < suffixes.length - 1; at++) mantissa /= base;
  return `${mantissa}${suffixes[at]}`;
}

/** As quantityToNumber() of the parsed text, in a tenth of the time; undefined if the full parser is needed. */
export function simpleNumber(text: string): number | undefined {
  const suffix = simpleSuffix(text);
  if (suffix === undefined) return undefined;
  const count = Number.parseInt(text, 10);
  if (suffix === 'm') return Number(`${count}e-3`);
  return suffix === 'Ki' ? count * 1024 : count;
}

/** A JavaScript number represents larger integers inexactly. */
const SIMPLE_DIGITS = 15;

/** Undefined if the full parser is needed. Without regular expressions: each node has eight such texts. */
function simpleSuffix(text: string): '' | 'm' | 'Ki' | undefined {
  let digits = 0;
  while (isDigit(text.charCodeAt(digits))) digits++;
  if (digits === 0 || digits > SIMPLE_DIGITS) return undefined;
  if (digits === text.length) return '';
  const rest = text.length - digits;
  if (rest === 1 && text.endsWith('m')) return 'm';
  return rest === 2 && text.endsWith('Ki') ? 'Ki' : undefined;
}

function isDigit(code: number): boolean {
  return code >= 48 && code <= 57;
}

/** The unscaled value at that exponent, which must not exceed the quantity's own. */
function at({ unscaled, exponent }: Quantity, target: number): bigint {
  return exponent === target ? unscaled : unscaled * 10n ** BigInt(exponent - target);
}

/** Undefined if there is a fractional part. */
function wholeValue({ unscaled, exponent }: Quantity): bigint | undefined {
  if (exponent >= 0) return unscaled * 10n ** BigInt(exponent);
  const divisor = 10n ** BigInt(-exponent);
  return unscaled % divisor === 0n ? unscaled / divisor : undefined;
}

function formatBinary(whole: bigint): string {
  let [mantissa, suffix] = [whole, ''];
  for (const next of BINARY_SUFFIXES.keys()) {
    if (mantissa % 1024n !== 0n) break;
    mantissa /= 1024n;
    suffix = next;
  }
  return `${mantissa}${suffix}`;
}

/** The shortest mantissa with a power of a thousand. */
function formatDecimal(quantity: Quantity): string {
  let { unscaled, exponent } = quantity;
  while (unscaled % 10n === 0n) {
    unscaled /= 10n;
    exponent++;
  }
  const target = Math.floor(exponent / 3) * 3;
  if (quantity.format === 'DecimalExponent') {
    return `${at({ ...quantity, unscaled, exponent }, target)}${target === 0 ? '' : `e${target}`}`;
  }
  const power = Math.min(target, 18);
  const mantissa = at({ ...quantity, unscaled, exponent }, power);
  return `${mantissa}${DECIMAL_NAMES.get(power) ?? ''}`;
}

const DECIMAL_NAMES = new Map([...DECIMAL_SUFFIXES].map(([suffix, power]) => [power, suffix]));

// Parses quantities with the same results as ParseQuantity of k8s.io/apimachinery pkg/api/resource, including its
// peculiarities: the API server uses that library to parse and print them.

/** The text may be a quantity, but exceeds the limits on characters or digits. */
class QuantityLimitError extends QuantityError {}

const WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_NUMBER = 'unable to parse numeric part of quantity';
const WRONG_SUFFIX = "unable to parse quantity's suffix";

/** Sign, leading zeros, digits, fraction. Go accepts missing digits: "-" is 0. */
const NUMBER = /^([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?/;
/** Separate from the number: one combined expression takes cubic time for a text of zeros. */
const SUFFIX = /^[eEinumkKMGTP]*[-+]?[0-9]*$/;

/** The smallest unit (1n), as a power of ten. */
const NANO = -9;
/** Go builds numbers of any size; here a node must not be able to cause that. Real ones have about 20 characters. */
const MAX_TEXT_LENGTH = 512;
/** Maximum number of digits before the decimal point. */
export const MAX_DIGITS = 500;
/** A text of this length without an exponent never exceeds the limits. */
const SHORT_TEXT = 32;
/** Maximum number of bytes of a quantity in a message. */
const MAX_SHOWN_BYTES = 60;
const EXPONENT = /[eE][-+]?[0-9]/;

/** @throws QuantityError with Go's message, or QuantityLimitError */
export function parseQuantity(text: string): Quantity {
  if (text.length > MAX_TEXT_LENGTH)
    throw new QuantityLimitError(`quantities have at most ${MAX_TEXT_LENGTH} characters`);
  const [number = '', sign, zeros = '', integer = '', fraction = ''] = NUMBER.exec(text) ?? [];
  const suffix = text.slice(number.length);
  if (text === '' || !SUFFIX.test(suffix)) throw new QuantityError(WRONG_FORMAT);
  const { format, power } = readSuffix(suffix);
  const signed: Sign = magnitude => (sign === '-' ? -magnitude : magnitude);
  const digits = (integer === '' ? '0' : integer) + fraction;
  const binary = format === 'BinarySI';
  const exponent = (binary ? 0 : power) - fraction.length;
  if (!binary && integer.length + power > MAX_DIGITS) {
    throw new QuantityLimitError(`quantities have at most ${MAX_DIGITS} digits before the point`);
  }
  // Go parses "Ki" as 0, except if the value exceeds its int64 representation.
  const large = binary ? power >= 50 : exponent < NANO;
  if (large && zeros + integer + fraction === '') throw new QuantityError(WRONG_NUMBER);
  if (binary) return binaryQuantity(BigInt(digits) << BigInt(power), exponent, signed);
  return { ...roundedToNano(BigInt(digits), exponent, signed), format };
}

/** Whether parseQuantity() throws a QuantityLimitError. */
export function isBeyondLimits(text: string): boolean {
  if (text.length <= SHORT_TEXT && !EXPONENT.test(text)) return false;
  try {
    parseQuantity(text);
    return false;
  } catch (error) {
    return error instanceof QuantityLimitError;
  }
}

/** Truncates: a text that is not a quantity may have a megabyte. */
export function quoteQuantity(text: string): string {
  return JSON.stringify(ellipsize(text, MAX_SHOWN_BYTES));
}

type Sign = (magnitude: bigint) => bigint;

/** As Go: caps binary quantities at the largest int64, and converts values below 1 to decimal. */
function binaryQuantity(digits: bigint, scale: number, signed: Sign): Quantity {
  const { unscaled, exponent } = roundedToNano(digits, scale, magnitude => magnitude);
  const one = 10n ** BigInt(-exponent);
  if (unscaled > MAX_INT64 * one) return { unscaled: signed(MAX_INT64), exponent: 0, format: 'BinarySI' };
  const format = unscaled > 0n && unscaled < one ? 'DecimalSI' : 'BinarySI';
  return { unscaled: signed(unscaled), exponent, format };
}

/** Rounds away from zero to whole nanos, as Go does. */
function roundedToNano(digits: bigint, exponent: number, signed: Sign): Pick<Quantity, 'unscaled' | 'exponent'> {
  if (exponent >= NANO) return { unscaled: signed(digits), exponent };
  if (digits === 0n) return { unscaled: 0n, exponent: 0 };
  // With so few digits the value is below one nano, so the power of ten need not be computed.
  const tooFine = NANO - exponent > digits.toString().length;
  const divisor = tooFine ? digits : 10n ** BigInt(NANO - exponent);
  const rounded = tooFine ? 1n : (digits + divisor - 1n) / divisor;
  return { unscaled: signed(rounded), exponent: NANO };
}

/** The power is a power of two for BinarySI, otherwise of ten. */
function readSuffix(suffix: string): { format: QuantityFormat; power: number } {
  const decimal = DECIMAL_SUFFIXES.get(suffix);
  if (decimal !== undefined) return { format: 'DecimalSI', power: decimal };
  const binary = BINARY_SUFFIXES.get(suffix);
  if (binary !== undefined) return { format: 'BinarySI', power: binary };
  const power = /^[eE]([-+]?[0-9]+)$/.exec(suffix)?.[1];
  if (power === undefined) throw new QuantityError(WRONG_SUFFIX);
  const read = parseInt64(power);
  if (read === undefined) throw new QuantityError(WRONG_SUFFIX);
  // Go keeps the low 32 bits.
  return { format: 'DecimalExponent', power: Number(BigInt.asIntN(32, read)) };
}
