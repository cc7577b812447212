/** Objects that select nodes by labels, of all namespaces. */
import { isCustomController } from '../../nodepool/custom-controller.ts';
import { isObject } from '../../nodepool/json.ts';
import type { SelectingKind } from '../../operations/impact-port.ts';
import { keysOfLabels, keysOfPod, keysOfVolume } from '../../scheduling/impact/selecting.ts';
import type { DaemonSet, KeyUse, Selecting } from '../../scheduling/impact/types.ts';
import type { RawPodSpec } from '../../scheduling/raw-pod.ts';
import { placementOf } from '../../scheduling/read-pod.ts';
import type { Api } from './api.ts';
import type { Resource } from './resource.ts';
import { RUNTIME_CLASSES } from './resource.ts';

interface Metadata {
  name?: string;
  namespace?: string;
  labels?: Record<string, string>;
  ownerReferences?: { apiVersion?: string; kind?: string; name?: string; controller?: boolean }[];
}

interface Template {
  spec?: RawPodSpec;
}

interface Templated {
  metadata?: Metadata;
  spec?: {
    template?: Template;
    jobTemplate?: { spec?: { template?: Template } };
    podManagementPolicy?: string;
    replicas?: number;
  };
}

type Terms = Parameters<typeof keysOfVolume>[1];

/** Of any of the kinds, what selects nodes. */
interface SelectingObject extends Templated {
  spec?: Templated['spec'] & { nodeAffinity?: { required?: { nodeSelectorTerms?: Terms } } };
  /** Of a StorageClass. */
  allowedTopologies?: { matchLabelExpressions?: { key?: string }[] }[];
  /** Of a RuntimeClass. */
  scheduling?: { nodeSelector?: Record<string, string> };
  /** Of a Job. */
  status?: { conditions?: { type?: string; status?: string }[] };
}

const APPS = { group: 'apps', version: 'v1' };
const BATCH = { group: 'batch', version: 'v1' };
const RESOURCES: Readonly<Record<SelectingKind, Resource>> = {
  Deployment: { ...APPS, plural: 'deployments', kind: 'Deployment' },
  StatefulSet: { ...APPS, plural: 'statefulsets', kind: 'StatefulSet' },
  ReplicaSet: { ...APPS, plural: 'replicasets', kind: 'ReplicaSet' },
  ReplicationController: { group: '', version: 'v1', plural: 'replicationcontrollers', kind: 'ReplicationController' },
  Job: { ...BATCH, plural: 'jobs', kind: 'Job' },
  CronJob: { ...BATCH, plural: 'cronjobs', kind: 'CronJob' },
  PersistentVolume: { group: '', version: 'v1', plural: 'persistentvolumes', kind: 'PersistentVolume' },
  StorageClass: { group: 'storage.k8s.io', version: 'v1', plural: 'storageclasses', kind: 'StorageClass' },
  RuntimeClass: RUNTIME_CLASSES,
};

const DAEMON_SETS: Resource = { ...APPS, plural: 'daemonsets', kind: 'DaemonSet' };

export function listDaemonSets(api: Api): Promise<DaemonSet[]> {
  return api.list(DAEMON_SETS, ({ metadata = {}, spec }: Templated) => {
    const { name = '', namespace = '' } = metadata;
    return { namespace, name, template: spec?.template?.spec ?? {} };
  });
}

/** The name of the CronJob of each Job that has one, by `namespace/name`. */
export async function listCronJobs(api: Api): Promise<ReadonlyMap<string, string>> {
  const jobs = await api.list(RESOURCES.Job, ({ metadata = {} }: { metadata?: Metadata }) => {
    const { name = '', namespace = '', ownerReferences = [] } = metadata;
    const owner = ownerReferences.find(({ controller, kind }) => controller && kind === 'CronJob');
    return owner?.name === undefined ? undefined : ([`${namespace}/${name}`, owner.name] as const);
  });
  return new Map(jobs);
}

export async function listParallelSets(api: Api): Promise<ReadonlySet<string>> {
  const sets = await api.list(RESOURCES.StatefulSet, ({ metadata = {}, spec }: Templated) => {
    const { name = '', namespace = '' } = metadata;
    return spec?.podManagementPolicy === 'Parallel' ? `${namespace}/${name}` : undefined;
  });
  return new Set(sets);
}

export function listSelecting(api: Api, kind: SelectingKind): Promise<Selecting[]> {
  return api.list(RESOURCES[kind], (object: SelectingObject) => {
    const { name = '', namespace = '' } = object.metadata ?? {};
    if (isSaidByOwner(kind, object) || (kind === 'Job' && hasEnded(object))) return undefined;
    const keys = keysOf(kind, object);
    const spec = templateOf(object);
    if (keys.size === 0 && spec === undefined) return undefined;
    // A RuntimeClass adds tolerations to new pods.
    const isKnown = spec !== undefined && !spec.runtimeClassName;
    return { kind, namespace, name, keys, ...(isKnown && { placement: placementOf(spec) }) };
  });
}

function isSaidByOwner(kind: SelectingKind, { metadata = {}, spec }: SelectingObject): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (owner === undefined) return false;
  // Of a custom resource nothing is known, so its templates are read, but not those of its earlier revisions.
  const isTemplate = spec?.template !== undefined || spec?.jobTemplate !== undefined;
  return !isCustomController(owner) || !isTemplate || (kind === 'ReplicaSet' && spec?.replicas === 0);
}

/** It creates no pod. */
function hasEnded({ status }: SelectingObject): boolean {
  const ends = ['Complete', 'Failed'];
  return status?.conditions?.some(({ type = '', status }) => ends.includes(type) && status === 'True') === true;
}

function keysOf(kind: SelectingKind, object: SelectingObject): Map<string, KeyUse[]> {
  switch (kind) {
    case 'PersistentVolume':
      return keysOfVolume(object.metadata?.labels, object.spec?.nodeAffinity?.required?.nodeSelectorTerms);
    case 'StorageClass': {
      const expressions = object.allowedTopologies?.flatMap(({ matchLabelExpressions = [] }) => matchLabelExpressions);
      return new Map((expressions ?? []).map(({ key = '' }) => [key, [{ where: 'allowedTopologies' }]]));
    }
    case 'RuntimeClass':
      return keysOfLabels(object.scheduling?.nodeSelector);
    default: {
      const spec = templateOf(object);
      return spec === undefined ? new Map() : keysOfPod(spec);
    }
  }
}

function templateOf({ spec }: SelectingObject): RawPodSpec | undefined {
  const template = spec?.template ?? spec?.jobTemplate?.spec?.template;
  return isObject(template?.spec) ? template.spec : undefined;
}
