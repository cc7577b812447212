/** Which pools take a pod, how many replicas of it, and which rule of the scheduler fails elsewhere. */
import type { ClusterReader } from '../../kube/cluster.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { defined, isObject, ownValue } from '../../nodepool/json.ts';
import { quantityReader, wholeAccelerators } from '../../nodepool/quantity/amounts.ts';
import { QuantityError } from '../../nodepool/quantity/quantity.ts';
import { firstFew } from '../../nodepool/text.ts';
import type { Node } from '../../nodepool/types.ts';
import { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { FitReasons } from '../../scheduling/fit-reasons.ts';
import { Judge } from '../../scheduling/judge.ts';
import { notJudged } from '../../scheduling/not-judged.ts';
import { dependsOnItself, placeBy } from '../../scheduling/place.ts';
import { daemonTolerations } from '../../scheduling/pod/daemon.ts';
import { CLAIM_TEMPLATES, checkedShape, POD } from '../../scheduling/pod/pod-shape.ts';
import type { RawClaimSpec, RawContainer, RawPod, RawPodSpec } from '../../scheduling/pod/raw-pod.ts';
import { readPod } from '../../scheduling/pod/read-pod.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import type { Pod } from '../../scheduling/types.ts';
import { chosenPools } from '../shared/pools/load-cluster-state.ts';
import { readSelector } from '../shared/pools/not-found.ts';
import { readSnapshot } from '../shared/read-snapshot.ts';
import { allPermitted } from '../shared/refusals.ts';

export interface FitOptions {
  /** A pod that exists, documents of files, or a pod with these requests alone. */
  of: { pod: string } | { documents: readonly SubjectDocument[] } | { requests: PodRequests };
  /** Of the pod, and of objects in files that name none; undefined: that of the kubeconfig. */
  namespace: string | undefined;
  /** Empty: all pools, and the nodes of no pool. */
  pools: readonly string[];
  /** A label selector of pools. */
  selector: string | undefined;
  /** How many are to fit; undefined: one. */
  replicas: number | undefined;
}

export interface PodRequests {
  /** Quantities. */
  cpu: string | undefined;
  memory: string | undefined;
  /** Of the GPUs that the nodes offer. */
  gpu: string | undefined;
}

export interface FitDeps {
  cluster: ClusterReader;
  scheduling(): Promise<SchedulingPort>;
}

export interface FitRow {
  /** Undefined: the nodes of no pool. */
  pool: string | undefined;
  nodes: number;
  /** Nodes that take at least one. */
  takers: number;
  replicas: number;
  /** Another order of placing may fit more. */
  isAtLeast: boolean;
  /** Of the nodes that take none. */
  reasons: FitReasons;
}

export interface PodFit {
  subject: FitSubject;
  pod: Pod;
  rows: FitRow[];
  total: FitRow;
  /** The server would not create it, with the reason. */
  refused: string | undefined;
  /** As many as were asked for fit. */
  fits: boolean;
  notJudged: string[];
}

export interface FitResult {
  fits: PodFit[];
  /** Objects that were left out, and pods on nodes whose amounts cannot be read; each a sentence. */
  problems: string[];
}

/** Kinds of objects that are named. */
const MAX_KINDS = 5;

/** Throws NodepoolError: what is not there, cannot be read or is invalid, a cluster that refuses. */
export async function fit(options: FitOptions, deps: FitDeps): Promise<FitResult> {
  const isSelected = options.selector === undefined ? undefined : readSelector(options.selector);
  const port = await deps.scheduling();
  const cluster = allPermitted([deps.cluster.pools.listCoerced(), deps.cluster.nodes.list()]);
  // Awaited below: until then, a refusal must not count as unhandled.
  cluster.catch(() => {});
  const { subjects, others } =
    'requests' in options.of
      ? { subjects: [requestsSubject(options.of.requests, (await cluster)[1], options, port)], others: [] }
      : await subjectsOf({ ...options, of: options.of }, port);
  const rehearsals = await Promise.all(subjects.map(subject => rehearsed(subject, port)));
  const itself = subjects.find(({ exists }) => exists);
  const keep = ({ namespace, name }: Pod) => namespace === itself?.namespace && name === itself.name;
  const snapshotOptions = { pods: rehearsals.map(({ pod }) => pod), keep, judgesKept: false };
  const { snapshot, problems, kept, knows } = await readSnapshot(
    cluster.then(([, nodes]) => nodes),
    snapshotOptions,
    port,
  );
  for (const { pod, node } of kept) snapshot.remove(pod, node);
  const [pools, nodes] = await cluster;
  const state = new ClusterState(pools, nodes, []);
  const groups = chosenPools('fit', options.pools, isSelected, state).map(pool => {
    return { pool: pool as string | undefined, nodes: state.members(pool) };
  });
  if (options.pools.length === 0 && options.selector === undefined) {
    const free = nodes.filter(({ name }) => state.ownership(name)?.owner === undefined);
    if (free.length > 0) groups.push({ pool: undefined, nodes: free });
  }
  const sites = groups.map(group => ({ pool: group.pool, nodes: group.nodes.map(({ name }) => name) }));
  const offered = new Set(nodes.flatMap(({ allocatable }) => Object.keys(allocatable)));
  const fits = rehearsals.map(({ subject, pod, refused, unknown }): PodFit => {
    const { rows, total } = rowsOf(pod, sites, snapshot, subject.isDaemon);
    const unjudged = notJudged(subject.pod, { namespaces: knows.namespaces, offered });
    const isEnough = total.replicas >= (options.replicas ?? 1);
    return {
      ...{ subject, pod, rows, total, refused },
      fits: refused === undefined && isEnough,
      notJudged: [...unknown, ...knows.refusals, ...unjudged],
    };
  });
  return { fits, problems: [...others, ...problems] };
}

/** @returns `others`: about objects without a pod, which stand beside workloads in most files */
async function subjectsOf(
  { of, namespace: requested }: FitOptions & { of: Exclude<FitOptions['of'], { requests: PodRequests }> },
  port: SchedulingPort,
): Promise<{ subjects: FitSubject[]; others: string[] }> {
  const namespace = requested ?? port.namespace;
  if ('documents' in of) {
    const skipped = of.documents.flatMap(document => kindWithoutPod(document) ?? []);
    const isSkipped = skipped.length < of.documents.length ? kindWithoutPod : () => undefined;
    const subjects = of.documents.filter(document => isSkipped(document) === undefined);
    const kinds = [...new Set(skipped)].toSorted();
    const others = kinds.length === 0 ? [] : [`left out, as they have no pod template: ${firstFew(kinds, MAX_KINDS)}`];
    return { subjects: subjects.map(document => subjectOf(document, namespace)), others };
  }
  const slash = of.pod.indexOf('/');
  const [where, name] = slash < 0 ? [namespace, of.pod] : [of.pod.slice(0, slash), of.pod.slice(slash + 1)];
  const pod = await port.pod(where, name);
  if (pod === undefined) {
    const next = `see \`kubectl get pods -n ${where}\`, or name another namespace: NAMESPACE/NAME or -n`;
    throw new NodepoolError('input', `there is no pod "${name}" in the namespace ${where}`, next);
  }
  return { subjects: [existingSubject(pod, where, name)], others: [] };
}

const NVIDIA = 'nvidia.com/gpu';

/** A pod that the strictest PodSecurity admits: only its size is asked about. */
function requestsSubject(
  { cpu, memory, gpu }: PodRequests,
  nodes: readonly Node[],
  { namespace: requested }: FitOptions,
  port: SchedulingPort,
): FitSubject {
  const namespace = requested ?? port.namespace;
  const device = gpu === undefined ? undefined : gpuOf(nodes);
  const devices = device === undefined || gpu === undefined ? {} : { [device]: gpu };
  const container = {
    name: 'main',
    image: 'pause',
    // Of extended resources, the server wants limits.
    resources: { requests: defined({ cpu, memory, ...devices }), limits: devices },
    securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
  };
  const securityContext = { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } };
  // As the admission plugin ExtendedResourceToleration gives it: nodes with devices have a taint with their name.
  const tolerations = device === undefined ? [] : [{ key: device, operator: 'Exists', effect: 'NoSchedule' }];
  const pod = { metadata: { name: 'pod', namespace }, spec: { securityContext, tolerations, containers: [container] } };
  const others = { isDaemon: false, exists: false, ofRequests: { tolerates: device } };
  return { kind: 'Pod', namespace, name: '', title: 'A pod with these requests', pod, ...others };
}

