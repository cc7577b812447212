/** Pods, namespaces and volumes, with the fields that decide on the scheduling of pods. */
import { TEMPLATE_HASH } from '../../nodepool/plan/runtime-class-users.ts';
import { quantityReader } from '../../nodepool/quantity/amounts.ts';
import { type ExceededQuota, exceededQuotas } from '../../scheduling/exceeded-quotas.ts';
import { type LimitRangeEffects, limitRangeEffects, type RawLimitRange } from '../../scheduling/limit-ranges.ts';
import type { RawPod } from '../../scheduling/pod/raw-pod.ts';
import type { RawQuota } from '../../scheduling/quota.ts';
import type { CountedPod } from '../../scheduling/snapshot.ts';
import {
  type RawClaim,
  type RawStorageClass,
  type RawVolumeObject,
  readClaim,
  readStorageClass,
  readVolume,
  type Storage,
} from '../../scheduling/volumes/storage.ts';
import type { Api } from '../api/api.ts';
import { inJson, ONLY_METADATA, PODS, type Resource } from '../api/resource.ts';
import { parseStatus, reasonOf } from '../api/status.ts';
import type { NamedLabels } from '../protobuf/objects.ts';
import { decodeLabelledPod, type PodFields, scheduledPodDecoder } from '../protobuf/scheduled-pod.ts';
import type { Transport } from '../transport/transport.ts';
import { PLACED } from './pods.ts';

const CORE = { group: '', version: 'v1' };
const STORAGE_GROUP = { group: 'storage.k8s.io', version: 'v1' };
const NAMESPACES: Resource = { ...CORE, plural: 'namespaces', kind: 'Namespace', ...ONLY_METADATA };
const CLAIMS: Resource = { ...CORE, plural: 'persistentvolumeclaims', kind: 'PersistentVolumeClaim' };
const VOLUMES: Resource = { ...CORE, plural: 'persistentvolumes', kind: 'PersistentVolume' };
const QUOTAS: Resource = { ...CORE, plural: 'resourcequotas', kind: 'ResourceQuota' };
const LIMIT_RANGES: Resource = { ...CORE, plural: 'limitranges', kind: 'LimitRange' };
const APPS = { group: 'apps', version: 'v1' };
const BATCH = { group: 'batch', version: 'v1' };
const REPLICA_SETS: Resource = { ...APPS, plural: 'replicasets', kind: 'ReplicaSet' };
const STATEFUL_SETS: Resource = { ...APPS, plural: 'statefulsets', kind: 'StatefulSet' };
const WORKLOADS: readonly Resource[] = [
  REPLICA_SETS,
  STATEFUL_SETS,
  { ...APPS, plural: 'deployments', kind: 'Deployment' },
  { ...APPS, plural: 'daemonsets', kind: 'DaemonSet' },
  { ...BATCH, plural: 'jobs', kind: 'Job' },
  { ...BATCH, plural: 'cronjobs', kind: 'CronJob' },
  { ...CORE, plural: 'replicationcontrollers', kind: 'ReplicationController' },
];
const DEVICE_CLASSES: Resource = {
  group: 'resource.k8s.io',
  version: 'v1',
  plural: 'deviceclasses',
  kind: 'DeviceClass',
};
const CLASSES: Resource = { ...STORAGE_GROUP, plural: 'storageclasses', kind: 'StorageClass' };

interface RawDeviceClass {
  spec?: { extendedResourceName?: string };
}

interface RawReplicaSet {
  metadata?: RawPod['metadata'];
  spec?: { template?: unknown };
}

interface RawStatefulSet {
  metadata?: { generation?: number };
  spec?: { template?: unknown };
  status?: { observedGeneration?: number; currentRevision?: string; updateRevision?: string };
}

