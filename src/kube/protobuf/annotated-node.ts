/** The metadata of a node with its annotations and who set them, which only `adopt` reads. */
import { bytes, decode, message, type Read, type Schema, text } from './schema.ts';

/** As readNodeAnnotations() takes it. */
export interface AnnotatedNode {
  uid?: string;
  annotations?: Record<string, string>;
  managedFields?: { manager?: string; fieldsV1?: unknown }[];
}

/** FieldsV1 is JSON in protobuf, too. */
const readFieldsV1: Read = reader => {
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
