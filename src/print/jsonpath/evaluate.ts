/**
 * Evaluates a template on JSON data like kubectl: a missing field gives no value, an index out of bounds is an error.
 *
 * Not guaranteed: the order of an object's members (wildcards, `..`), random in kubectl; here they are sorted by key.
 */
import { isObject } from '../../nodepool/json.ts';
import { checkDepth } from '../depth.ts';
import { JsonPathError, type Template, type TemplatePart, type TemplateStep } from './template.ts';

/** Limits the values of one evaluation: `{..a..a..a}` returns a number cubic in a list's length. */
const MAX_VALUES = 10_000_000;
/** Maximum nested ranges, because evaluation is recursive. */
const MAX_RANGES = 100;

/** The values of each part, in printing order; a range repeats its parts. @throws JsonPathError */
export function evaluate(template: Template, data: unknown, mostValues = MAX_VALUES): unknown[][] {
  return new Evaluation(template, mostValues).run(0, data);
}

class Evaluation {
  readonly #parts: Template;
  /** Number of evaluated `range` steps whose loops have not started. */
  #opened = 0;
  /** Number of loops around the current part. */
  #depth = 0;
  /** An `end` was just evaluated. */
  #closed = false;
  /** The index of the last `end`; when its loop is done, evaluation continues after it. */
  #lastEnd = -1;
  readonly #mostValues: number;
  /** What remains of #mostValues. */
  #remaining: number;

  constructor(parts: Template, mostValues: number) {
    this.#parts = parts;
    this.#mostValues = mostValues;
    this.#remaining = mostValues;
  }

  run(from: number, data: unknown): unknown[][] {
    const found: unknown[][] = [];
    for (let at = from; at < this.#parts.length; at++) {
      const part = this.#parts[at] as TemplatePart;
      this.#spend(1);
      const values = part.kind === 'text' ? [part.text] : this.#walk([data], part.steps);
      if (this.#closed) {
        this.#closed = false;
        this.#lastEnd = at;
        break;
      }
      if (this.#opened === 0) {
        found.push(values);
        continue;
      }
      this.#opened--;
      if (++this.#depth > MAX_RANGES) throw new JsonPathError(`ranges are nested more than ${MAX_RANGES} levels deep`);
      for (const value of values) for (const inner of this.run(at + 1, value)) found.push(inner);
      // No values: runs once to find the `end`.
      if (values.length === 0) this.run(at + 1, undefined);
      this.#depth--;
      if (this.#lastEnd > at) at = this.#lastEnd;
    }
    return found;
  }

  #walk(values: unknown[], steps: readonly TemplateStep[]): unknown[] {
    return steps.reduce((current, step) => this.#step(current, step), values);
  }

  /** @throws JsonPathError beyond MAX_VALUES */
  #spend(values: number): void {
    this.#remaining -= values;
    if (this.#remaining < 0) throw new JsonPathError(`the template visits more than ${this.#mostValues} values`);
  }

  #step(values: unknown[], step: TemplateStep): unknown[] {
    this.#spend(values.length);
    switch (step.kind) {
      case 'text':
        return [step.text];
      case 'literal':
        return values.map(() => step.value);
      case 'field':
        return values.flatMap(value => (isObject(value) && Object.hasOwn(value, step.name) ? [value[step.name]] : []));
      case 'wildcard':
        return values.flatMap(value => this.#children(value));
      case 'descent':
        return this.#descend(values);
      case 'slice':
        return this.#slice(values, step);
      case 'union':
        return this.#union(values, step.branches);
      case 'filter':
        return values.flatMap(value => this.#filter(values, value, step));
      case 'word':
        return this.#word(values, step.word);
    }
  }

  #word(values: unknown[], word: string): unknown[] {
    if (word === 'range') {
      this.#opened++;
      return values;
    }
    if (word !== 'end') throw new JsonPathError(`unrecognized identifier ${word}`, values);
    if (this.#depth === 0) throw new JsonPathError('not in range, nothing to end');
    this.#closed = true;
    return [];
  }

  #union(values: unknown[], branches: TemplateStep[][]): unknown[] {
    try {
      return branches.flatMap(branch => this.#walk(values, branch));
    } catch (error) {
      if (error instanceof JsonPathError && this.#remaining >= 0) throw new JsonPathError(error.message, values);
      throw error;
    }
  }

  #filter(input: unknown[], value: unknown, step: TemplateStep & { kind: 'filter' }): unknown[] {
    if (!Array.isArray(value)) {
      throw new JsonPathError(`${goText(value)} is not array or slice and cannot be filtered`, input);
    }
    return value.filter(item =>
      step.operator === 'exists' ? this.#exists(item, step.left) : this.#compares(item, step, input),
    );
  }

  /** Also true for an error after some values: `[?(@.taints[0])]` matches an item whose taints are an empty list. */
  #exists(item: unknown, steps: readonly TemplateStep[]): boolean {
    try {
      return this.#walk([item], steps).length > 0;
    } catch (error) {
      if (error instanceof JsonPathError && this.#remaining >= 0) return error.values.length > 0;
      throw error;
    }
  }

  #compares(item: unknown, { left, operator, right }: TemplateStep & { kind: 'filter' }, input: unknown[]): boolean {
    const a = this.#operand(item, left, input);
    const b = a === undefined ? undefined : this.#operand(item, right, input);
    return a !== undefined && b !== undefined && compare(a, operator, b);
  }

  /** One side of a comparison; undefined if there is nothing to compare. */
  #operand(item: unknown, steps: readonly TemplateStep[], input: unknown[]): Operand | undefined {
    const values = this.#walk([item], steps);
    if (values.length > 1) throw new JsonPathError('can only compare one element at a time', input);
    const last = steps.at(-1);
    const isFloat = last?.kind === 'literal' && last.isFloat;
    return values.length === 0 ? undefined : { value: values[0], isFloat };
  }

  /** The members of an object, the items of a list, or the bytes of a string, as in Go. */
  #children(value: unknown): unknown[] {
    const found = childrenOf(value);
    this.#spend(found.length);
    return found;
  }