export function schedulingPort(api: Api, transport: Transport): SchedulingPort {
  return {
    namespace: transport.access.namespace ?? 'default',

    async placedPods(fields: PodFields, onPod, startOver) {
      const resource: Resource = { ...PODS, decode: scheduledPodDecoder(fields) };
      await api.list(resource, (pod: RawPod) => void onPod(pod), PLACED, startOver);
    },

    async placedLabels(onPod, startOver) {
      const labelled = ({ metadata = {}, spec }: RawPod) => {
        const { namespace = '', labels = {}, deletionTimestamp } = metadata;
        onPod({ namespace, labels, isTerminating: deletionTimestamp != null, node: spec?.nodeName ?? '' });
        return undefined;
      };
      await api.list({ ...PODS, decode: decodeLabelledPod }, labelled, PLACED, startOver);
    },

    pod: (namespace, name) => api.get<RawPod>({ ...inJson(PODS), namespace }, name),

    rehearse: (namespace, pod) => rehearse(api, namespace, pod),

    pendingPods: () =>
      api.list(inJson(PODS), (pod: RawPod) => pod, { fieldSelector: 'spec.nodeName=,status.phase=Pending' }),

    quotas: namespace => api.list({ ...QUOTAS, namespace }, (quota: RawQuota) => quota),

    async exceededQuotas() {
      const read = quantityReader();
      return (await api.list(QUOTAS, (quota: RawQuota) => exceededQuotas(quota, read))).flat();
    },

    limitRanges: () => api.list(LIMIT_RANGES, (range: RawLimitRange) => limitRangeEffects(range)),

    async deviceResources() {
      if (!(await api.isServed(DEVICE_CLASSES))) return [];
      const resources = await api.list(DEVICE_CLASSES, ({ spec }: RawDeviceClass) => spec?.extendedResourceName ?? '');
      return resources.filter(name => name !== '');
    },

    async templateHash(namespace, deployment, isSame) {
      const hashes = await api.list({ ...REPLICA_SETS, namespace }, ({ metadata = {}, spec = {} }: RawReplicaSet) => {
        const isOwned = metadata.ownerReferences?.some(
          ({ kind, name }) => kind === 'Deployment' && name === deployment,
        );
        return isOwned && isSame(spec.template) ? metadata.labels?.[TEMPLATE_HASH] : undefined;
      });
      return hashes.find(hash => hash !== undefined);
    },

    async setRevision(namespace, name) {
      const set = await api.get<RawStatefulSet>({ ...STATEFUL_SETS, namespace }, name);
      if (set === undefined) return undefined;
      const { metadata = {}, spec = {}, status = {} } = set;
      const { observedGeneration, currentRevision = '', updateRevision = '' } = status;
      const isAlone = currentRevision === updateRevision && observedGeneration === metadata.generation;
      return { template: spec.template, revision: updateRevision, isAlone };
    },

    async workload(kind, namespace, name) {
      const resource = WORKLOADS.find(each => each.kind === kind);
      const found = resource && (await api.get<RawReplicaSet>({ ...resource, namespace }, name));
      return found && { template: found.spec?.template };
    },

    async namespaces() {
      // In protobuf, the item is the metadata; in JSON, an object with it.
      const all = await api.list(NAMESPACES, (item: NamedLabels & { metadata?: NamedLabels }) => {
        const { name = '', labels = {} } = item.metadata ?? item;
        return [name, labels] as const;
      });
      return new Map(all);
    },

    boundVolumes: namespaces => boundVolumes(api, namespaces),

    async storage(namespaces): Promise<Storage> {
      const [bound, classes] = await Promise.all([
        boundVolumes(api, namespaces),
        api.list(CLASSES, (raw: RawStorageClass) => readStorageClass(raw)),
      ]);
      return { ...bound, classes: new Map(classes.map(each => [each.name, each])) };
    },
  };
}

async function boundVolumes(api: Api, namespaces: ReadonlySet<string>): Promise<Pick<Storage, 'claims' | 'volumes'>> {
  const claimsOf = (namespace: string) => api.list({ ...CLAIMS, namespace }, (raw: RawClaim) => readClaim(raw));
  const [claims, volumes] = await Promise.all([
    Promise.all([...namespaces].map(claimsOf)),
    api.list(VOLUMES, (raw: RawVolumeObject) => readVolume(raw)),
  ]);
  return {
    claims: new Map(claims.flat().map(each => [`${each.namespace}/${each.name}`, each])),
    volumes: new Map(volumes.map(each => [each.name, each])),
  };
}

