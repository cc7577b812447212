/** Fields that decide the scheduling of a pod and of others (scheduling/pod/raw-pod.ts). Numbers: see objects.ts. */
import { isCustomController } from '../../nodepool/plan/runtime-class-users.ts';
import type { RawPod } from '../../scheduling/pod/raw-pod.ts';
import { EVICTED_SPEC, REQUIREMENTS } from './evicted-pod.ts';
import type { DecodeObject } from './objects.ts';
import { DEMAND_CONTAINER, DEMAND_SPEC, DEMAND_STATUS } from './pod-demand.ts';
import { bool, decode, type FieldReader, int32, message, type Schema, text, time, wrappedValue } from './schema.ts';
import { OWNERS } from './workloads.ts';

const TEXTS = { read: text, repeated: 'list' as const };

const LABELS = { name: 'labels', read: text, repeated: 'map' as const };

const META: Schema = {
  1: { name: 'name', read: text },
  3: { name: 'namespace', read: text },
  9: { name: 'deletionTimestamp', read: time },
};

const PORT: Schema = {
  2: { name: 'hostPort', read: int32 },
  3: { name: 'containerPort', read: int32 },
  4: { name: 'protocol', read: text },
  5: { name: 'hostIP', read: text },
};

const CONTAINER: Schema = { ...DEMAND_CONTAINER, 6: { name: 'ports', read: message(PORT), repeated: 'list' } };

const READ_ONLY = { name: 'readOnly', read: bool };
const SOURCE: Schema = {
  3: { name: 'gcePersistentDisk', read: message({ 1: { name: 'pdName', read: text }, 4: READ_ONLY }) },
  4: { name: 'awsElasticBlockStore', read: message({ 1: { name: 'volumeID', read: text } }) },
  8: { name: 'iscsi', read: message({ 2: { name: 'iqn', read: text }, 6: READ_ONLY }) },
  10: { name: 'persistentVolumeClaim', read: message({ 1: { name: 'claimName', read: text } }) },
  11: {
    name: 'rbd',
    read: message({
      1: { name: 'monitors', ...TEXTS },
      2: { name: 'image', read: text },
      4: { name: 'pool', read: text },
      8: READ_ONLY,
    }),
  },
};

const SELECTOR = message({
  1: { name: 'matchLabels', read: text, repeated: 'map' },
  2: { name: 'matchExpressions', ...REQUIREMENTS },
});

/** The claim template of an ephemeral volume. */
const CLAIM_SPEC: Schema = {
  1: { name: 'accessModes', ...TEXTS },
  2: {
    name: 'resources',
    read: message({ 2: { name: 'requests', read: wrappedValue(text), repeated: 'map' } }),
  },
  3: { name: 'volumeName', read: text },
  4: { name: 'selector', read: SELECTOR },
  // Empty: no class; absent: the default class.
  5: { name: 'storageClassName', read: text, keepsZero: true },
  6: { name: 'volumeMode', read: text },
  9: { name: 'volumeAttributesClassName', read: text },
};
const CLAIM_TEMPLATE = message({ 2: { name: 'spec', read: message(CLAIM_SPEC) } });

/** Includes sources that concern only the pod itself. */
const MOVABLE_SOURCE: Schema = {
  ...SOURCE,
  28: { name: 'csi', read: message({}) },
  29: { name: 'ephemeral', read: message({ 1: { name: 'volumeClaimTemplate', read: CLAIM_TEMPLATE } }) },
};

/** In JSON, the fields of the source are in the volume itself. */
function volumeReader(sources: Schema): FieldReader {
  const readFields = message({ 1: { name: 'name', read: text }, 2: { name: 'source', read: message(sources) } });
  return reader => {
    const { source, ...volume } = readFields(reader) as { source?: object };
    return { ...volume, ...source };
  };
}

const TERM: Schema = {
  1: { name: 'labelSelector', read: SELECTOR },
  2: { name: 'namespaces', ...TEXTS },
  3: { name: 'topologyKey', read: text },
  4: { name: 'namespaceSelector', read: SELECTOR },
  5: { name: 'matchLabelKeys', ...TEXTS },
  6: { name: 'mismatchLabelKeys', ...TEXTS },
};
const readTerms = message({
  1: { name: 'requiredDuringSchedulingIgnoredDuringExecution', read: message(TERM), repeated: 'list' },
});
const ANTI_AFFINITY: Schema = { 3: { name: 'podAntiAffinity', read: readTerms } };

