/** The pods for `fit`: from a file with a pod or pod template, an existing pod, or a pod of a given size. */
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined, isObject, ownValue } from '../../nodepool/json.ts';
import type { LabelQuery } from '../../nodepool/membership/label-query.ts';
import { TEMPLATE_HASH } from '../../nodepool/plan/runtime-class-users.ts';
import { wholeAccelerators } from '../../nodepool/quantity/amounts.ts';
import { firstFew } from '../../nodepool/text.ts';
import type { Node } from '../../nodepool/types.ts';
import { daemonTolerations } from '../../scheduling/pod/daemon.ts';
import { CLAIM_TEMPLATES, checkedShape, LABEL_SELECTOR, POD } from '../../scheduling/pod/pod-shape.ts';
import type { RawClaimSpec, RawContainer, RawPod, RawPodSpec } from '../../scheduling/pod/raw-pod.ts';
import { permitted } from '../shared/refusals.ts';

/** Maximum number of kinds that are named. */
const MAX_KINDS = 5;

export interface PodRequests {
  /** Kubernetes quantities. */
  cpu: string | undefined;
  memory: string | undefined;
  /** Number of GPUs, of the kind that the nodes offer. */
  gpu: string | undefined;
}

export interface FitSubject {
  /** Kind of the object: `Deployment`. */
  kind: string;
  namespace: string;
  name: string;
  /** `Deployment shop/web`. */
  title: string;
  /** A pod that could be created; an existing pod without its node. */
  pod: RawPod;
  /** Of a StatefulSet: its claims have these names, and a number at the end. */
  claimNames?: readonly string[];
  /** Of a workload: its template may be the one on the server. */
  isSame?: (template: unknown) => boolean;
  /** Labels that differ in another replica of the workload. */
  labelsOfNext?: Record<string, string>;
  /**
   * For a DaemonSet, which runs one pod per node: spec.template.spec, and the selector of its pods. `surges`: these keep
   * their place until the new ones run.
   */
  daemon?: { template: RawPodSpec; selector: LabelQuery; surges: boolean };
  /** The pod exists: its own place counts as free. */
  exists: boolean;
  /** What is unknown about the pod and therefore not judged. */
  notJudged?: string;
  /** Only requests: no selector, and no tolerations except one for taints named after a device. */
  ofRequests?: { tolerates: string | undefined };
}

/** @returns `others`: warnings about objects without a pod, which most files contain beside workloads */
export async function subjectsOf(
  {
    of,
    namespace: requested,
  }: { of: { pod: string } | { documents: readonly SubjectDocument[] }; namespace: string | undefined },
  port: SchedulingPort,
): Promise<{ subjects: FitSubject[]; others: string[] }> {
  const namespace = requested ?? port.namespace;
  if ('documents' in of) {
    const skipped = of.documents.flatMap(document => kindWithoutPod(document) ?? []);
    const isSkipped = skipped.length < of.documents.length ? kindWithoutPod : () => undefined;
    const subjects = of.documents.filter(document => isSkipped(document) === undefined);
    const kinds = [...new Set(skipped)].toSorted();
    const others = kinds.length === 0 ? [] : [`left out: no pod template: ${firstFew(kinds, MAX_KINDS)}`];
    return { subjects: await Promise.all(subjects.map(document => subjectOf(document, namespace, port))), others };
  }
  const slash = of.pod.indexOf('/');
  const [where, name] = slash < 0 ? [namespace, of.pod] : [of.pod.slice(0, slash), of.pod.slice(slash + 1)];
  const pod = await port.pod(where, name);
  if (pod === undefined) {
    const next = `see \`kubectl get pods -n ${where}\`, or name another namespace: NAMESPACE/NAME or -n`;
    throw new NodepoolError('input', `pod "${name}" not found in namespace ${where}`, next);
  }
  return { subjects: [existingSubject(pod, where, name)], others: [] };
}

const NVIDIA = 'nvidia.com/gpu';

