/** The fields of a pod that decide its eviction by a taint. Field numbers: see objects.ts. */
import type { V1Pod } from '@kubernetes/client-node';
import type { Wire } from '../wire.ts';
import type { DecodeObject } from './objects.ts';
import { bool, decode, message, type Read, type Schema, text, time } from './schema.ts';

const seconds: Read = reader => Number(reader.int64());

const OWNER: Schema = {
  1: { name: 'kind', read: text },
  3: { name: 'name', read: text },
  6: { name: 'controller', read: bool },
};

const META: Schema = {
  1: { name: 'name', read: text },
  3: { name: 'namespace', read: text },
  5: { name: 'uid', read: text },
  9: { name: 'deletionTimestamp', read: time },
  13: { name: 'ownerReferences', read: message(OWNER), repeated: 'list' },
};

const TOLERATION: Schema = {
  1: { name: 'key', read: text },
  2: { name: 'operator', read: text },
  3: { name: 'value', read: text },
  4: { name: 'effect', read: text },
  5: { name: 'tolerationSeconds', read: seconds, keepsZero: true },
};

const SPEC: Schema = {
  10: { name: 'nodeName', read: text },
  22: { name: 'tolerations', read: message(TOLERATION), repeated: 'list' },
};

const POD: Schema = {
  1: { name: 'metadata', read: message(META) },
  2: { name: 'spec', read: message(SPEC) },
  3: { name: 'status', read: message({ 1: { name: 'phase', read: text } }) },
};

export const decodeToleratingPod: DecodeObject<Wire<V1Pod>> = raw => decode(POD, raw);
