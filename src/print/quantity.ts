/** Quantities for people: rounded, with a suitable unit. `-o json` and `-o yaml` print exact ones. */
import {
  parseQuantity,
  type Quantity,
  QuantityError,
  quantityToNumber,
  simpleNumber,
} from '../nodepool/quantity/quantity.ts';

const BINARY_UNITS = ['', 'Ki', 'Mi', 'Gi', 'Ti', 'Pi', 'Ei'];

/** JavaScript prints larger numbers as `1e+46`, which is not a valid quantity. */
const MAX_VALUE = 1e21;

/** The quantity in its resource's unit. Returns an invalid or too large quantity unchanged. */
export function displayQuantity(resource: string, quantity: string): string {
  const value = numberOf(quantity);
  if (value === undefined || Math.abs(value) >= MAX_VALUE) return quantity;
  return isBytes(resource) ? displayBytes(value) : decimals(value, 2);
}

export function isPositive(quantity: string): boolean {
  return (numberOf(quantity) ?? 0) > 0;
}

function isBytes(resource: string): boolean {
  return /^(memory|storage|ephemeral-storage|hugepages(-.*)?)$/.test(resource);
}

/** `5.8Gi`: one decimal, in the largest unit whose value is at least 1. */
function displayBytes(value: number): string {
  let [scaled, unit] = [value, 0];
  // Rounds first: 1023.97Mi is 1Gi, not 1024Mi.
  while (Math.abs(Number(scaled.toFixed(1))) >= 1024 && unit < BINARY_UNITS.length - 1) {
    scaled /= 1024;
    unit++;
  }
  return `${decimals(scaled, 1)}${BINARY_UNITS[unit]}`;
}

function decimals(value: number, digits: number): string {
  return String(Number(value.toFixed(digits)));
}

/** Undefined for an invalid quantity. */
export function numberOf(text: string): number | undefined {
  const simple = simpleNumber(text);
  if (simple !== undefined) return simple;
  const quantity = quantityOf(text);
  return quantity === undefined ? undefined : quantityToNumber(quantity);
}

export function quantityOf(text: string): Quantity | undefined {
  try {
    return parseQuantity(text);
  } catch (error) {
    if (error instanceof QuantityError) return undefined;
    throw error;
  }
}