/** A pod that the strictest PodSecurity level admits, because only its size matters. */
export function requestsSubject(
  { cpu, memory, gpu }: PodRequests,
  nodes: readonly Node[],
  { namespace: requested }: { namespace: string | undefined },
  port: SchedulingPort,
): FitSubject {
  const namespace = requested ?? port.namespace;
  const device = gpu === undefined ? undefined : gpuOf(nodes);
  const devices = device === undefined || gpu === undefined ? {} : { [device]: gpu };
  const container = {
    name: 'main',
    image: 'pause',
    // For extended resources, the server requires limits.
    resources: { requests: defined({ cpu, memory, ...devices }), limits: devices },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
  const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
  // As the admission plugin ExtendedResourceToleration adds it: nodes with devices have a taint with their name.
  const tolerations = device === undefined ? [] : [{ key: device, operator: 'Exists', effect: 'NoSchedule' }];
  const pod = { metadata: { name: 'pod', namespace }, spec: { securityContext, tolerations, containers: [container] } };
  const others = { exists: false, ofRequests: { tolerates: device } };
  return { kind: 'Pod', namespace, name: '', title: 'A pod with these requests', pod, ...others };
}

/** nvidia.com/gpu, unless the nodes offer only one other accelerator, such as amd.com/gpu. */
function gpuOf(nodes: readonly Node[]): string {
  const gpus = wholeAccelerators(
    nodes.flatMap(({ allocatable }) => Object.keys(allocatable).filter(name => allocatable[name] !== '0')),
  );
  if (gpus.includes(NVIDIA) || gpus.length === 0) return NVIDIA;
  const [only = NVIDIA, ...more] = gpus;
  if (more.length === 0) return only;
  throw new NodepoolError(
    'input',
    `--gpu: the nodes offer several resources: ${firstFew(gpus, MAX_KINDS)}`,
    'write a pod that requests one of them to a file, and use -f FILE',
  );
}

export interface SubjectDocument {
  value: unknown;
  /** `web.yaml:12`. */
  source: string;
  placeOf(field: string): string;
}

/** The path of the pod template in each kind; `[]`: the object is a pod itself. */
const TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  Pod: [],
  Deployment: ['spec', 'template'],
  ReplicaSet: ['spec', 'template'],
  ReplicationController: ['spec', 'template'],
  StatefulSet: ['spec', 'template'],
  DaemonSet: ['spec', 'template'],
  Job: ['spec', 'template'],
  CronJob: ['spec', 'jobTemplate', 'spec', 'template'],
};

/** The kind of an object without a pod template, such as a Service. */
function kindWithoutPod({ value }: SubjectDocument): string | undefined {
  const kind = isObject(value) ? value.kind : undefined;
  return typeof kind === 'string' && kind !== '' && ownValue(TEMPLATES, kind) === undefined ? kind : undefined;
}

/** Throws NodepoolError (input) with the field. @param namespace for objects without one */
async function subjectOf(
  document: SubjectDocument,
  namespace: string,
  port: Pick<SchedulingPort, 'templateHash' | 'setRevision' | 'workload'>,
): Promise<FitSubject> {
  const { value, source } = document;
  const { kind, metadata } = isObject(value) ? value : {};
  const path = typeof kind === 'string' ? ownValue(TEMPLATES, kind) : undefined;
  if (typeof kind !== 'string' || path === undefined) {
    const what = typeof kind === 'string' ? `a ${kind} has no pod template` : 'the object has no kind';
    throw new NodepoolError('input', `${source}: ${what}`, `use one of ${Object.keys(TEMPLATES).join(', ')}`);
  }
  const template = path.reduce<unknown>((part, name) => (isObject(part) ? part[name] : undefined), value);
  const prefix = path.join('.');
  const pod = shapedAt<RawPod>(template, POD, prefix, document);
  const specField = [...path, 'spec'].join('.');
  if ((pod.spec?.containers ?? []).length === 0)
    throw wrong(document, `${specField}.containers`, 'at least one container');
  const { name, namespace: itsOwn } = isObject(metadata) ? metadata : {};
  const where = typeof itsOwn === 'string' && itsOwn !== '' ? itsOwn : namespace;
  const named = typeof name === 'string' ? name : '';
  const claims = kind === 'StatefulSet' ? claimTemplates(value, document) : [];
  const spec = withDefaults(withClaims(pod.spec ?? {}, claims), kind === 'DaemonSet');
  const isSame = (other: unknown) => isPartOf(template, other);
  const given = await controllerLabels(kind, named === '' ? 'new' : named, value, {
    revision: async () => {
      if (named === '') return {};
      if (kind === 'Deployment') return deploymentRevision(port.templateHash(where, named, isSame));
      return setRevision(port.setRevision(where, named), isSame);
    },
    reads: key => JSON.stringify(pod.spec ?? {}).includes(key),
  });
  const surge =
    kind === 'DaemonSet' && named !== '' ? await surgeOf(value, isSame, () => port.workload(kind, where, named)) : {};
  const unknown = given.unknown ?? surge.unknown;
  const labels = { ...pod.metadata?.labels, ...given.labels };
  const selector = path.length > 0 && isObject(value) && isObject(value.spec) ? value.spec.selector : undefined;
  return {
    ...{ kind, namespace: where, name: named, title: `${kind} ${where}/${named === '' ? '<no name>' : named}` },
    pod: { metadata: { ...pod.metadata, labels, name: named === '' ? 'pod' : named, namespace: where }, spec },
    isSame,
    claimNames: claims.map(({ metadata }) => `${metadata?.name}-${named}-`),
    ...(unknown === undefined ? {} : { notJudged: unknown }),
    ...(given.ofNext === undefined ? {} : { labelsOfNext: given.ofNext }),
    ...(kind === 'DaemonSet'
      ? {
          daemon: {
            template: pod.spec ?? {},
            surges: surge.surges ?? false,
            selector:
              selector === undefined
                ? { matchLabels: pod.metadata?.labels ?? {} }
                : shapedAt<LabelQuery>(selector, LABEL_SELECTOR, 'spec.selector', document),
          },
        }
      : {}),
    exists: false,
  };
}

