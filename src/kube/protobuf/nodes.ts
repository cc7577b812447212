/** The metadata of a node with its annotations and their field managers, read only by `adopt`. */

import type { V1Node } from '@kubernetes/client-node';
import type { ResourceList } from '../../nodepool/types.ts';
import type { Wire } from '../wire.ts';
import { type DecodeObject, NODE_STATUS, nodeSchema } from './objects.ts';
import { bytes, decode, type FieldReader, message, type Schema, text, wrappedValue } from './schema.ts';

/** The input of readNodeAnnotations(). */
export interface AnnotatedNode {
  uid?: string;
  annotations?: Record<string, string>;
  managedFields?: { manager?: string; fieldsV1?: unknown }[];
}

/** FieldsV1 is JSON in protobuf as well. */
const readFieldsV1: FieldReader = reader => {
  const { raw = new Uint8Array() } = message({ 1: { name: 'raw', read: bytes } })(reader) as { raw?: Uint8Array };
  return JSON.parse(Buffer.from(raw).toString('utf8'));
};

const MANAGED_FIELDS: Schema = {
  1: { name: 'manager', read: text },
  7: { name: 'fieldsV1', read: readFieldsV1 },
};

const METADATA: Schema = {
  5: { name: 'uid', read: text },
  12: { name: 'annotations', read: text, repeated: 'map' },
  17: { name: 'managedFields', read: message(MANAGED_FIELDS), repeated: 'list' },
};

/** Decodes a meta/v1 PartialObjectMetadata. */
export function decodeAnnotated(raw: Uint8Array): { metadata?: AnnotatedNode } {
  return decode({ 1: { name: 'metadata', read: message(METADATA) } }, raw);
}

// A node with the runtime handlers that its kubelet reports, for `doctor`.

/** Without the features of the handler. */
const HANDLER: Schema = { 1: { name: 'name', read: text } };
const STATUS: Schema = { ...NODE_STATUS, 12: { name: 'runtimeHandlers', read: message(HANDLER), repeated: 'list' } };

/** @param annotations see nodeSchema() */
export function examinedNodeDecoder(annotations: ReadonlySet<string>): DecodeObject<Wire<V1Node>> {
  const schema = nodeSchema(annotations, STATUS);
  return raw => decode(schema, raw);
}

// NodeMetrics and PodMetrics of metrics.k8s.io: names and usage, without the labels.
// Field numbers: generated.proto of k8s.io/metrics, metrics/v1beta1.

/** The fields of a v1beta1 NodeMetrics that are used. */
export interface NodeMetrics {
  metadata?: { name?: string };
  usage?: ResourceList;
}

/** The fields of a v1beta1 PodMetrics that are used. */
export interface PodMetrics {
  metadata?: { name?: string; namespace?: string };
  containers?: { usage?: ResourceList }[];
}

const USAGE = { name: 'usage', read: wrappedValue(text), repeated: 'map' } as const;

const NODE_METRICS: Schema = {
  1: { name: 'metadata', read: message({ 1: { name: 'name', read: text } }) },
  4: USAGE,
};

const POD_METRICS: Schema = {
  1: { name: 'metadata', read: message({ 1: { name: 'name', read: text }, 3: { name: 'namespace', read: text } }) },
  4: { name: 'containers', read: message({ 2: USAGE }), repeated: 'list' },
};

export const decodeNodeMetrics: DecodeObject<NodeMetrics> = raw => decode(NODE_METRICS, raw);

export const decodePodMetrics: DecodeObject<PodMetrics> = raw => decode(POD_METRICS, raw);
