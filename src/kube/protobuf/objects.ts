/**
 * Decoders of the API's objects in protobuf. The result equals JSON.parse of the same object, without unused fields.
 * Messages that are written back whole, such as taints, throw UnknownFieldError for a field that would be lost. Fields
 * that few commands use have decoders in other files.
 *
 * Field numbers: generated.proto of k8s.io/api/core/v1 and k8s.io/apimachinery (meta/v1, runtime). They are never
 * reused.
 */
import type { V1Node, V1Pod } from '@kubernetes/client-node';
import { BORN_ANNOTATION, MAINTENANCE_ANNOTATION, RECORD_ANNOTATION } from '../../nodepool/types.ts';
import type { Wire } from '../wire.ts';
import { bool, bytes, decode, int32, message, type Schema, text, time, wholeMessage, wrappedValue } from './schema.ts';

export { UnknownFieldError } from './schema.ts';

export const PROTOBUF = 'application/vnd.kubernetes.protobuf';

/** Prefix of every top-level object. */
const MAGIC = Buffer.from('k8s\0');
export const MAGIC_BYTES = MAGIC.length;

export function isProtobuf(contentType: string | undefined): boolean {
  return contentType?.startsWith(PROTOBUF) ?? false;
}

/** Whether the bytes start with the prefix. */
export function hasMagic(body: Uint8Array): boolean {
  return MAGIC.equals(body.subarray(0, MAGIC_BYTES));
}

const META: Schema = {
  1: { name: 'name', read: text },
  3: { name: 'namespace', read: text },
  5: { name: 'uid', read: text },
  6: { name: 'resourceVersion', read: text },
  8: { name: 'creationTimestamp', read: time },
  11: { name: 'labels', read: text, repeated: 'map' },
  12: { name: 'annotations', read: text, repeated: 'map' },
};

const RECORDS = [RECORD_ANNOTATION, BORN_ANNOTATION];
/** The last one marks a bookmark, which has the kind of the watched objects. */
const USED_OF_NODES = [...RECORDS, MAINTENANCE_ANNOTATION, 'k8s.io/initial-events-end'];

/** Written back whole. */
const TAINT: Schema = {
  1: { name: 'key', read: text },
  2: { name: 'value', read: text },
  3: { name: 'effect', read: text },
  4: { name: 'timeAdded', read: time },
};

const NODE_SPEC: Schema = {
  4: { name: 'unschedulable', read: bool },
  5: { name: 'taints', read: wholeMessage('a taint', TAINT), repeated: 'list' },
};

const NODE_CONDITION: Schema = {
  1: { name: 'type', read: text },
  2: { name: 'status', read: text },
  4: { name: 'lastTransitionTime', read: time },
};

export const NODE_STATUS: Schema = {
  2: { name: 'allocatable', read: wrappedValue(text), repeated: 'map' },
  4: { name: 'conditions', read: message(NODE_CONDITION), repeated: 'list' },
  7: { name: 'nodeInfo', read: message({ 3: { name: 'bootID', read: text } }) },
};

/** @param annotations keys of the annotations to keep; others of a node may be long */
export function nodeSchema(annotations: ReadonlySet<string>, status: Schema = NODE_STATUS): Schema {
  const only = new Set([...USED_OF_NODES, ...annotations]);
  const meta: Schema = {
    ...META,
    9: { name: 'deletionTimestamp', read: time },
    12: { name: 'annotations', read: text, repeated: 'map', only },
  };
  return {
    1: { name: 'metadata', read: message(meta) },
    2: { name: 'spec', read: message(NODE_SPEC) },
    3: { name: 'status', read: message(status) },
  };
}

const POD: Schema = {
  1: { name: 'metadata', read: message(META) },
  2: { name: 'spec', read: message({ 10: { name: 'nodeName', read: text } }) },
};

const CAUSE: Schema = {
  1: { name: 'reason', read: text },
  2: { name: 'message', read: text },
  3: { name: 'field', read: text },
};

const DETAILS: Schema = {
  1: { name: 'name', read: text },
  2: { name: 'group', read: text },
  3: { name: 'kind', read: text },
  4: { name: 'causes', read: message(CAUSE), repeated: 'list' },
  5: { name: 'retryAfterSeconds', read: int32 },
};

const STATUS: Schema = {
  2: { name: 'status', read: text },
  3: { name: 'message', read: text },
  4: { name: 'reason', read: text },
  5: { name: 'details', read: message(DETAILS) },
  6: { name: 'code', read: int32 },
};

const LIST_META: Schema = { 2: { name: 'resourceVersion', read: text }, 3: { name: 'continue', read: text } };

const ENVELOPE: Schema = {
  1: { name: 'type', read: message({ 2: { name: 'kind', read: text } }) },
  2: { name: 'raw', read: bytes },
};

const WATCH_EVENT: Schema = { 1: { name: 'type', read: text }, 2: { name: 'object', read: wrappedValue(bytes) } };

/** Decodes a message of one kind, without its envelope. */
export type DecodeObject<T extends object = object> = (raw: Uint8Array) => T;

/** @param annotations see nodeSchema() */
export function nodeDecoder(annotations: ReadonlySet<string>): DecodeObject<Wire<V1Node>> {
  const schema = nodeSchema(annotations);
  return raw => decode(schema, raw);
}

/** Keeps only these annotations: the record, the birth record and the maintenance. */
export const decodeNode = nodeDecoder(new Set());
export const decodePod: DecodeObject<Wire<V1Pod>> = raw => decode(POD, raw);

/** Name, labels, record and birth record of an object without spec and status. */
export interface NamedLabels {
  name?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}

const NAMED_LABELS: Schema = {
  1: { name: 'name', read: text },
  11: { name: 'labels', read: text, repeated: 'map' },
  12: { name: 'annotations', read: text, repeated: 'map', only: new Set(RECORDS) },
};
const METADATA: Schema = { 1: { name: 'metadata', read: message(NAMED_LABELS) } };

/** Decodes a meta/v1 PartialObjectMetadata. */
export function decodeMetadata(raw: Uint8Array): NamedLabels {
  const { metadata = {} }: { metadata?: NamedLabels } = decode(METADATA, raw);
  return metadata;
}

export interface ListMeta {
  resourceVersion?: string;
  continue?: string;
}

export function decodeListMeta(raw: Uint8Array): ListMeta {
  return decode(LIST_META, raw);
}

/** Decodes an object in its envelope: an object of the requested kind, or a Status. */
export function decodeEnvelope<T extends object>(body: Uint8Array, decodeObject: DecodeObject<T>): T | object {
  if (!hasMagic(body)) throw new Error('an object has no protobuf envelope');
  const { type, raw = new Uint8Array() }: { type?: { kind?: string }; raw?: Uint8Array } = decode(
    ENVELOPE,
    body.subarray(MAGIC_BYTES),
  );
  return type?.kind === 'Status' ? { kind: 'Status', ...decode(STATUS, raw) } : decodeObject(raw);
}

export function decodeStatus(body: Uint8Array): object {
  return decodeEnvelope(body, () => ({}));
}

/** Decodes one frame of a watch, to `{ type, object }`. */
export function decodeWatchEvent(frame: Uint8Array, decodeObject: DecodeObject): object {
  const { type, object = new Uint8Array() }: { type?: string; object?: Uint8Array } = decode(WATCH_EVENT, frame);
  return { type, object: decodeEnvelope(object, decodeObject) };
}
