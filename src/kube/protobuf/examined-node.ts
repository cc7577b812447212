/** A node with the runtime handlers that its kubelet reports, for `doctor`. */
import type { V1Node } from '@kubernetes/client-node';
import type { Wire } from '../wire.ts';
import { type DecodeObject, NODE_STATUS, nodeSchema } from './objects.ts';
import { decode, message, type Schema, text } from './schema.ts';

/** Without its features. */
const HANDLER: Schema = { 1: { name: 'name', read: text } };
const STATUS: Schema = { ...NODE_STATUS, 12: { name: 'runtimeHandlers', read: message(HANDLER), repeated: 'list' } };

/** @param annotations as of nodeSchema() */
export function examinedNodeDecoder(annotations: ReadonlySet<string>): DecodeObject<Wire<V1Node>> {
  const schema = nodeSchema(annotations, STATUS);
  return raw => decode(schema, raw);
}
