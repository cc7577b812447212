/** Reads the objects that a change of nodes may affect, except pods. */

import { isObject } from '../../nodepool/json.ts';
import { isCustomController } from '../../nodepool/plan/runtime-class-users.ts';
import { keysOfLabels, keysOfPod, keysOfVolume, namesLabel } from '../../scheduling/impact/selecting.ts';
import type { DaemonSet, KeyUse, SelectingKind, SelectingObject } from '../../scheduling/impact/types.ts';
import type { RawPodSpec } from '../../scheduling/pod/raw-pod.ts';
import { placementOf } from '../../scheduling/pod/read-pod.ts';
import type { Api } from '../api/api.ts';
import { servedResources } from '../api/discovery.ts';
import { type Resource, RUNTIME_CLASSES } from '../api/resource.ts';
import type { EvictionsClient, RuntimeClassesClient } from '../cluster.ts';
import type { SchedulingPort } from './scheduling.ts';

export function impactPort(api: Api): ImpactPort {
  return {
    daemonSets: () => listDaemonSets(api),
    selecting: kind => listSelecting(api, kind),
    jobs: () => listJobs(api),
    parallelSets: () => listParallelSets(api),
    newRevisions: () => listNewRevisions(api),
    custom: (paths, labels) => listCustom(api, paths, labels),
  };
}

/** One discovery request, and one list for each served resource. */
async function listCustom(
  api: Api,
  paths: readonly SelectorPath[],
  labels: readonly string[],
): Promise<CustomSelecting> {
  const byResource = Map.groupBy(paths, ({ resource }) => resource);
  const served = await servedResources(api, [...byResource.keys()]);
  const set = new Set<SelectorPath>();
  const hasObjects = new Set<string>();
  const lists = [...served].map(([name, resource]) =>
    api.list(resource, (object: { metadata?: { name?: string; namespace?: string } }): SelectingObject | undefined => {
      const found = new Map<string, Set<string>>();
      hasObjects.add(name);
      for (const path of byResource.get(name) ?? []) {
        const { fields } = path;
        const value = valuesAt(object, fields);
        if (isSet(value)) set.add(path);
        for (const label of labels) {
          // A set, as a given path may also be a well-known one.
          if (namesLabel(value, label)) found.set(label, (found.get(label) ?? new Set()).add(`.${fields.join('.')}`));
        }
      }
      const keys = new Map<string, KeyUse[]>(
        [...found].map(([label, wheres]) => [label, [{ where: [...wheres].join(', ') }]]),
      );
      const { name: called = '', namespace = '' } = object.metadata ?? {};
      return keys.size === 0 ? undefined : { kind: resource.kind, namespace, name: called, keys };
    }),
  );
  const selecting = (await Promise.all(lists)).flat();
  const unset = paths.flatMap(path => {
    const kind = hasObjects.has(path.resource) && !set.has(path) ? served.get(path.resource)?.kind : undefined;
    return kind === undefined ? [] : [{ path, kind }];
  });
  return { selecting, unserved: paths.filter(({ resource }) => !served.has(resource)), unset };
}

/** Whether the field is set, in a list in any item; true for an empty list. @param value of valuesAt() */
function isSet(value: unknown): boolean {
  return Array.isArray(value) ? value.length === 0 || value.some(isSet) : value !== undefined;
}

/** If the path crosses a list, the values in each of its items. */
function valuesAt(value: unknown, fields: readonly string[]): unknown {
  const [field, ...rest] = fields;
  if (field === undefined) return value;
  if (Array.isArray(value)) return value.map(item => valuesAt(item, fields));
  return isObject(value) && Object.hasOwn(value, field) ? valuesAt(value[field], rest) : undefined;
}

// Objects that select nodes by labels, of all namespaces.

interface ObjectMetadata {
  name?: string;
  namespace?: string;
  labels?: Record<string, string>;
  ownerReferences?: { apiVersion?: string; kind?: string; name?: string; controller?: boolean }[];
}

interface PodTemplate {
  metadata?: { labels?: Record<string, string> };
  spec?: RawPodSpec;
}

interface TemplatedObject {
  metadata?: ObjectMetadata;
  spec?: {
    template?: PodTemplate;
    jobTemplate?: { spec?: { template?: PodTemplate } };
    podManagementPolicy?: string;
    replicas?: number;
  };
}

type VolumeTerms = Parameters<typeof keysOfVolume>[1];