interface ExistingRevision {
  /** Absent: no revision has this template. */
  hash?: string;
  unknown?: string;
}

const REVISION = 'which pods have the revision of this template';

async function deploymentRevision(reading: Promise<string | undefined>): Promise<ExistingRevision> {
  const read = await permitted(reading);
  if ('forbidden' in read) return { unknown: `${REVISION}: ${read.forbidden.oneLine}` };
  return defined({ hash: read.value });
}

/** During a rolling update, pods of a StatefulSet, including new ones, have two revisions. */
async function setRevision(
  reading: ReturnType<SchedulingPort['setRevision']>,
  isSame: (template: unknown) => boolean,
): Promise<ExistingRevision> {
  const read = await permitted(reading);
  if ('forbidden' in read) return { unknown: `${REVISION}: ${read.forbidden.oneLine}` };
  if (read.value === undefined) return {};
  const { template, revision, isAlone } = read.value;
  return {
    ...(isSame(template) ? { hash: revision } : {}),
    ...(isAlone ? {} : { unknown: `${REVISION}: a rollout of the StatefulSet is not complete` }),
  };
}

/** With maxSurge, a DaemonSet makes new pods beside the running ones, unless these have its template. */
async function surgeOf(
  value: unknown,
  isSame: (template: unknown) => boolean,
  live: () => ReturnType<SchedulingPort['workload']>,
): Promise<{ surges?: boolean; unknown?: string }> {
  const spec = isObject(value) && isObject(value.spec) ? value.spec : {};
  const { type, rollingUpdate } = isObject(spec.updateStrategy) ? spec.updateStrategy : {};
  const { maxSurge } = isObject(rollingUpdate) ? rollingUpdate : {};
  if (type === 'OnDelete' || /^0*%?$/.test(String(maxSurge ?? 0))) return {};
  const read = await permitted(live());
  if ('forbidden' in read) return { surges: true, unknown: `${REVISION}: ${read.forbidden.oneLine}` };
  return { surges: read.value !== undefined && !isSame(read.value.template) };
}

const REVISION_HASH = 'controller-revision-hash';
const NEW_UID = '00000000-0000-0000-0000-000000000000';

interface ControllerLabels {
  labels: Record<string, string>;
  /** The labels that differ in another replica. */
  ofNext?: Record<string, string>;
  /** What is not judged because of these labels. */
  unknown?: string;
}

/**
 * Labels that a workload's controller adds to its pods, on which spread and affinity may depend. A revision or a run
 * that does not exist yet gets a unique value.
 */
async function controllerLabels(
  kind: string,
  name: string,
  value: unknown,
  { revision, reads }: { revision: () => Promise<ExistingRevision>; reads: (key: string) => boolean },
): Promise<ControllerLabels> {
  const spec = isObject(value) && isObject(value.spec) ? value.spec : {};
  switch (kind) {
    case 'Deployment': {
      const { hash = 'new', ...more } = reads(TEMPLATE_HASH) ? await revision() : {};
      return { labels: { [TEMPLATE_HASH]: hash }, ...more };
    }
    case 'StatefulSet': {
      const { start } = isObject(spec.ordinals) ? spec.ordinals : {};
      const first = typeof start === 'number' ? start : 0;
      const of = (index: number) => ({
        'apps.kubernetes.io/pod-index': `${index}`,
        'statefulset.kubernetes.io/pod-name': `${name}-${index}`,
      });
      const { hash = `${name}-new`, ...more } = reads(REVISION_HASH) ? await revision() : {};
      return { labels: { [REVISION_HASH]: hash, ...of(first) }, ofNext: of(first + 1), ...more };
    }
    case 'DaemonSet':
      return { labels: { [REVISION_HASH]: 'new', 'pod-template-generation': '1' } };
    case 'Job':
      return jobLabels(name, spec);
    case 'CronJob': {
      const job = isObject(spec.jobTemplate) && isObject(spec.jobTemplate.spec) ? spec.jobTemplate.spec : {};
      return jobLabels(`${name}-new`, job);
    }
    default:
      return { labels: {} };
  }
}

