/** Exact quantities by resource name, with arithmetic. */
import type { ResourceList } from '../types.ts';
import { addInAnyOrder, addQuantities, compareQuantities, parseQuantity, type Quantity } from './quantity.ts';

export type Amounts = Map<string, Quantity>;

export const ZERO: Quantity = { unscaled: 0n, exponent: 0, format: 'DecimalSI' };

/** Parses a quantity. @throws QuantityError */
export type ReadQuantity = (text: string) => Quantity;

/** Maximum number of cached texts; a cluster with many node sizes has a few hundred. */
const MAX_TEXTS = 10_000;

/** Caches parsed quantities: thousands of pods use the same few texts. */
export function quantityReader(): ReadQuantity {
  const known = new Map<string, Quantity>();
  return text => {
    const before = known.get(text);
    if (before !== undefined) return before;
    const quantity = parseQuantity(text);
    if (known.size >= MAX_TEXTS) known.clear();
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

export function addAmounts(total: Amounts, more: Amounts): void {
  for (const [name, quantity] of more) addOne(total, name, quantity);
}

/** As addAmounts, for a list from the API, without creating a Map. @throws QuantityError */
export function addList(total: Amounts, list: ResourceList | undefined, read: ReadQuantity): void {
  if (list !== undefined) for (const name of Object.keys(list)) addOne(total, name, read(list[name] ?? '0'));
}

/** Raises each amount in `total` to that of `other` where `other` is larger. */
export function raiseAmounts(total: Amounts, other: Amounts): void {
  for (const [name, quantity] of other) raiseOne(total, name, quantity);
}

/** As raiseAmounts, for a list from the API. @throws QuantityError */
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

/** a - b, but at least zero. */
export function subtractToZero(a: Quantity, b: Quantity): Quantity {
  const difference = addQuantities(a, { ...b, unscaled: -b.unscaled });
  return difference.unscaled < 0n ? ZERO : difference;
}

// The resources that are displayed by default, and their order.

const FIRST = ['cpu', 'memory', 'pods'];

/** Accelerators as device plugins name them: nvidia.com/mig-1g.5gb, aws.amazon.com/neuron. */
const ACCELERATOR = /(?<![a-z])([qv]?gpu|[ntx]pu|mlu|dcu|hpu|mig-|neuron|gaudi|ascend|xe\b|i915)/i;

/** Whether it is an extended resource with the name of an accelerator. */
export function isAccelerator(resource: string): boolean {
  return resource.includes('/') && ACCELERATOR.test(resource);
}

/** Resources that are part of an accelerator: gpu.intel.com/memory.max, aws.amazon.com/neuroncore. */
const PART_OF_ACCELERATOR = /mem(ory)?(?![a-z])|cores?(?![a-z])|tiles|monitoring|percentage|ratio/i;

/** The accelerators among these resources, without those that are part of another. */
export function wholeAccelerators(resources: Iterable<string>): string[] {
  const all = [...new Set(resources)].filter(isAccelerator).toSorted();
  const whole = all.filter(resource => !PART_OF_ACCELERATOR.test(resource.slice(resource.indexOf('/'))));
  return whole.length > 0 ? whole : all;
}

/** cpu, memory and pods, then the others by name. */
export function inResourceOrder(resources: Iterable<string>): string[] {
  const names = new Set(resources);
  return [...FIRST.filter(name => names.delete(name)), ...[...names].toSorted()];
}

/** The resources that are displayed by default. @param offered resources that some node has */
export function usualResources(offered: Iterable<string>): string[] {
  return inResourceOrder([...FIRST, ...[...offered].filter(isAccelerator)]);
}
