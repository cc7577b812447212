/** Exact amounts by resource, and how they are added up. */
import { addInAnyOrder, addQuantities, compareQuantities, parseQuantity, type Quantity } from './quantity.ts';
import type { ResourceList } from './types.ts';

export type Amounts = Map<string, Quantity>;

export const ZERO: Quantity = { unscaled: 0n, exponent: 0, format: 'DecimalSI' };

/** Gives the quantity that a text says. @throws QuantityError */
export type ReadQuantity = (text: string) => Quantity;

/** Texts that are remembered: a cluster of many sizes has some hundreds. */
const MOST_TEXTS = 10_000;

/** Thousands of pods say the same few texts: each is parsed once. */
export function quantityReader(): ReadQuantity {
  const known = new Map<string, Quantity>();
  return text => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const quantity = parseQuantity(text);
    if (known.size >= MOST_TEXTS) known.clear();
    known.set(text, quantity);
    return quantity;
  };
}

/** @throws QuantityError */
export function toAmounts(list: ResourceList | undefined, read: ReadQuantity): Amounts {
  const amounts: Amounts = new Map();
  addList(amounts, list, read);
  return amounts;
}

/** Adds each of `more` to `total`. */
export function addAmounts(total: Amounts, more: Amounts): void {
  for (const [name, quantity] of more) addOne(total, name, quantity);
}

/** The same of a list as the API has it, without a Map of its own. @throws QuantityError */
export function addList(total: Amounts, list: ResourceList | undefined, read: ReadQuantity): void {
  if (list !== undefined) for (const name of Object.keys(list)) addOne(total, name, read(list[name] ?? '0'));
}

/** Raises each in `total` to that of `other`, where that is greater. */
export function raiseAmounts(total: Amounts, other: Amounts): void {
  for (const [name, quantity] of other) raiseOne(total, name, quantity);
}

/** The same to those of a list as the API has it. @throws QuantityError */
export function raiseToList(total: Amounts, list: ResourceList | undefined, read: ReadQuantity): void {
  if (list !== undefined) for (const name of Object.keys(list)) raiseOne(total, name, read(list[name] ?? '0'));
}

function addOne(total: Amounts, name: string, quantity: Quantity): void {
  const before = total.get(name);
  total.set(name, before === undefined ? quantity : addInAnyOrder(before, quantity));
}

function raiseOne(total: Amounts, name: string, quantity: Quantity): void {
  const before = total.get(name);
  if (before === undefined || compareQuantities(quantity, before) > 0) total.set(name, quantity);
}

/** What is left of a when b is taken from it; nothing is left where b is more. */
export function leftOf(a: Quantity, b: Quantity): Quantity {
  const left = addQuantities(a, { ...b, unscaled: -b.unscaled });
  return left.unscaled < 0n ? ZERO : left;
}