function jobLabels(name: string, { manualSelector, completionMode }: Record<string, unknown>): ControllerLabels {
  const owned = {
    'batch.kubernetes.io/controller-uid': NEW_UID,
    'batch.kubernetes.io/job-name': name,
    'controller-uid': NEW_UID,
    'job-name': name,
  };
  const labels = manualSelector === true ? {} : owned;
  if (completionMode !== 'Indexed') return { labels };
  const of = (index: number) => ({ 'batch.kubernetes.io/job-completion-index': `${index}` });
  return { labels: { ...labels, ...of(0) }, ofNext: of(1) };
}

/** Whether the object on the server has every field of the file; it may have more, such as defaults. */
function isPartOf(given: unknown, live: unknown): boolean {
  if (given === null || given === undefined) return true;
  if (Array.isArray(given)) {
    return Array.isArray(live) && given.length === live.length && given.every((item, at) => isPartOf(item, live[at]));
  }
  if (!isObject(given)) return String(given) === String(live);
  return isObject(live) && Object.entries(given).every(([name, part]) => isPartOf(part, live[name]));
}

/** The pod as if it were created again: the scheduler chooses its node. */
function existingSubject(pod: RawPod, namespace: string, name: string): FitSubject {
  const { nodeName: _, ...spec } = pod.spec ?? {};
  const { deletionTimestamp: _deletion, ...metadata } = pod.metadata ?? {};
  return {
    kind: 'Pod',
    namespace,
    name,
    title: `Pod ${namespace}/${name}`,
    pod: { metadata, spec },
    exists: true,
  };
}

interface ClaimTemplate {
  metadata?: { name?: string };
  spec?: RawClaimSpec;
}

function claimTemplates(value: unknown, document: SubjectDocument): ClaimTemplate[] {
  const spec = isObject(value) && isObject(value.spec) ? value.spec : {};
  const templates = spec.volumeClaimTemplates ?? [];
  return shapedAt<ClaimTemplate[]>(templates, CLAIM_TEMPLATES, 'spec.volumeClaimTemplates', document);
}

/** Each pod gets a claim of its own, as with an ephemeral volume. */
function withClaims(spec: RawPodSpec, templates: readonly ClaimTemplate[]): RawPodSpec {
  if (templates.length === 0) return spec;
  const names = templates.map(({ metadata }) => metadata?.name);
  const others = (spec.volumes ?? []).filter(({ name }) => !names.includes(name));
  const claims = templates.map(({ metadata, spec: claim = {} }) => ({
    name: metadata?.name ?? '',
    ephemeral: { volumeClaimTemplate: { spec: claim } },
  }));
  return { ...spec, volumes: [...others, ...claims] };
}

/** The API server's defaults that affect scheduling, for when the server is not asked. */
function withDefaults(spec: RawPodSpec, isDaemon: boolean): RawPodSpec {
  const withRequests = (container: RawContainer): RawContainer => {
    const { limits, requests } = container.resources ?? {};
    return limits === undefined
      ? container
      : { ...container, resources: { ...container.resources, requests: { ...limits, ...requests } } };
  };
  return {
    ...spec,
    ...(spec.containers === undefined ? {} : { containers: spec.containers.map(withRequests) }),
    ...(spec.initContainers === undefined ? {} : { initContainers: spec.initContainers.map(withRequests) }),
    ...(isDaemon ? { tolerations: daemonTolerations(spec.tolerations ?? [], spec.hostNetwork ?? false) } : {}),
  };
}

function shapedAt<T>(
  value: unknown,
  shape: Parameters<typeof checkedShape>[1],
  field: string,
  document: SubjectDocument,
): T {
  const found = checkedShape(value, shape, field);
  if ('field' in found) throw wrong(document, found.field, found.expected);
  return found.value as T;
}

function wrong({ source, placeOf }: SubjectDocument, field: string, expected: string): NodepoolError {
  if (field === '') return new NodepoolError('input', `${source}: must be an object`, 'correct the file');
  return new NodepoolError('input', `${placeOf(field)}: ${field} must be ${expected}`, 'correct the file');
}
