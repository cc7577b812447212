/** The fields of a NodePool and their types, as in the CRD; typed.ts reads values by it. */
import type { NodePoolSpec } from '../types.ts';

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
    // Set by kustomize; the server removes it, and withoutServerFields().
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

/** Names of all fields of the spec. */
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

/** A condition of any writer: the fields that the CRD requires. */
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
