/** Reads a value by a schema (schema.ts): keeps values of the right type, and reports the others. */
import { isObject, ownValue } from '../json.ts';
import { suggest } from '../text.ts';
import type { FieldError } from './field-error.ts';
import type { Schema } from './schema.ts';

export interface SchemaReading {
  errors: FieldError[];
  /** Fields that are not in the schema are never kept; `refused` reports them as errors. */
  unknownFields: 'refused' | 'dropped';
}

/**
 * The value without nulls, which the server removes as well, and without wrong parts: a field of another type, an
 * object that lacks a required field.
 *
 * @param path of the value, for errors
 */
export function readBySchema(value: unknown, schema: Schema, path: string, reading: SchemaReading): unknown {
  switch (schema.type) {
    case 'any':
      return value;
    case 'object':
      return isObject(value)
        ? readObject(value, schema, path, reading)
        : wrong(value, 'a map of fields', path, reading);
    case 'map':
      return isObject(value) ? readMap(value, schema, path, reading) : wrong(value, 'a map', path, reading);
    case 'list':
      if (!Array.isArray(value)) return wrong(value, 'a list', path, reading);
      return value
        .map((item, index) => readBySchema(item, schema.of, `${path}[${index}]`, reading))
        .filter(item => item !== undefined);
    case 'string':
      return typeof value === 'string' ? value : wrong(value, 'a string', path, reading);
    case 'boolean':
      return typeof value === 'boolean' ? value : wrong(value, 'true or false', path, reading);
    case 'integer':
      return Number.isSafeInteger(value) ? value : wrong(value, 'a whole number', path, reading);
    case 'scalar':
      return typeof value === 'string' || typeof value === 'number'
        ? value
        : wrong(value, 'a string or a number', path, reading);
  }
}

/** Whether readBySchema() would return it unchanged. Plain loops, because lists are checked before JIT compilation. */
export function matchesSchema(value: unknown, schema: Schema): boolean {
  switch (schema.type) {
    case 'any':
      return true;
    case 'object': {
      const { fields, required } = schema;
      if (!isObject(value)) return false;
      if (required !== undefined) for (const name of required) if (!Object.hasOwn(value, name)) return false;
      for (const name in value) {
        const [field, item] = [ownValue(fields, name), value[name]];
        if (field === undefined || item === null || item === undefined || !matchesSchema(item, field)) return false;
      }
      return true;
    }
    case 'map':
      if (!isObject(value)) return false;
      for (const key in value) if (!matchesSchema(value[key], schema.of)) return false;
      return true;
    case 'list':
      if (!Array.isArray(value)) return false;
      for (const item of value) if (!matchesSchema(item, schema.of)) return false;
      return true;
    case 'string':
    case 'boolean':
      return typeof value === schema.type;
    case 'integer':
      return Number.isSafeInteger(value);
    case 'scalar':
      return typeof value === 'string' || typeof value === 'number';
  }
}

function readObject(
  value: Record<string, unknown>,
  { fields, required = [] }: Extract<Schema, { type: 'object' }>,
  path: string,
  reading: SchemaReading,
): Record<string, unknown> | undefined {
  const { errors, unknownFields } = reading;
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  const missing = required.filter(name => value[name] === undefined || value[name] === null);
  for (const name of missing) errors.push({ field: at(name), message: 'missing' });
  const kept: [string, unknown][] = [];
  for (const [name, item] of Object.entries(value)) {
    const field = ownValue(fields, name);
    if (field !== undefined) {
      if (item !== null && item !== undefined) kept.push([name, readBySchema(item, field, at(name), reading)]);
    } else if (unknownFields === 'refused') {
      const near = suggest(name, Object.keys(fields));
      const next = near === undefined ? {} : { next: `use ${at(near)}, or remove the field` };
      errors.push({ field: at(name), message: 'unknown field', ...next });
    }
  }
  const whole = Object.fromEntries(kept.filter(([, item]) => item !== undefined));
  return required.every(name => Object.hasOwn(whole, name)) ? whole : undefined;
}

/** A null is an error here: `gpu:` without a value was meant as `gpu: ""`. */
function readMap(
  value: Record<string, unknown>,
  { of, what }: Extract<Schema, { type: 'map' }>,
  path: string,
  reading: SchemaReading,
): Record<string, unknown> {
  const { errors } = reading;
  const entries = Object.entries(value).map(([key, item]) => {
    const before = errors.length;
    const kept = readBySchema(item, of, `${path}[${key}]`, reading);
    const error = errors[before];
    if (error !== undefined) error.next = item === null ? `use "" for the empty value` : `quote it: ${what}`;
    return [key, kept] as const;
  });
  return Object.fromEntries(entries.filter(([, kept]) => kept !== undefined));
}

function wrong(value: unknown, expected: string, path: string, { errors }: SchemaReading): undefined {
  errors.push({ field: path, message: `expected ${expected}, found ${describeValue(value)}` });
}

export function describeValue(value: unknown): string {
  if (value === undefined) return 'none';
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  if (typeof value === 'object') return 'a map';
  const shown = JSON.stringify(value) ?? String(value);
  const short = shown.length > 60 ? `${shown.slice(0, 57)}...` : shown;
  return typeof value === 'string' ? short : `the ${typeof value} ${short}`;
}