/** nvidia.com/gpu, unless the nodes offer one other accelerator alone, as amd.com/gpu. */
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
    'write a pod that requests one of them to a file, and give it with -f',
  );
}

interface FitTrial {
  subject: FitSubject;
  pod: Pod;
  refused: string | undefined;
  /** What is not judged, as the server could not be asked. */
  unknown: string[];
}

/** With what the server adds: defaults, LimitRanges, the RuntimeClass, webhooks. */
async function rehearsed(subject: FitSubject, port: SchedulingPort): Promise<FitTrial> {
  if (subject.exists) return { subject, pod: read(subject), refused: undefined, unknown: [] };
  const rehearsal = await port.rehearse(subject.namespace, subject.pod);
  switch (rehearsal.kind) {
    case 'created': {
      // The name is only of the rehearsal.
      const { metadata, ...rest } = rehearsal.pod;
      const pod = { ...rest, metadata: { ...metadata, name: subject.pod.metadata?.name ?? '' } };
      return { subject: { ...subject, pod }, pod: read({ ...subject, pod }), refused: undefined, unknown: [] };
    }
    case 'refused': {
      if (rehearsal.isInvalid) {
        const items = rehearsal.fields.map(({ field, message }) => `${field}: ${message}`);
        const message = `the server does not take the pod of ${subject.title}: ${items.length > 0 ? 'it is invalid' : rehearsal.reason}`;
        throw new NodepoolError('input', message, 'correct the fields', { items });
      }
      return { subject, pod: read(subject), refused: rehearsal.reason, unknown: [] };
    }
    case 'unknown': {
      const what = 'what the server adds to a new pod, as LimitRange, RuntimeClass and webhooks do, and quotas';
      return { subject, pod: read(subject), refused: undefined, unknown: [`${what}: ${rehearsal.reason}`] };
    }
  }
}

