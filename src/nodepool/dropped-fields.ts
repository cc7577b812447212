/**
 * Fields of a spec that the CRD which is installed does not have: another version's was put in the place of ours. The
 * server leaves them out when it reads the pool, and whoever writes the pool then loses them for good. That somebody set
 * them is still told by managedFields, which no schema prunes.
 */
import { NodepoolError } from './errors.ts';
import { isObject, own } from './json.ts';
import { POOL_SCHEMA, type Schema, SPEC_SCHEMA } from './schema.ts';
import type { NodePool } from './types.ts';

/** Names of fields of the spec, as the API server gave the pool, managedFields included. */
export function droppedFields({ metadata, spec }: NodePool): string[] {
  const { managedFields } = metadata as { managedFields?: unknown };
  const entries = Array.isArray(managedFields) ? managedFields.filter(isObject) : [];
  const set = new Set(
    entries.flatMap(({ subresource, fieldsV1 }) => {
      const owned = subresource === undefined && isObject(fieldsV1) ? fieldsV1['f:spec'] : undefined;
      return isObject(owned) ? Object.keys(owned) : [];
    }),
  );
  const known = SPEC_SCHEMA.type === 'object' ? Object.keys(SPEC_SCHEMA.fields) : [];
  return known.filter(field => set.has(`f:${field}`) && !(isObject(spec) && Object.hasOwn(spec, field)));
}

/** The pool must not be written. */
export class DroppedFieldsError extends NodepoolError {
  /** Paths, as `spec.nodeSelector`. */
  readonly fields: readonly string[];

  /** @param names of fields of the spec */
  constructor(pool: string, names: readonly string[]) {
    const fields = names.map(name => `spec.${name}`);
    super(
      'cluster',
      `nodepool ${pool} is left as it is: the CRD that is installed drops ${fields.join(', ')}, or a write under such a CRD has lost it`,
      `run \`kubectl nodepool install\`; where it is missing after that, set it again with \`kubectl nodepool edit ${pool}\``,
    );
    this.fields = fields;
  }
}

/** What is to be said of a pool that must not be written; undefined of any other. */
export function droppedWarning({ metadata, dropped = [] }: Pick<NodePool, 'metadata' | 'dropped'>): string | undefined {
  if (dropped.length === 0 || metadata.deletionTimestamp !== undefined) return undefined;
  const { message, next } = new DroppedFieldsError(metadata.name, dropped);
  return `${message}; ${next}`;
}

/** Throws DroppedFieldsError for a pool of which the server drops something; one that is being deleted needs no spec. */
export function assertWhole({ metadata, dropped }: NodePool): void {
  if (dropped !== undefined && metadata.deletionTimestamp === undefined) {
    throw new DroppedFieldsError(metadata.name, dropped);
  }
}

/** Whether this version's CRD has the field. @param path as the server names one that it does not know: `spec.taints[0].key` */
export function isPoolField(path: string): boolean {
  let schema: Schema | undefined = POOL_SCHEMA;
  for (const name of path.replace(/\[\d+\]/g, '').split('.')) {
    if (schema?.type === 'list') schema = schema.of;
    schema = schema?.type === 'object' ? own(schema.fields, name) : undefined;
  }
  return schema !== undefined;
}
