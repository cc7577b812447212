/** A node with the runtime handlers that its kubelet reports, for `doctor`. */
import type { V1Node } from '@kubernetes/client-node';
import type { Wire } from '../wire.ts';
import { type DecodeObject, NODE, NODE_STATUS } from './objects.ts';
import { decode, message, type Schema, text } from './schema.ts';

/** Without its features. */
const HANDLER: Schema = { 1: { name: 'name', read: text } };
const STATUS: Schema = { ...NODE_STATUS, 12: { name: 'runtimeHandlers', read: message(HANDLER), repeated: 'list' } };
const EXAMINED_NODE: Schema = { ...NODE, 3: { name: 'status', read: message(STATUS) } };

export const decodeExaminedNode: DecodeObject<Wire<V1Node>> = raw => decode(EXAMINED_NODE, raw);