/** The fields by which any of the kinds selects nodes. */
interface RawSelectingObject extends TemplatedObject {
  spec?: TemplatedObject['spec'] & { nodeAffinity?: { required?: { nodeSelectorTerms?: VolumeTerms } } };
  /** In a StorageClass. */
  allowedTopologies?: { matchLabelExpressions?: { key?: string }[] }[];
  /** In a RuntimeClass. */
  scheduling?: { nodeSelector?: Record<string, string> };
  /** In a Job. */
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

function listDaemonSets(api: Api): Promise<DaemonSet[]> {
  return api.list(DAEMON_SETS, ({ metadata = {}, spec }: TemplatedObject) => {
    const { name = '', namespace = '' } = metadata;
    return { namespace, name, template: spec?.template?.spec ?? {} };
  });
}

/** The key is `namespace/name`. */
async function listJobs(api: Api): Promise<ReadonlyMap<string, JobFacts>> {
  const jobs = await api.list(RESOURCES.Job, (job: RawJob) => {
    const { name = '', namespace = '', ownerReferences = [] } = job.metadata ?? {};
    const owner = ownerReferences.find(({ controller, kind }) => controller && kind === 'CronJob');
    const { spec = {}, status = {} } = job;
    // Without completions, the pods share a queue of work, which is empty once one of them has succeeded.
    const isDone = (spec.completions ?? undefined) === undefined && (status.succeeded ?? 0) > 0;
    const facts = {
      ...(owner?.name === undefined ? {} : { cronJob: owner.name }),
      ...failureFacts(job),
      ...(isDone ? { createsNoMore: true as const } : {}),
    };
    return [`${namespace}/${name}`, facts] as const;
  });
  return new Map(jobs);
}

interface RawJob {
  metadata?: ObjectMetadata;
  spec?: {
    backoffLimit?: number;
    backoffLimitPerIndex?: number;
    completions?: number | null;
    podFailurePolicy?: { rules?: FailureRule[] };
  };
  /** In a CronJob, `active` is a list, so its type was not checked. */
  status?: { active?: unknown; failed?: number; succeeded?: number };
}

interface FailureRule {
  action?: string;
  onExitCodes?: object;
  onPodConditions?: { type?: string; status?: string }[];
}

/** An evicted pod has the condition DisruptionTarget (the Job controller of k8s.io/kubernetes 1.36). */
function failureFacts({ spec = {}, status = {} }: RawJob): Omit<JobFacts, 'cronJob' | 'createsNoMore'> {
  const { podFailurePolicy, backoffLimitPerIndex: perIndex } = spec;
  // With a limit for each index, the server sets the total to the maximum, unless it is given.
  const { backoffLimit = perIndex === undefined ? DEFAULT_BACKOFF_LIMIT : Infinity } = spec;
  const left = Math.max(0, backoffLimit - (status.failed ?? 0));
  const active = typeof status.active === 'number' ? status.active : 0;
  const rules = podFailurePolicy?.rules ?? [];
  const isDisruption = ({ type, status: value = 'True' }: { type?: string; status?: string }) =>
    type === 'DisruptionTarget' && value === 'True';
  const at = rules.findIndex(({ onPodConditions = [] }) => onPodConditions.some(isDisruption));
  const earlier = at === -1 ? rules : rules.slice(0, at);
  // The exit code of a container after SIGTERM depends on the program.
  const byCode = earlier.some(({ onExitCodes }) => isObject(onExitCodes)) ? [BY_EXIT_CODE] : [];
  const action = rules[at]?.action;
  if (action === 'Ignore') return { failuresLeft: Infinity, active, notJudged: byCode };
  if (action === 'FailJob') return { failuresLeft: 0, active, notJudged: byCode };
  if (action !== 'FailIndex' && perIndex === undefined) return { failuresLeft: left, active, notJudged: byCode };
  const notJudged = [...byCode, BY_INDEX];
  return action === 'FailIndex' || perIndex === 0
    ? { failuresLeft: 0, notJudged }
    : { failuresLeft: left, active, notJudged };
}

const BY_EXIT_CODE = 'podFailurePolicy with exit codes';
const BY_INDEX = 'failures of single indexes (backoffLimitPerIndex, maxFailedIndexes)';
const DEFAULT_BACKOFF_LIMIT = 6;

async function listParallelSets(api: Api): Promise<ReadonlySet<string>> {
  const sets = await api.list(RESOURCES.StatefulSet, ({ metadata = {}, spec }: TemplatedObject) => {
    const { name = '', namespace = '' } = metadata;
    return spec?.podManagementPolicy === 'Parallel' ? `${namespace}/${name}` : undefined;
  });
  return new Set(sets);
}

interface RawSet extends TemplatedObject {
  spec?: TemplatedObject['spec'] & {
    ordinals?: { start?: number };
    updateStrategy?: { rollingUpdate?: { partition?: number } };
  };
  status?: { currentRevision?: string; updateRevision?: string };
}

async function listNewRevisions(api: Api): Promise<ReadonlyMap<string, NewRevision>> {
  const sets = await api.list(RESOURCES.StatefulSet, ({ metadata = {}, spec = {}, status = {} }: RawSet) => {
    const { name = '', namespace = '' } = metadata;
    const { currentRevision = '', updateRevision: revision = '' } = status;
    if (revision === currentRevision) return undefined;
    // The controller counts the partition from the first ordinal.
    const partition = (spec.ordinals?.start ?? 0) + (spec.updateStrategy?.rollingUpdate?.partition ?? 0);
    return [`${namespace}/${name}`, { revision, partition, template: spec.template ?? {} }] as const;
  });
  return new Map(sets);
}

function listSelecting(api: Api, kind: SelectingKind): Promise<SelectingObject[]> {
  return api.list(RESOURCES[kind], (object: RawSelectingObject) => {
    const { name = '', namespace = '' } = object.metadata ?? {};
    if (isCoveredByOwner(kind, object) || (kind === 'Job' && hasEnded(object))) return undefined;
    const keys = keysOf(kind, object);
    const spec = templateOf(object);
    if (keys.size === 0 && spec === undefined) return undefined;
    const runtimeClass = spec?.runtimeClassName ? { runtimeClass: spec.runtimeClassName } : {};
    return { kind, namespace, name, keys, ...(spec && { placement: placementOf(spec) }), ...runtimeClass };
  });
}

function isCoveredByOwner(kind: SelectingKind, { metadata = {}, spec }: RawSelectingObject): boolean {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller);
  if (owner === undefined) return false;
  // A custom controller may do anything, so its templates are read, but not those of its earlier revisions.
  const isTemplate = spec?.template !== undefined || spec?.jobTemplate !== undefined;
  return !isCustomController(owner) || !isTemplate || (kind === 'ReplicaSet' && spec?.replicas === 0);
}