/** The name may be taken, so the server generates one. */
async function rehearse(api: Api, namespace: string, pod: RawPod): Promise<PodTrial> {
  const { name: _, ...metadata } = pod.metadata ?? {};
  const body = { ...pod, apiVersion: 'v1', kind: 'Pod', metadata: { ...metadata, namespace, generateName: 'fit-' } };
  const resource: Resource = { ...inJson(PODS), namespace };
  const answer = await api.write(resource, { method: 'POST', body, query: { dryRun: 'All' } }, { replayable: true });
  if (answer.status < 300) return { kind: 'created', pod: api.object<RawPod>(resource, answer) };
  const status = parseStatus(answer.text);
  if (status === undefined) throw api.refusal({ verb: 'create', resource }, answer);
  const reason = reasonOf(answer, status);
  if (answer.status === 422 || answer.status === 400)
    return { kind: 'refused', reason, isInvalid: true, fields: status.causes };
  // RBAC refuses the verb, admission the object.
  const isUnknown = answer.status !== 403 || /cannot create resource/.test(reason);
  return isUnknown ? { kind: 'unknown', reason } : { kind: 'refused', reason, isInvalid: false, fields: [] };
}

export interface LabelledPod extends CountedPod {
  node: string;
}

/** `refused`: by admission, a quota or validation. `unknown`: no permission to ask, or the server could not answer. */
type PodTrial =
  | { kind: 'created'; pod: RawPod }
  | { kind: 'refused'; reason: string; isInvalid: boolean; fields: { field: string; message: string }[] }
  | { kind: 'unknown'; reason: string };

export interface SchedulingPort {
  /** The namespace of the kubeconfig's context. */
  namespace: string;
  /** Every pod on a node that has not terminated, once. @param startOver the list restarts: forget earlier pods */
  placedPods(fields: PodFields, onPod: (pod: RawPod) => void, startOver: () => void): Promise<void>;
  /** As placedPods(), without the resources that the pods use. */
  placedLabels(onPod: (pod: LabelledPod) => void, startOver: () => void): Promise<void>;
  /** Undefined if it does not exist. */
  pod(namespace: string, name: string): Promise<RawPod | undefined>;
  /** A pod as the server would create it; a dry run. */
  rehearse(namespace: string, pod: RawPod): Promise<PodTrial>;
  /** Pods without a node. */
  pendingPods(): Promise<RawPod[]>;
  quotas(namespace: string): Promise<RawQuota[]>;
  /** Of all namespaces. */
  exceededQuotas(): Promise<ExceededQuota[]>;
  /** LimitRanges of all namespaces that concern pods. */
  limitRanges(): Promise<LimitRangeEffects[]>;
  /** Extended resources that a DeviceClass provides; empty on servers without DeviceClasses. */
  deviceResources(): Promise<string[]>;
  /** The hash of the Deployment's revision with this pod template; undefined if there is none. */
  templateHash(
    namespace: string,
    deployment: string,
    isSame: (template: unknown) => boolean,
  ): Promise<string | undefined>;
  /** The same for a StatefulSet. `isAlone`: all its pods are of this revision. */
  setRevision(
    namespace: string,
    name: string,
  ): Promise<{ template: unknown; revision: string; isAlone: boolean } | undefined>;
  /** A workload and its pod template, if spec.template is one; undefined if it does not exist. */
  workload(kind: string, namespace: string, name: string): Promise<{ template: unknown } | undefined>;
  namespaces(): Promise<ReadonlyMap<string, Record<string, string>>>;
  /** All claims of these namespaces, and all volumes. */
  boundVolumes(namespaces: ReadonlySet<string>): Promise<Pick<Storage, 'claims' | 'volumes'>>;
  /** As boundVolumes(), and all classes. */
  storage(namespaces: ReadonlySet<string>): Promise<Storage>;
}
