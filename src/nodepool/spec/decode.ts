/** Strictly decodes a parsed YAML or JSON document: anything that the server would drop or reject is an error. */
import { NodepoolError } from '../errors.ts';
import { isObject } from '../json.ts';
import { API_VERSION, type NodePool, type ObjectMeta } from '../types.ts';
import { type FieldError, fieldErrors } from './field-error.ts';
import { POOL_SCHEMA } from './schema.ts';
import { describeValue, readTyped } from './typed.ts';

/**
 * Checks the kind, field names and field types of a NodePool, not its rules (see validation.ts). Removes nulls, as the
 * server does; a missing spec becomes an empty one.
 *
 * @param source where the value came from, for errors: a file name, `stdin`
 * @param placeOf the source of one field, where it is known more precisely
 * @throws NodepoolError `input`, naming each wrong field
 */
export function decodePool(value: unknown, source: string, placeOf?: (field: string) => string): NodePool {
  if (!isObject(value)) {
    throw new NodepoolError(
      'input',
      `${source}: expected a NodePool, found ${describeValue(value)}`,
      'begin it with apiVersion, kind, metadata and spec',
    );
  }
  checkKind(value, source);
  const errors: FieldError[] = [];
  const decoded = readTyped(value, POOL_SCHEMA, '', { errors, unknownFields: 'refused' });
  if (errors.length > 0) throw fieldErrors(source, errors, placeOf);
  return { spec: {}, ...(decoded as Omit<NodePool, 'spec'>) };
}

/**
 * The pool without status and without metadata that the server sets, so that a pool read from a cluster can be created
 * again. kubectl create sends these fields and is rejected for the resourceVersion.
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
  const found = [`apiVersion ${describeValue(apiVersion)}`, `kind ${describeValue(kind)}`].join(' and ');
  const next =
    kind === 'NodePool' || apiVersion === undefined || kind === undefined
      ? `write apiVersion: ${API_VERSION} and kind: NodePool`
      : 'use kubectl create for objects of other kinds';
  throw new NodepoolError('input', `${source}: not a NodePool: found ${found}`, next);
}
