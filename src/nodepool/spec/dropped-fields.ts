/**
 * Finds spec fields that the installed CRD does not have, because a CRD of another version replaced ours. The server
 * prunes these fields on read, and any write of the pool then deletes them permanently. managedFields still lists them,
 * because no schema prunes it.
 */
import { NodepoolError, type Warning } from '../errors.ts';
import { isObject, own } from '../json.ts';
import type { NodePool } from '../types.ts';
import { POOL_SCHEMA, type Schema, SPEC_FIELDS } from './schema.ts';

/** Of a field's key in managedFields. */
const OWNED = 'f:';

/** Names of the spec fields that are missing. The pool must be as the API server returned it, with managedFields. */
export function droppedFields({ metadata, spec }: NodePool): string[] {
  const { managedFields } = metadata as { managedFields?: unknown };
  const entries = Array.isArray(managedFields) ? managedFields.filter(isObject) : [];
  const missing = new Set<string>();
  for (const { subresource, fieldsV1 } of entries) {
    const owned = subresource === undefined && isObject(fieldsV1) ? fieldsV1['f:spec'] : undefined;
    if (!isObject(owned)) continue;
    for (const key in owned) {
      if (!key.startsWith(OWNED)) continue;
      const field = key.slice(OWNED.length);
      if (!isObject(spec) || !Object.hasOwn(spec, field)) missing.add(field);
      else if (field === 'startupTaints' && lacksAgain(owned[key], spec[field])) missing.add(field);
    }
  }
  return missing.size === 0 ? [] : SPEC_FIELDS.filter(field => missing.has(field));
}

/** `again` came later than the other fields of a startup taint: an earlier CRD drops it alone. */
function lacksAgain(owned: unknown, taints: unknown): boolean {
  const isOwned = isObject(owned) && Object.values(owned).some(item => isObject(item) && 'f:again' in item);
  return isOwned && Array.isArray(taints) && !taints.some(taint => isObject(taint) && 'again' in taint);
}

/** The pool must not be written. */
export class DroppedFieldsError extends NodepoolError {
  /** Field paths, such as `spec.nodeSelector`. */
  readonly fields: readonly string[];

  /** @param names of spec fields */
  constructor(pool: string, names: readonly string[]) {
    const fields = names.map(name => `spec.${name}`);
    super(
      'cluster',
      `nodepool ${pool} is not changed: the installed CRD drops ${fields.join(', ')}, or a write under such a CRD has lost it`,
      `run \`kubectl nodepool install\`; where it is missing after that, set it again with \`kubectl nodepool edit ${pool}\``,
    );
    this.fields = fields;
  }
}

/** The warning for a pool that must not be written; undefined for all others. */
export function droppedWarning({
  metadata,
  dropped = [],
}: Pick<NodePool, 'metadata' | 'dropped'>): Warning | undefined {
  if (dropped.length === 0 || metadata.deletionTimestamp !== undefined) return undefined;
  const { message, next } = new DroppedFieldsError(metadata.name, dropped);
  return { message, next };
}

/** Throws DroppedFieldsError when the server drops fields of the pool. A pool that is being deleted needs no spec. */
export function assertWhole({ metadata, dropped }: NodePool): void {
  if (dropped !== undefined && metadata.deletionTimestamp === undefined) {
    throw new DroppedFieldsError(metadata.name, dropped);
  }
}

/** Whether this version's CRD has the field. @param path as the server names an unknown one: `spec.taints[0].key` */
export function isPoolField(path: string): boolean {
  let schema: Schema | undefined = POOL_SCHEMA;
  for (const name of path.replace(/\[\d+\]/g, '').split('.')) {
    if (schema?.type === 'list') schema = schema.of;
    schema = schema?.type === 'object' ? own(schema.fields, name) : undefined;
  }
  return schema !== undefined;
}