/** A finished Job creates no pods. */
function hasEnded({ status }: RawSelectingObject): boolean {
  const ends = ['Complete', 'Failed'];
  return status?.conditions?.some(({ type = '', status }) => ends.includes(type) && status === 'True') === true;
}

function keysOf(kind: SelectingKind, object: RawSelectingObject): Map<string, KeyUse[]> {
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

function templateOf({ spec }: RawSelectingObject): RawPodSpec | undefined {
  const template = spec?.template ?? spec?.jobTemplate?.spec?.template;
  return isObject(template?.spec) ? template.spec : undefined;
}

// The client for objects that a change of nodes may affect.

/** A field of a custom resource that names node labels. */
export interface SelectorPath {
  /** As in kubectl: `bgppeers.crd.projectcalico.org`. */
  resource: string;
  /** Names of fields, starting at the object. If the path crosses a list, each of its items is searched. */
  fields: readonly string[];
  /** The flag and its value, if a flag gave the path. */
  flagText?: string;
}

interface CustomSelecting {
  selecting: SelectingObject[];
  /** Paths whose resource the server does not serve. */
  unserved: SelectorPath[];
  /** Paths whose field no object has, although objects of the kind exist. */
  unset: { path: SelectorPath; kind: string }[];
}

export interface JobFacts {
  /** The CronJob that owns the Job. */
  cronJob?: string;
  /** How many more pods may fail before the Job fails for good. Infinity: evictions do not count as failures. */
  failuresLeft: number;
  /** Number of pods, which are deleted if the Job fails. Absent: only an index of the Job fails. */
  active?: number;
  /** It creates no pods, whatever happens to its others. */
  createsNoMore?: true;
  /** Settings that affect failures but are not evaluated. */
  notJudged: readonly string[];
}

/** The revision of which a StatefulSet creates pods with an ordinal of at least `partition`. */
export interface NewRevision {
  revision: string;
  partition: number;
  template: PodTemplate;
}

export interface ImpactPort {
  daemonSets(): Promise<DaemonSet[]>;
  /** Leaves out pods with a controller, which is read instead, and objects without a template that select no node. */
  selecting(kind: SelectingKind): Promise<SelectingObject[]>;
  /** The custom resources that name one of the labels in one of the fields. */
  custom(paths: readonly SelectorPath[], labels: readonly string[]): Promise<CustomSelecting>;
  /** The key is `namespace/name`. */
  jobs(): Promise<ReadonlyMap<string, JobFacts>>;
  /** StatefulSets with podManagementPolicy Parallel, as `namespace/name`. */
  parallelSets(): Promise<ReadonlySet<string>>;
  /** Of StatefulSets that have pods of an earlier one; the key is `namespace/name`. */
  newRevisions(): Promise<ReadonlyMap<string, NewRevision>>;
}

export interface ImpactPorts {
  impact(): Promise<ImpactPort>;
  scheduling(): Promise<SchedulingPort>;
  cluster: {
    evictions(): Promise<Pick<EvictionsClient, 'budgets'>>;
    runtimeClasses: Pick<RuntimeClassesClient, 'list'>;
  };
}
