/** The fields of a NodePool and their types, as in the CRD; read-by-schema.ts reads values by it. */

import { NodepoolError, type Warning } from '../errors.ts';
import { isObject, ownValue } from '../json.ts';
import type { NodePool, NodePoolSpec } from '../types.ts';

export type Schema =
  | { type: 'string' }
  | { type: 'integer' }
  | { type: 'boolean' }
  /** A number or a string, such as a quantity. */
  | { type: 'scalar' }
  | { type: 'any' }
  | { type: 'list'; of: Schema }
  /** Any key is allowed. */
  | { type: 'map'; of: Schema; what: string }
  | { type: 'object'; fields: Readonly<Record<string, Schema>>; required?: readonly string[] };

const string: Schema = { type: 'string' };
const integer: Schema = { type: 'integer' };
const boolean: Schema = { type: 'boolean' };

const labels: Schema = { type: 'map', of: string, what: 'label values are strings' };
const annotations: Schema = { type: 'map', of: string, what: 'annotation values are strings' };

const metadata: Schema = {
  type: 'object',
  required: ['name'],
  fields: {
    name: string,
    // Set by kustomize; removed by the server and withoutServerFields().
    namespace: string,
    labels,
    annotations,
    finalizers: { type: 'list', of: string },
    ownerReferences: {
      type: 'list',
      of: {
        type: 'object',
        required: ['apiVersion', 'kind', 'name', 'uid'],
        fields: {
          apiVersion: string,
          kind: string,
          name: string,
          uid: string,
          controller: boolean,
          blockOwnerDeletion: boolean,
        },
      },
    },
    uid: string,
    resourceVersion: string,
    generation: integer,
    creationTimestamp: string,
    deletionTimestamp: string,
    deletionGracePeriodSeconds: integer,
    generateName: string,
    selfLink: string,
    managedFields: { type: 'any' },
  },
};

const specFields: Readonly<Record<keyof NodePoolSpec, Schema>> = {
  labels,
  taints: {
    type: 'list',
    of: {
      type: 'object',
      required: ['key', 'effect'],
      fields: { key: string, value: string, effect: string, timeAdded: string },
    },
  },
  handler: string,
  nodeSelector: labels,
  matchExpressions: {
    type: 'list',
    of: {
      type: 'object',
      required: ['key', 'operator'],
      fields: { key: string, operator: string, values: { type: 'list', of: string } },
    },
  },
  unmanaged: string,
  annotations,
  startupTaints: {
    type: 'list',
    of: {
      type: 'object',
      required: ['key', 'effect'],
      fields: {
        key: string,
        value: string,
        effect: string,
        until: { type: 'object', required: ['nodeCondition'], fields: { nodeCondition: string } },
        again: string,
      },
    },
  },
  paused: boolean,
  rollout: {
    type: 'object',
    fields: {
      maxConcurrent: { type: 'scalar' },
      canary: { type: 'scalar' },
      settleSeconds: integer,
      stopOnNotReady: boolean,
    },
  },
  noExecute: string,
};

export const SPEC_SCHEMA: Schema = { type: 'object', fields: specFields };

export const SPEC_FIELDS = Object.keys(specFields) as readonly (keyof NodePoolSpec)[];

export const STATUS_SCHEMA: Schema = {
  type: 'object',
  fields: {
    status: integer,
    nodeCount: integer,
    readyNodeCount: integer,
    updatedNodeCount: integer,
    unschedulableNodeCount: integer,
    podCount: integer,
    allocatable: { type: 'map', of: { type: 'scalar' }, what: 'quantities are strings or numbers' },
    observedGeneration: integer,
    stoppedRollouts: {
      type: 'list',
      of: {
        type: 'object',
        required: ['rollout', 'time'],
        fields: { rollout: string, time: string, nodes: { type: 'list', of: string } },
      },
    },
    conditions: { type: 'list', of: { type: 'any' } },
  },
};

export const POOL_SCHEMA: Schema = {
  type: 'object',
  required: ['metadata'],
  fields: { apiVersion: string, kind: string, metadata, spec: SPEC_SCHEMA, status: STATUS_SCHEMA },
};

/** A condition of any writer, with the fields that the CRD requires. */
export const CONDITION_SCHEMA: Schema = {
  type: 'object',
  required: ['type', 'status'],
  fields: {
    type: string,
    status: string,
    reason: string,
    message: string,
    lastTransitionTime: string,
    observedGeneration: integer,
  },
};

// Finds spec fields that the installed CRD does not have, because a CRD of another version replaced ours. The server
// prunes these fields on read, and any write of the pool then deletes them permanently. managedFields still lists them,
// because no schema prunes it.

/** Prefix of a field's key in managedFields. */
const OWNED = 'f:';

/** Names of the missing spec fields. The pool must be unchanged from the API server, with managedFields. */
export function droppedFields({ metadata, spec }: NodePool): string[] {
  const { managedFields } = metadata as { managedFields?: unknown };
  if (!Array.isArray(managedFields)) return NONE;
  let missing: Set<string> | undefined;
  for (const entry of managedFields) {
    if (!isObject(entry)) continue;
    const { subresource, fieldsV1 } = entry;
    const owned = subresource === undefined && isObject(fieldsV1) ? fieldsV1['f:spec'] : undefined;
    if (!isObject(owned)) continue;
    for (const key in owned) {
      if (!key.startsWith(OWNED)) continue;
      const field = key.slice(OWNED.length);
      const isMissing = !isObject(spec) || !Object.hasOwn(spec, field);
      if (isMissing || (field === 'startupTaints' && lacksAgain(owned[key], spec[field])))
        missing = (missing ?? new Set()).add(field);
    }
  }
  return missing === undefined ? NONE : SPEC_FIELDS.filter(field => missing.has(field));
}

const NONE: string[] = [];

/** `again` is newer than the other fields of a startup taint: an earlier CRD drops only this field. */
function lacksAgain(owned: unknown, taints: unknown): boolean {
  const isOwned = isObject(owned) && Object.values(owned).some(item => isObject(item) && 'f:again' in item);
  return isOwned && Array.isArray(taints) && !taints.some(taint => isObject(taint) && 'again' in taint);
}

/** The pool must not be written, because the CRD drops fields. */
export class DroppedFieldsError extends NodepoolError {
  /** Field paths, such as `spec.nodeSelector`. */
  readonly fields: readonly string[];

  /** @param names of spec fields */
  constructor(pool: string, names: readonly string[]) {
    const fields = names.map(name => `spec.${name}`);
    super(
      'cluster',
      `pool ${pool} is not changed: the installed CRD drops ${fields.join(', ')}, or an earlier write under such a CRD dropped it`,
      `run \`kubectl nodepool install\`; if the field is missing afterwards, set it with \`kubectl nodepool edit ${pool}\``,
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

/** Throws DroppedFieldsError if the server drops fields of the pool. A pool that is being deleted needs no spec. */
export function assertWhole({ metadata, dropped }: NodePool): void {
  if (dropped !== undefined && metadata.deletionTimestamp === undefined) {
    throw new DroppedFieldsError(metadata.name, dropped);
  }
}

/** Whether this version's CRD has the field. @param path as the server names an unknown field: `spec.taints[0].key` */
export function isPoolField(path: string): boolean {
  let schema: Schema | undefined = POOL_SCHEMA;
  for (const name of path.replace(/\[\d+\]/g, '').split('.')) {
    if (schema?.type === 'list') schema = schema.of;
    schema = schema?.type === 'object' ? ownValue(schema.fields, name) : undefined;
  }
  return schema !== undefined;
}
