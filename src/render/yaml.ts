/**
 * YAML as `kubectl get -o yaml` prints it: keys in natural order, lists not indented under their key, long lines folded.
 *
 * Not guaranteed: the notation of floats, which the Kubernetes API avoids.
 */

import { isObject } from '../nodepool/json.ts';
import { checkDepth } from './depth.ts';
import { yamlKey, yamlScalar } from './yaml-scalar.ts';

/** Go's emitter writes longer keys after `? `. */
const MAX_SIMPLE_KEY_LENGTH = 128;

/**
 * @param object plain JSON data; undefined members are omitted. @returns without the last newline
 * Throws NodepoolError for data that is nested too deep.
 */
export function toYaml(object: Record<string, unknown>): string {
  checkDepth(object);
  const members = defined(object);
  return members.length === 0 ? '{}' : mapping(members, 0);
}

type Member = [key: string, value: unknown];

/** The first line is not indented: it may follow a `- `. */
function mapping(members: Member[], indent: number): string {
  return members
    .toSorted(([a], [b]) => compareKeys(a, b))
    .map(([key, value]) => member(key, value, indent))
    .join(`\n${' '.repeat(indent)}`);
}

function member(key: string, value: unknown, indent: number): string {
  if (Buffer.byteLength(key) > MAX_SIMPLE_KEY_LENGTH || /[\n\r]/.test(key)) return longMember(key, value, indent);
  const name = yamlKey(key);
  const nested = Array.isArray(value) ? indent : indent + 2;
  const inner = block(value, nested);
  return inner === undefined
    ? `${name}: ${scalar(value, indent + [...name].length + 1, indent + 2)}`
    : `${name}:\n${' '.repeat(nested)}${inner}`;
}

function longMember(key: string, value: unknown, indent: number): string {
  const below = { column: indent + 1, indent: indent + 2 };
  return `? ${yamlScalar(key, below)}\n${' '.repeat(indent)}: ${item(value, indent)}`;
}

/** A list or mapping that is not empty; undefined for everything else. */
function block(value: unknown, indent: number): string | undefined {
  if (Array.isArray(value)) return value.length === 0 ? undefined : list(value, indent);
  const members = isObject(value) ? defined(value) : [];
  return members.length === 0 ? undefined : mapping(members, indent);
}

function list(items: unknown[], indent: number): string {
  return items.map(entry => `- ${item(entry, indent)}`).join(`\n${' '.repeat(indent)}`);
}

/** The value after a `- ` or `: ` at that indent. */
function item(value: unknown, indent: number): string {
  return block(value, indent + 2) ?? scalar(value, indent + 1, indent + 2);
}

function scalar(value: unknown, column: number, indent: number): string {
  if (typeof value === 'string') return yamlScalar(value, { column, indent });
  if (Array.isArray(value)) return '[]';
  return isObject(value) ? '{}' : String(value ?? null);
}

function defined(object: Record<string, unknown>): Member[] {
  return Object.entries(object).filter(([, value]) => value !== undefined);
}

/** yaml.v2's order: letters by code point and after all others, runs of digits by value, then by length. */
function compareKeys(a: string, b: string): number {
  const [x, y] = [[...a], [...b]];
  for (let i = 0; i < x.length && i < y.length; i++) {
    const [p = '', q = ''] = [x[i], y[i]];
    if (p === q) continue;
    const [pLetter, qLetter] = [/\p{L}/u.test(p), /\p{L}/u.test(q)];
    if (pLetter !== qLetter) return qLetter ? -1 : 1;
    return (pLetter ? 0 : compareDigits(x, y, i)) || (p.codePointAt(0) ?? 0) - (q.codePointAt(0) ?? 0);
  }
  return x.length - y.length;
}

function compareDigits(x: string[], y: string[], at: number): number {
  const [xRun, yRun] = [digitsFrom(x, at), digitsFrom(y, at)];
  // A zero inside a number is not a leading one: a 1 in front of both keeps its place value.
  const inside = (x[at] === '0' || y[at] === '0') && isInNumber(x, at) ? '1' : '';
  return Number(inside + xRun) - Number(inside + yRun) || xRun.length - yRun.length;
}

/** Whether one of the digits right before is not 0. */
function isInNumber(characters: string[], at: number): boolean {
  let before = at - 1;
  while (/(?![1-9])\p{Nd}/u.test(characters[before] ?? '')) before--;
  return /[1-9]/.test(characters[before] ?? '');
}

function digitsFrom(characters: string[], at: number): string {
  let end = at;
  while (/[0-9]/.test(characters[end] ?? '')) end++;
  return characters.slice(at, end).join('');
}
