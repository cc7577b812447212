/** The fields of a pod that decide its eviction, by a drain or by a taint. Field numbers: see objects.ts. */
import type { V1Pod } from '@kubernetes/client-node';
import type { Wire } from '../wire.ts';
import type { DecodeObject } from './objects.ts';
import { bool, decode, type FieldReader, message, type Schema, text, time } from './schema.ts';

/** The kubelet sets it on the mirror pod of a static pod. */
export const MIRROR_ANNOTATION = 'kubernetes.io/config.mirror';

const OWNER: Schema = {
  1: { name: 'kind', read: text },
  3: { name: 'name', read: text },
  5: { name: 'apiVersion', read: text },
  6: { name: 'controller', read: bool },
};

const META: Schema = {
  1: { name: 'name', read: text },
  3: { name: 'namespace', read: text },
  5: { name: 'uid', read: text },
  9: { name: 'deletionTimestamp', read: time },
  12: { name: 'annotations', read: text, repeated: 'map', only: new Set([MIRROR_ANNOTATION]) },
  13: { name: 'ownerReferences', read: message(OWNER), repeated: 'list' },
};

const SOURCE: Schema = {
  2: { name: 'emptyDir', read: message({}) },
  10: { name: 'persistentVolumeClaim', read: message({ 1: { name: 'claimName', read: text } }) },
};
const readParts = message({ 2: { name: 'source', read: message(SOURCE) } });
/** In JSON, the fields of the source are in the volume itself. */
const readVolume: FieldReader = reader => (readParts(reader) as { source?: object }).source ?? {};

const seconds: FieldReader = reader => Number(reader.int64());

const TOLERATION: Schema = {
  1: { name: 'key', read: text },
  2: { name: 'operator', read: text },
  3: { name: 'value', read: text },
  4: { name: 'effect', read: text },
  5: { name: 'tolerationSeconds', read: seconds, keepsZero: true },
};

const TOLERATIONS = { name: 'tolerations', read: message(TOLERATION), repeated: 'list' as const };

/** For label selectors and node affinity. */
export const REQUIREMENTS = {
  read: message({
    1: { name: 'key', read: text },
    2: { name: 'operator', read: text },
    3: { name: 'values', read: text, repeated: 'list' },
  }),
  repeated: 'list' as const,
};

const NODE_TERM: Schema = {
  1: { name: 'matchExpressions', ...REQUIREMENTS },
  2: { name: 'matchFields', ...REQUIREMENTS },
};

const NODE_AFFINITY: Schema = {
  1: {
    name: 'requiredDuringSchedulingIgnoredDuringExecution',
    read: message({ 1: { name: 'nodeSelectorTerms', read: message(NODE_TERM), repeated: 'list' } }),
  },
};

/** The fields that decide on which nodes the pod can be scheduled, without regard to other pods. */
export const EVICTED_SPEC = {
  7: { name: 'nodeSelector', read: text, repeated: 'map' },
  18: { name: 'nodeAffinity', read: message(NODE_AFFINITY) },
  22: TOLERATIONS,
} as const;

const CONDITION: Schema = { 1: { name: 'type', read: text }, 2: { name: 'status', read: text } };

const PHASE = { name: 'phase', read: text };

const DRAINED_POD: Schema = {
  1: {
    name: 'metadata',
    read: message({
      ...META,
      8: { name: 'creationTimestamp', read: time },
      11: { name: 'labels', read: text, repeated: 'map' },
    }),
  },
  2: {
    name: 'spec',
    read: message({
      1: { name: 'volumes', read: readVolume, repeated: 'list' },
      7: EVICTED_SPEC[7],
      18: { name: 'affinity', read: message({ 1: EVICTED_SPEC[18] }) },
      22: TOLERATIONS,
    }),
  },
  3: {
    name: 'status',
    read: message({ 1: PHASE, 2: { name: 'conditions', read: message(CONDITION), repeated: 'list' } }),
  },
};

const TOLERATING_POD: Schema = {
  1: { name: 'metadata', read: message(META) },
  2: { name: 'spec', read: message({ 10: { name: 'nodeName', read: text }, 22: TOLERATIONS }) },
  3: { name: 'status', read: message({ 1: PHASE }) },
};

export const decodeDrainedPod: DecodeObject<Wire<V1Pod>> = raw => decode(DRAINED_POD, raw);
export const decodeToleratingPod: DecodeObject<Wire<V1Pod>> = raw => decode(TOLERATING_POD, raw);