  /** All values that have children, parents first. */
  #descend(values: unknown[]): unknown[] {
    const found: unknown[] = [];
    const next = values.toReversed();
    for (let value = next.pop(); value !== undefined || next.length > 0; value = next.pop()) {
      // Includes strings; their bytes have no children.
      const inner = typeof value === 'string' ? [] : this.#children(value);
      if (inner.length === 0 && (typeof value !== 'string' || value === '')) continue;
      found.push(value);
      for (let at = inner.length - 1; at >= 0; at--) next.push(inner[at]);
    }
    return found;
  }

  #slice(values: unknown[], step: TemplateStep & { kind: 'slice' }): unknown[] {
    const found: unknown[] = [];
    for (const value of values) {
      if (value === null || value === undefined) continue;
      if (!Array.isArray(value)) throw new JsonPathError(`${goType(value)} is not array or slice`, values);
      const [start, end] = bounds(value.length, step);
      // The same as kubectl, which also skips the other lists.
      if (start === end) return found;
      checkBounds(start, end, value.length, values);
      const { step: every = 1 } = step;
      if (every <= 0) throw new JsonPathError('step must be > 0', values);
      this.#spend(Math.ceil((end - start) / every));
      for (let at = start; at < end; at += every) found.push(value[at]);
    }
    return found;
  }
}

function childrenOf(value: unknown): unknown[] {
  if (Array.isArray(value)) return value;
  if (typeof value === 'string') return [...new TextEncoder().encode(value)];
  if (!isObject(value)) return [];
  return Object.keys(value)
    .toSorted()
    .map(key => value[key]);
}

function bounds(length: number, { start = 0, end }: TemplateStep & { kind: 'slice' }): [number, number] {
  const first = start < 0 ? start + length : start;
  if (end.kind === 'open') return [first, length];
  const isAfterStart = end.kind === 'after start';
  const last = isAfterStart ? start + 1 : end.index;
  return [first, last < 0 || (last === 0 && isAfterStart) ? last + length : last];
}

function checkBounds(start: number, end: number, length: number, values: unknown[]): void {
  const outside = (index: number) =>
    new JsonPathError(`array index out of bounds: index ${index}, length ${length}`, values);
  if (start >= length || start < 0) throw outside(start);
  if (end > length || end < 0) throw outside(end - 1);
  if (start > end) throw new JsonPathError(`starting index ${start} is greater than ending index ${end}`, values);
}

// Compares values of the same type in a filter. As in Go templates, integer and float are different types.

type OperandKind = 'string' | 'bool' | 'int' | 'float';

/** One side of a comparison; isFloat: a literal with a decimal point. */
interface Operand {
  value: unknown;
  isFloat: boolean;
}

/** @throws JsonPathError for values that cannot be compared, or an unknown operator */
function compare(left: Operand, operator: string, right: Operand): boolean {
  const [a, b] = [left.value, right.value];
  switch (operator) {
    case '==':
    case '!=':
      sameKind(left, right);
      return (a === b) === (operator === '==');
    case '<':
    case '<=':
    case '>':
    case '>=':
      if (sameKind(left, right) === 'bool') throw new JsonPathError('invalid type for comparison');
      return isOrdered(a as string | number, operator, b as string | number);
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}

function isOrdered<T extends string | number>(a: T, operator: '<' | '<=' | '>' | '>=', b: T): boolean {
  if (operator === '<') return a < b;
  if (operator === '<=') return a <= b;
  return operator === '>' ? a > b : a >= b;
}

function sameKind(left: Operand, right: Operand): OperandKind {
  const kinds = [kindOf(left), kindOf(right)] as const;
  if (kinds[0] !== kinds[1]) throw new JsonPathError('incompatible types for comparison');
  return kinds[0];
}

function kindOf({ value, isFloat }: Operand): OperandKind {
  if (typeof value === 'string') return 'string';
  if (typeof value === 'boolean') return 'bool';
  if (typeof value === 'number') return isFloat || !Number.isInteger(value) ? 'float' : 'int';
  throw new JsonPathError('invalid type for comparison');
}

// JSON values in Go's `%v` format, and Go's type names, for kubectl's columns and messages.

/** `map[a:1 b:[x y]]`, `<nil>`. @param value undefined: Go's invalid Value. Throws NodepoolError if nested too deep */
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

/** Integers are int64, other numbers float64, which have an exponent from a million on. */
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