function read(subject: FitSubject): Pod {
  try {
    return readPod(subject.pod, quantityReader());
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    throw new NodepoolError('input', `${subject.title}: resources: ${error.message}`, 'correct the quantity');
  }
}

function rowsOf(
  pod: Pod,
  sites: readonly { pool: string | undefined; nodes: readonly string[] }[],
  snapshot: Snapshot,
  isDaemon: boolean,
): { rows: FitRow[]; total: FitRow } {
  const judge = new Judge(pod, snapshot);
  const isDependent = dependsOnItself(judge);
  const limits = isDaemon ? { perNode: 1 } : {};
  const placed = (nodes: readonly string[]) =>
    placeBy(isDependent ? new Judge(pod, snapshot) : judge, nodes, snapshot, limits);
  const rows = sites.map(({ pool, nodes }): FitRow => {
    const reasons = new FitReasons();
    const takers = nodes.filter(node => reasons.add(judge.firstWhyNot(node)));
    const { replicas, isAtLeast } = takers.length === 0 ? { replicas: 0, isAtLeast: false } : placed(nodes);
    return { pool, nodes: nodes.length, takers: takers.length, replicas, isAtLeast, reasons };
  });
  const reasons = new FitReasons();
  for (const row of rows) reasons.addAll(row.reasons);
  const takers = rows.reduce((sum, row) => sum + row.takers, 0);
  const { replicas, isAtLeast } =
    takers === 0 ? { replicas: 0, isAtLeast: false } : placed(sites.flatMap(({ nodes }) => nodes));
  const nodes = rows.reduce((sum, row) => sum + row.nodes, 0);
  return { rows, total: { pool: undefined, nodes, takers, replicas, isAtLeast, reasons } };
}

// The pods that `fit` is asked about: of a file with a pod or a pod template, or one that exists.

interface FitSubject {
  /** Of the object: `Deployment`. */
  kind: string;
  namespace: string;
  name: string;
  /** `Deployment shop/web`. */
  title: string;
  /** One that could be created: of a pod that exists, without its node. */
  pod: RawPod;
  /** One pod a node at most. */
  isDaemon: boolean;
  /** It exists: its own place counts as free. */
  exists: boolean;
  /** It has requests, and no selector and no tolerations but one of taints with the name of a device. */
  ofRequests?: { tolerates: string | undefined };
}

interface SubjectDocument {
  value: unknown;
  /** `web.yaml:12`. */
  source: string;
  placeOf(field: string): string;
}

/** Where each kind has its pod template; `[]`: it is a pod itself. */
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

/** The kind of an object of a kind without a pod template, as a Service. */
function kindWithoutPod({ value }: SubjectDocument): string | undefined {
  const kind = isObject(value) ? value.kind : undefined;
  return typeof kind === 'string' && kind !== '' && ownValue(TEMPLATES, kind) === undefined ? kind : undefined;
}

/** Throws NodepoolError (input) with the field. @param namespace of objects that name none */
function subjectOf(document: SubjectDocument, namespace: string): FitSubject {
  const { value, source } = document;
  const { kind, metadata } = isObject(value) ? value : {};
  const path = typeof kind === 'string' ? ownValue(TEMPLATES, kind) : undefined;
  if (typeof kind !== 'string' || path === undefined) {
    const what = typeof kind === 'string' ? `a ${kind} has no pod template` : 'it has no kind';
    throw new NodepoolError('input', `${source}: ${what}`, `give one of ${Object.keys(TEMPLATES).join(', ')}`);
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
  return {
    ...{ kind, namespace: where, name: named, title: `${kind} ${where}/${named === '' ? '<no name>' : named}` },
    pod: { metadata: { ...pod.metadata, name: named === '' ? 'pod' : named, namespace: where }, spec },
    isDaemon: kind === 'DaemonSet',
    exists: false,
  };
}

/** As if it were created again: it goes where the scheduler puts it. */
function existingSubject(pod: RawPod, namespace: string, name: string): FitSubject {
  const { nodeName: _, ...spec } = pod.spec ?? {};
  const { deletionTimestamp: _deletion, ...metadata } = pod.metadata ?? {};
  return {
    kind: 'Pod',
    namespace,
    name,
    title: `Pod ${namespace}/${name}`,
    pod: { metadata, spec },
    isDaemon: false,
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

/** Each pod gets its own claim, as for an ephemeral volume. */
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

/** Those of the API server that decide on scheduling, for where it is not asked. */
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
  if (field === '') return new NodepoolError('input', `${source}: it must be an object`, 'correct the file');
  return new NodepoolError('input', `${placeOf(field)}: ${field} must be ${expected}`, 'correct the file');
}
