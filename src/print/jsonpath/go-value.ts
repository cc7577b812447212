/** JSON values in Go's `%v` format, and Go's names of their types, as in kubectl's columns and messages. */

import { isObject } from '../../nodepool/json.ts';
import { checkDepth } from '../depth.ts';

/** `map[a:1 b:[x y]]`, `<nil>`. @param value undefined: Go's invalid Value. Throws NodepoolError for data that is nested too deep */
export function goText(value: unknown): string {
  checkDepth(value);
  return textOf(value);
}

function textOf(value: unknown): string {
  if (value === undefined) return '<invalid reflect.Value>';
  if (value === null) return '<nil>';
  if (typeof value === 'number') return goNumber(value);
  if (Array.isArray(value)) return `[${value.map(textOf).join(' ')}]`;
  if (!isObject(value)) return String(value);
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `map[${members.map(([key, member]) => `${key}:${textOf(member)}`).join(' ')}]`;
}

/** Integers are int64, other numbers float64, with an exponent from a million on. */
function goNumber(value: number): string {
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 2 ** 63) return String(value);
  if (size >= 1e-4 && size < 1e6) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

export function goType(value: unknown): string {
  if (Array.isArray(value)) return '[]interface {}';
  if (isObject(value)) return 'map[string]interface {}';
  if (typeof value === 'number') return Number.isInteger(value) ? 'int64' : 'float64';
  return typeof value === 'boolean' ? 'bool' : typeof value;
}
