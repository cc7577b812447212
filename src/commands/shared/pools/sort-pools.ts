/** `--sort-by` with kubectl's rules: first value of a path, quantities by size, objects without a value first. */
import type { RawPool } from '../../../kube/cluster.ts';
import { compareQuantities } from '../../../nodepool/quantity/quantity.ts';
import { evaluate, goType } from '../../../print/jsonpath/evaluate.ts';
import { parseTemplate, relaxedPath } from '../../../print/jsonpath/parse.ts';
import { explainFor, JsonPathError } from '../../../print/jsonpath/template.ts';
import { quantityOf } from '../../../print/quantity.ts';

export function poolOrder(path: string): (pools: RawPool[]) => RawPool[] {
  return orderBy<RawPool>(path, '.status.nodeCount', pool => pool);
}

/** @param path `.status.nodeCount`; dot and braces are optional. Throws if it is invalid or values differ in type */
export function orderBy<T>(path: string, example: string, dataOf: (object: T) => unknown): (objects: T[]) => T[] {
  const explained = <R>(run: () => R) => explainFor(`--sort-by ${path}`, `write it like ${example}`, run);
  return explained(() => {
    const field = relaxedPath(path);
    const template = parseTemplate(field);
    return objects => explained(() => sorted(objects, field, object => evaluate(template, dataOf(object))[0] ?? []));
  });
}

function sorted<T>(objects: T[], field: string, valuesOf: (object: T) => unknown[]): T[] {
  const keyed = objects.map(object => ({ object, values: valuesOf(object) }));
  const [found, missing] = [
    keyed.filter(({ values }) => values.length > 0),
    keyed.filter(({ values }) => values.length === 0),
  ];
  if (objects.length > 0 && found.length === 0) {
    throw new JsonPathError(`couldn't find any field with path "${field}" in the list of objects`);
  }
  // The same as kubectl: each object without a value is moved before all others, one after the other.
  return [...missing.toReversed(), ...found.toSorted((a, b) => compare(a.values[0], b.values[0]))].map(
    ({ object }) => object,
  );
}

function compare(a: unknown, b: unknown): number {
  if (a === null || b === null) return Number(b === null) - Number(a === null);
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  if (typeof a !== 'string' && typeof a !== 'number') throw new JsonPathError(`unsortable type: ${goType(a)}`);
  if (typeof a !== 'string' || typeof b !== 'string') {
    throw new JsonPathError(`cannot compare ${goType(a)} with ${goType(b)}`);
  }
  const [left, right] = [quantityOf(a), quantityOf(b)];
  if (left !== undefined && right !== undefined) return compareQuantities(left, right);
  return a < b ? -1 : Number(a > b);
}
