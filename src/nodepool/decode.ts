/** From a parsed YAML or JSON document to a NodePool, strictly: what the server would drop or refuse is an error here. */
import { NodepoolError } from './errors.ts';
import { type FieldError, fieldErrors } from './field-error.ts';
import { isObject } from './json.ts';
import { POOL_SCHEMA, type Schema } from './schema.ts';
import { suggest } from './suggest.ts';
import { API_VERSION, type NodePool, type ObjectMeta } from './types.ts';

/**
 * Checks that the value is a NodePool: its kind, the names of its fields and their types; not its rules (see
 * validation.ts). Nulls are left out, as the server does; a missing spec becomes an empty one.
 *
 * @param source where the value came from, for the error: a file name, `stdin`
 * @throws NodepoolError `input`, naming each wrong field
 */
export function decodePool(value: unknown, source: string): NodePool {
  if (!isObject(value)) {
    throw new NodepoolError(
      'input',
      `${source}: expected a NodePool, found ${describe(value)}`,
      'begin it with apiVersion, kind, metadata and spec',
    );
  }
  checkKind(value, source);
  const errors: FieldError[] = [];
  const decoded = walk(value, POOL_SCHEMA, '', errors);
  if (errors.length > 0) throw fieldErrors(source, errors);
  return { spec: {}, ...(decoded as Omit<NodePool, 'spec'>) };
}

/**
 * The pool as it is sent to be created: without its status and what only the server sets. A pool that was read from
 * a cluster can so be created again; kubectl create sends these fields, and is refused for the resourceVersion.
 */
export function withoutServerFields(pool: NodePool): NodePool {
  const { name, labels, annotations, finalizers, ownerReferences } = pool.metadata;
  const metadata: ObjectMeta = {
    name,
    ...(labels === undefined ? {} : { labels }),
    ...(annotations === undefined ? {} : { annotations }),
    ...(finalizers === undefined ? {} : { finalizers }),
    ...(ownerReferences === undefined ? {} : { ownerReferences }),
  };
  return { apiVersion: pool.apiVersion, kind: pool.kind, metadata, spec: pool.spec };
}

function checkKind(value: Record<string, unknown>, source: string): void {
  const { apiVersion, kind } = value;
  if (apiVersion === API_VERSION && kind === 'NodePool') return;
  const found = [`apiVersion ${describe(apiVersion)}`, `kind ${describe(kind)}`].join(' and ');
  const next =
    kind === 'NodePool' || apiVersion === undefined || kind === undefined
      ? `write apiVersion: ${API_VERSION} and kind: NodePool`
      : 'use kubectl create for objects of other kinds';
  throw new NodepoolError('input', `${source}: not a NodePool: found ${found}`, next);
}

/** The value without its nulls. What is wrong goes to `errors`. */
function walk(value: unknown, schema: Schema, path: string, errors: FieldError[]): unknown {
  switch (schema.type) {
    case 'any':
      return value;
    case 'object':
      if (!isObject(value)) return wrong(value, 'a map of fields', path, errors);
      return walkObject(value, schema, path, errors);
    case 'map':
      if (!isObject(value)) return wrong(value, 'a map', path, errors);
      return walkMap(value, schema, path, errors);
    case 'list':
      if (!Array.isArray(value)) return wrong(value, 'a list', path, errors);
      return value.map((item, index) => walk(item, schema.of, `${path}[${index}]`, errors));
    case 'string':
      return typeof value === 'string' ? value : wrong(value, 'a string', path, errors);
    case 'boolean':
      return typeof value === 'boolean' ? value : wrong(value, 'true or false', path, errors);
    case 'integer':
      return Number.isSafeInteger(value) ? value : wrong(value, 'a whole number', path, errors);
    case 'scalar':
      return typeof value === 'string' || typeof value === 'number'
        ? value
        : wrong(value, 'a string or a number', path, errors);
  }
}

function walkObject(
  value: Record<string, unknown>,
  { fields, required = [] }: Extract<Schema, { type: 'object' }>,
  path: string,
  errors: FieldError[],
): Record<string, unknown> {
  const at = (name: string) => (path === '' ? name : `${path}.${name}`);
  for (const name of required) {
    if (value[name] === undefined || value[name] === null) errors.push({ field: at(name), message: 'missing' });
  }
  const kept: [string, unknown][] = [];
  for (const [name, item] of Object.entries(value)) {
    const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
    if (field === undefined) {
      const near = suggest(name, Object.keys(fields));
      const next = near === undefined ? {} : { next: `did you mean ${at(near)}?` };
      errors.push({ field: at(name), message: 'unknown field', ...next });
    } else if (item !== null && item !== undefined) {
      kept.push([name, walk(item, field, at(name), errors)]);
    }
  }
  return Object.fromEntries(kept);
}

/** A null is an error here, not an absent entry: `gpu:` without a value was meant to be `gpu: ""`. */
function walkMap(
  value: Record<string, unknown>,
  { of, what }: Extract<Schema, { type: 'map' }>,
  path: string,
  errors: FieldError[],
): Record<string, unknown> {
  const entries = Object.entries(value).map(([key, item]) => {
    const before = errors.length;
    const kept = walk(item, of, `${path}[${key}]`, errors);
    const error = errors[before];
    if (error !== undefined) error.next = item === null ? `write "" for the empty value` : `quote it: ${what}`;
    return [key, kept] as const;
  });
  return Object.fromEntries(entries);
}

function wrong(value: unknown, expected: string, path: string, errors: FieldError[]): undefined {
  errors.push({ field: path, message: `expected ${expected}, found ${describe(value)}` });
}

function describe(value: unknown): string {
  if (value === undefined) return 'none';
  if (value === null) return 'nothing';
  if (Array.isArray(value)) return 'a list';
  if (value instanceof Date) return 'a date';
  if (typeof value === 'object') return 'a map';
  const shown = JSON.stringify(value) ?? String(value);
  const short = shown.length > 60 ? `${shown.slice(0, 57)}...` : shown;
  return typeof value === 'string' ? short : `the ${typeof value} ${short}`;
}