const SPREAD: Schema = {
  1: { name: 'maxSkew', read: int32 },
  2: { name: 'topologyKey', read: text },
  3: { name: 'whenUnsatisfiable', read: text },
  4: { name: 'labelSelector', read: SELECTOR },
  5: { name: 'minDomains', read: int32 },
  6: { name: 'nodeAffinityPolicy', read: text },
  7: { name: 'nodeTaintsPolicy', read: text },
  8: { name: 'matchLabelKeys', ...TEXTS },
};

/** The resources that a pod uses on its node, and the fields that keep other pods away. */
const SPEC: Schema = {
  ...DEMAND_SPEC,
  1: { name: 'volumes', read: volumeReader(SOURCE), repeated: 'list' },
  2: { name: 'containers', read: message(CONTAINER), repeated: 'list' },
  18: { name: 'affinity', read: message(ANTI_AFFINITY) },
  20: { name: 'initContainers', read: message(CONTAINER), repeated: 'list' },
};

const { 7: NODE_SELECTOR, 18: NODE_AFFINITY, 22: TOLERATIONS } = EVICTED_SPEC;

const MOVABLE_SPEC: Schema = {
  ...SPEC,
  1: { name: 'volumes', read: volumeReader(MOVABLE_SOURCE), repeated: 'list' },
  7: NODE_SELECTOR,
  18: {
    name: 'affinity',
    read: message({ 1: NODE_AFFINITY, 2: { name: 'podAffinity', read: readTerms }, ...ANTI_AFFINITY }),
  },
  19: { name: 'schedulerName', read: text },
  22: TOLERATIONS,
  29: { name: 'runtimeClassName', read: text },
  33: { name: 'topologySpreadConstraints', read: message(SPREAD), repeated: 'list' },
  39: { name: 'resourceClaims', read: message({}), repeated: 'list' },
  43: { name: 'schedulingGroup', read: message({}) },
};

/** Which fields of pods to read, in addition to the resources that they use on their nodes. */
export interface PodFields {
  /** Labels, for topology spread and pod (anti-)affinity of other pods. */
  labels: boolean;
  /** The fields that decide where the pod can be scheduled. */
  placement: boolean;
  /** The pod's controller, which recreates it, and the label that identifies a Deployment. */
  owners?: boolean;
  /** Nodes whose pods need these fields. Default: all. Pods that no built-in controller recreates always get them. */
  only?: (node: string) => boolean;
}

export function scheduledPodDecoder({ only, ...fields }: PodFields): DecodeObject<RawPod> {
  const schema = schemaOf(fields);
  if (only === undefined) return raw => decode(schema, raw);
  const others = schemaOf({ labels: false, placement: false });
  return raw => {
    const { metadata: { ownerReferences = [] } = {}, spec: { nodeName = '' } = {} }: RawPod = decode(OWNED, raw);
    const hasTemplate = ownerReferences.some(owner => owner.controller && !isCustomController(owner));
    const keepsTraits = only(nodeName) || !hasTemplate;
    return decode(keepsTraits ? schema : others, raw);
  };
}

function schemaOf({ labels, placement, owners = false }: Omit<PodFields, 'only'>): Schema {
  return {
    1: { name: 'metadata', read: message({ ...META, ...(labels ? { 11: LABELS } : {}), ...(owners ? OWNERS : {}) }) },
    2: { name: 'spec', read: message(placement ? MOVABLE_SPEC : SPEC) },
    3: { name: 'status', read: message(DEMAND_STATUS) },
  };
}

const CONTROLLER: Schema = { 5: { name: 'apiVersion', read: text }, 6: { name: 'controller', read: bool } };
const PLACE = { name: 'nodeName', read: text };
const OWNED: Schema = {
  1: {
    name: 'metadata',
    read: message({ 13: { name: 'ownerReferences', read: message(CONTROLLER), repeated: 'list' } }),
  },
  2: { name: 'spec', read: message({ 10: PLACE }) },
};

const LABELLED: Schema = {
  1: { name: 'metadata', read: message({ ...META, 11: LABELS }) },
  2: { name: 'spec', read: message({ 10: PLACE }) },
};
export const decodeLabelledPod: DecodeObject<RawPod> = raw => decode(LABELLED, raw);
