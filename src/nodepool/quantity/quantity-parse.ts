/**
 * Parses quantities with the same results as ParseQuantity of k8s.io/apimachinery pkg/api/resource. Its peculiarities
 * are kept, because the API server accepts and prints what that library does.
 */

import { MAX_INT64, parseInt64 } from '../json.ts';
import { ellipsize } from '../text.ts';

export type QuantityFormat = 'DecimalSI' | 'BinarySI' | 'DecimalExponent';

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

/** The text may be a quantity, but exceeds the limits on characters or digits. */
class QuantityLimitError extends QuantityError {}

const WRONG_FORMAT = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";
const WRONG_NUMBER = 'unable to parse numeric part of quantity';
const WRONG_SUFFIX = "unable to parse quantity's suffix";

/** Sign, leading zeros, digits, fraction. Go accepts missing digits: "-" is 0. */
const NUMBER = /^([+-]?)(0*)([0-9]*)(?:\.([0-9]*))?/;
/** Separate from the number: one combined expression takes cubic time for a text of zeros. */
const SUFFIX = /^[eEinumkKMGTP]*[-+]?[0-9]*$/;

export const DECIMAL_SUFFIXES: ReadonlyMap<string, number> = new Map([
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
export const BINARY_SUFFIXES: ReadonlyMap<string, number> = new Map([
  ['Ki', 10],
  ['Mi', 20],
  ['Gi', 30],
  ['Ti', 40],
  ['Pi', 50],
  ['Ei', 60],
]);

/** The smallest unit, 1n, as a power of ten. */
const NANO = -9;
/**
 * Our limit: Go builds numbers of any size, and a node must not be able to make this program do that. Real quantities
 * have about 20 characters.
 */
const MAX_TEXT_LENGTH = 512;
/** Before the decimal point. */
export const MAX_DIGITS = 500;
/** A text of this length without an exponent never exceeds the limits. */
const SHORT_TEXT = 32;
/** Bytes of a quantity in a message. */
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
  // Go reads "Ki" as 0, but not where the value exceeds its int64 representation.
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

/** Truncates: a text that is no quantity may have a megabyte. */
export function quoteQuantity(text: string): string {
  return JSON.stringify(ellipsize(text, MAX_SHOWN_BYTES));
}

type Sign = (magnitude: bigint) => bigint;

/** As Go: caps binary quantities at the largest int64, and makes values below 1 decimal. */
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
  // With so few digits the value is below one nano, so the power of ten need not be built.
  const tooFine = NANO - exponent > digits.toString().length;
  const divisor = tooFine ? digits : 10n ** BigInt(NANO - exponent);
  const rounded = tooFine ? 1n : (digits + divisor - 1n) / divisor;
  return { unscaled: signed(rounded), exponent: NANO };
}

/** The power is of two for BinarySI, otherwise of ten. */
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
