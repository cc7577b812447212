/** Which pools take a pod, how many replicas fit, and which scheduler rule fails on the other nodes. */
import type { ClusterReader } from '../../kube/cluster.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { matchesQuery } from '../../nodepool/membership/label-query.ts';
import { quantityReader } from '../../nodepool/quantity/amounts.ts';
import { QuantityError } from '../../nodepool/quantity/quantity.ts';
import { firstFew } from '../../nodepool/text.ts';
import type { Node } from '../../nodepool/types.ts';
import { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { type Bounds, NO_REPLICAS } from '../../scheduling/bounds.ts';
import { FitReasons } from '../../scheduling/fit-reasons.ts';
import { Judge } from '../../scheduling/judge.ts';
import { firstNodeRefusal, nodeNamesIn } from '../../scheduling/node/node-rules.ts';
import { notJudged } from '../../scheduling/not-judged.ts';
import { placeBy } from '../../scheduling/place.ts';
import { whyNoDaemon } from '../../scheduling/pod/daemon.ts';
import type { RawPod, RawPodSpec } from '../../scheduling/pod/raw-pod.ts';
import { nominatedNode, placementOf, readPlacedPod, readPod } from '../../scheduling/pod/read-pod.ts';
import { objectLimit, type QuotaLimit, quotaLimit, type RawQuota } from '../../scheduling/quota.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import {
  copiedLabels,
  replicaLabels,
  replicasDiffer,
  usesCopiedLabels,
  withoutCopiedLabels,
} from '../../scheduling/spread/replicas.ts';
import type { Pod, SpreadConstraint, UnfitReason } from '../../scheduling/types.ts';
import { defaultClass, ownClaims } from '../../scheduling/volumes/volumes.ts';
import { selectExistingPools } from '../shared/pools/load-cluster-state.ts';
import { readSelector } from '../shared/pools/not-found.ts';
import { type KeptPod, readSnapshot } from '../shared/read-snapshot.ts';
import { allPermitted, permitted } from '../shared/refusals.ts';
import { type FitSubject, type PodRequests, requestsSubject, type SubjectDocument, subjectsOf } from './subjects.ts';

export interface FitOptions {
  /** An existing pod, documents from files, or a pod with only these requests. */
  of: { pod: string } | { documents: readonly SubjectDocument[] } | { requests: PodRequests };
  /** Namespace of the pod, and of objects in files without one; undefined: the one in the kubeconfig. */
  namespace: string | undefined;
  /** Empty: all pools, and the nodes without a pool. */
  pools: readonly string[];
  /** A label selector for pools. */
  selector: string | undefined;
  /** The requested number of replicas; undefined: one. */
  replicas: number | undefined;
}

export interface FitDeps {
  cluster: ClusterReader;
  scheduling(): Promise<SchedulingPort>;
  serverVersion(): Promise<string>;
}

export interface FitRow {
  /** Undefined: the nodes without a pool. */
  pool: string | undefined;
  nodes: number;
  /** Number of nodes that take at least one replica. */
  takers: number;
  replicas: Bounds;
  /** Reasons of the nodes that take none. */
  reasons: FitReasons;
}

export interface PodFit {
  subject: FitSubject;
  pod: Pod;
  rows: FitRow[];
  total: FitRow;
  /** The reason why the server would refuse the pod. */
  refused: string | undefined;
  /** The ResourceQuota that leaves room for the fewest pods. */
  quota: QuotaLimit | undefined;
  /** The requested number of replicas fits. */
  fits: boolean;
  notJudged: string[];
}

export interface FitResult {
  fits: PodFit[];
  /** A sentence each: objects that were left out, and pods with invalid quantities. */
  problems: string[];
}

/** Throws NodepoolError if an object is missing, unreadable or invalid, or if the server refuses. */
export async function fit(options: FitOptions, deps: FitDeps): Promise<FitResult> {
  const isSelected = options.selector === undefined ? undefined : readSelector(options.selector);
  const port = await deps.scheduling();
  const cluster = allPermitted([deps.cluster.pools.listCoerced(), deps.cluster.nodes.list()]);
  // Awaited below; until then a rejection must not count as unhandled.
  cluster.catch(() => {});
  const { subjects, others } =
    'requests' in options.of
      ? { subjects: [requestsSubject(options.of.requests, (await cluster)[1], options, port)], others: [] }
      : await subjectsOf({ ...options, of: options.of }, port);
  const rehearsals = await Promise.all(
    subjects.map(async subject => copying(await rehearsed(subject, port), cluster, deps)),
  );
  const isReplaced = replacedBy(subjects);
  const snapshotOptions = {
    pods: rehearsals.map(({ pod }) => pod),
    keep: isReplaced,
    judgesKept: false,
    keepsByLabels: subjects.some(({ daemon }) => daemon !== undefined),
  };
  const [{ snapshot, problems, kept, knows }, quotas, waiting, classes] = await Promise.all([
    readSnapshot(
      cluster.then(([, nodes]) => nodes),
      snapshotOptions,
      port,
    ),
    quotasOf(rehearsals, port),
    port.pendingPods(),
    deviceClassesOf(rehearsals, port),
  ]);
  for (const { pod, node } of kept) snapshot.remove(pod, node);
  const pending = waiting.filter(({ metadata }) => !isReplaced({ namespace: '', name: '', labels: {}, ...metadata }));
  const [pools, nodes] = await cluster;
  const state = new ClusterState(pools, nodes, []);
  const groups = selectExistingPools('fit', options.pools, isSelected, state).map(pool => {
    return { pool: pool as string | undefined, nodes: state.members(pool) };
  });
  if (options.pools.length === 0 && options.selector === undefined) {
    const free = nodes.filter(({ name }) => state.ownership(name)?.owner === undefined);
    if (free.length > 0) groups.push({ pool: undefined, nodes: free });
  }
  const sites = groups.map(group => ({ pool: group.pool, nodes: group.nodes.map(({ name }) => name) }));
  const competing = competingPods(
    pending,
    groups.flatMap(group => group.nodes),
    snapshot,
  );
  const offered = new Set(nodes.flatMap(({ allocatable }) => Object.keys(allocatable)));
  const objectLimits = await Promise.all(
    rehearsals.map(({ subject }) => objectLimitOf(subject, quotas.get(subject.namespace)?.quotas ?? [], port)),
  );
  const fits = rehearsals.map(({ subject, pod, refused, unknown }, at): PodFit => {
    const { daemon } = subject;
    const asked = daemon === undefined ? pod : pinned(pod);
    const nominated = new Nominated(
      pending.filter(other => isNominated(other, subject.pod)),
      asked,
      snapshot,
    );
    for (const each of nominated.pods) snapshot.hold(each.pod, each.node);
    const own = ownClaims(subject.namespace, subject.claimNames ?? [], snapshot);
    // It is unknown which replicas use these claims, and which need new ones.
    const unclaimed = own.length === 0 ? asked : { ...asked, claims: asked.claims.filter(({ template }) => !template) };
    const { rows, total, open } = rowsOf(unclaimed, sites, snapshot, daemon?.template, nominated);
    if (own.length > 0) for (const row of [...rows, total]) row.replicas = { ...row.replicas, least: 0 };
    for (const each of nominated.pods) snapshot.release(each.pod, each.node);
    const ofNamespace = quotas.get(subject.namespace) ?? { quotas: [], refusal: undefined };
    const replaced = kept.flatMap(each => (replacedBy([subject])(each.pod) ? each.pod : []));
    const quota =
      objectLimits[at] ??
      quotaLimit(subject.pod, ofNamespace.quotas, quantityReader(), defaultClass(snapshot.storage), replaced);
    // Its controller creates a pod for each of these nodes: a quota may admit those that no node takes.
    const left = daemon === undefined ? 0 : Math.max(0, open - (quota?.replicas ?? Infinity));
    for (const row of left > 0 ? [...rows, total] : [])
      row.replicas = { ...row.replicas, least: Math.max(0, row.replicas.least - left) };
    const wanted = options.replicas ?? 1;
    const created = daemon === undefined ? wanted : (options.replicas ?? total.replicas.most);
    const isEnough = total.replicas.least >= wanted && (quota?.replicas ?? Infinity) >= created;
    return {
      ...{ subject, pod, rows, total, refused, quota },
      fits: refused === undefined && isEnough,
      notJudged: [
        ...unknown,
        ...(subject.notJudged === undefined ? [] : [subject.notJudged]),
        ...knows.refusals,
        ...(ofNamespace.refusal === undefined ? [] : [ofNamespace.refusal]),
        ...notJudged(subject.pod, { namespaces: knows.namespaces, offered, classes, storage: snapshot.storage }),
        ...replicasText(pod, snapshot),
        ...(own.length === 0 ? [] : [`where the existing volumes of its replicas are: ${firstFew(own, MAX_CLAIMS)}`]),
        ...nominated.notJudged,
        ...pendingText(competing.filter(other => !isNominated(other, subject.pod))),
      ],
    };
  });
  return { fits, problems: [...others, ...problems] };
}

/** Existing pods whose place counts as free: the pod itself, or the pods of the DaemonSet. */
function replacedBy(subjects: readonly FitSubject[]): (pod: Pick<Pod, 'namespace' | 'name' | 'labels'>) => boolean {
  const itself = subjects.find(({ exists }) => exists);
  const daemons = subjects.filter(({ daemon }) => daemon?.surges === false);
  return ({ namespace, name, labels }) =>
    (namespace === itself?.namespace && name === itself.name) ||
    daemons.some(subject => subject.namespace === namespace && matchesQuery(subject.daemon?.selector, labels));
}

function replicasText(pod: Pod, snapshot: Snapshot): string[] {
  if (!replicasDiffer(pod, snapshot)) return [];
  return ['replicas after the first: rules name labels that differ between replicas'];
}

// ResourceQuotas.

async function quotasOf(
  trials: readonly FitTrial[],
  port: SchedulingPort,
): Promise<Map<string, { quotas: RawQuota[]; refusal: string | undefined }>> {
  const namespaces = [...new Set(trials.map(({ subject }) => subject.namespace))];
  const found = await Promise.all(namespaces.map(namespace => permitted(port.quotas(namespace))));
  return new Map(
    found.map((each, at) => [
      namespaces[at] ?? '',
      'value' in each
        ? { quotas: each.value, refusal: undefined }
        : { quotas: [], refusal: `ResourceQuotas: ${each.forbidden.oneLine}` },
    ]),
  );
}

/** Asks for the workload only if a new one would exceed a quota. */
async function objectLimitOf(
  { kind, namespace, name, isSame }: FitSubject,
  quotas: readonly RawQuota[],
  port: SchedulingPort,
): Promise<QuotaLimit | undefined> {
  const read = quantityReader();
  const limit = objectLimit(kind, { isNew: true, isRevised: true }, quotas, read);
  if (limit === undefined || name === '') return limit;
  const found = await permitted(port.workload(kind, namespace, name));
  if ('forbidden' in found || found.value === undefined) return limit;
  return objectLimit(kind, { isNew: false, isRevised: isSame?.(found.value.template) !== true }, quotas, read);
}

// Pods that are not bound to a node yet.

/** The scheduler keeps the room that it has made by preemption, unless the pod has a higher priority. */
function isNominated(other: RawPod, pod: RawPod): boolean {
  return nominatedNode(other) !== undefined && (other.spec?.priority ?? 0) >= (pod.spec?.priority ?? 0);
}

/**
 * Like RunFilterPluginsWithNominatedPods: a node must take the pod with and without the pods nominated to it. Those of
 * other nodes do not count.
 */
class Nominated {
  readonly pods: readonly KeptPod[];
  readonly #reasons = new Map<string, UnfitReason[]>();
  readonly #counted: readonly KeptPod[];

  constructor(pending: readonly RawPod[], pod: Pod, snapshot: Snapshot) {
    const read = quantityReader();
    this.pods = pending.map(raw => {
      return { pod: readPlacedPod(raw, read, () => {}), node: nominatedNode(raw) ?? '' };
    });
    for (const [node, pods] of Map.groupBy(this.pods, each => each.node)) {
      if (!snapshot.nodes.has(node)) continue;
      for (const each of pods) snapshot.add(each.pod, node);
      this.#reasons.set(node, new Judge(pod, snapshot).firstWhyNot(node));
      for (const each of pods) snapshot.remove(each.pod, node);
    }
    this.#counted = this.pods.filter(
      each =>
        this.#reasons.get(each.node)?.length === 0 &&
        each.pod.namespace === pod.namespace &&
        pod.spread.some(({ selector }) => matchesQuery(selector, each.pod.labels)),
    );
  }

  whyNot(node: string): readonly UnfitReason[] {
    return this.#reasons.get(node) ?? [];
  }

  /** Placed replicas change the skew with and without a nominated pod: only the first one is certain. */
  bounds({ least, most }: Bounds): Bounds {
    return { least: this.#counted.length === 0 ? least : Math.min(1, least), most };
  }

  get notJudged(): string[] {
    const names = this.#counted.map(({ pod }) => `${pod.namespace}/${pod.name}`);
    if (names.length === 0) return [];
    return [`replicas after the first: topology spread counts pods nominated to nodes: ${firstFew(names, MAX_PODS)}`];
  }
}

/** Pending pods that some of the nodes accepts by its own rules, regardless of free room. */
function competingPods(pending: readonly RawPod[], nodes: readonly Node[], { parts }: Snapshot): RawPod[] {
  const found = new Map<object, boolean>();
  return pending.filter(({ spec = {} }) => {
    if ((spec.schedulingGates ?? []).length > 0) return false;
    const placement = parts.first(placementOf(spec));
    const named = nodeNamesIn(placement.nodeTerms);
    const takes = found.get(placement) ?? nodes.some(node => firstNodeRefusal(node, placement, named) === undefined);
    found.set(placement, takes);
    return takes;
  });
}

const MAX_PODS = 3;
const MAX_CLAIMS = 3;

function pendingText(competing: readonly RawPod[]): string[] {
  const names = competing.map(({ metadata = {} }) => `${metadata.namespace}/${metadata.name}`);
  if (names.length === 0) return [];
  const what = names.length === 1 ? 'a Pending pod' : `${names.length} Pending pods`;
  return [`${what} may take this room first: ${firstFew(names, MAX_PODS)}`];
}

/** DeviceClasses that map to an extended resource; only read if a pod requests one. */
async function deviceClassesOf(trials: readonly FitTrial[], port: SchedulingPort): Promise<ReadonlySet<string>> {
  const isAsked = trials.some(({ pod }) => [...pod.requests.keys()].some(name => name.includes('/')));
  if (!isAsked) return new Set();
  const found = await permitted(port.deviceResources());
  return new Set('value' in found ? found.value : []);
}

/** The minor version of Kubernetes 1.x. */
const COPIES_SINCE = 35;

/** Adds the labels that the server copies from the node to each replica, if rules use them. */
async function copying(
  trial: FitTrial,
  cluster: Promise<readonly [unknown, Node[]]>,
  deps: FitDeps,
): Promise<FitTrial> {
  const { subject } = trial;
  if (!usesCopiedLabels(subject.pod)) return trial;
  const version = await permitted(deps.serverVersion());
  const minor = 'value' in version ? /^v?1\.(\d+)/.exec(version.value)?.[1] : undefined;
  if (minor !== undefined && Number(minor) < COPIES_SINCE) return trial;
  const [, nodes] = await cluster;
  const created = subject.exists ? { ...subject, pod: withoutCopiedLabels(subject.pod) } : subject;
  const replicas = replicaLabels(created.pod, subject.labelsOfNext ?? {}, copiedLabels(nodes));
  return { ...trial, pod: { ...read(created), replicas } };
}

interface FitTrial {
  subject: FitSubject;
  pod: Pod;
  refused: string | undefined;
  /** Rules that are not judged because the server could not be asked. */
  unknown: string[];
}

/** The pod as the server would store it: with defaults, LimitRanges, the RuntimeClass and webhooks. */
async function rehearsed(subject: FitSubject, port: SchedulingPort): Promise<FitTrial> {
  if (subject.exists) return { subject, pod: read(subject), refused: undefined, unknown: [] };
  const rehearsal = await port.rehearse(subject.namespace, subject.pod);
  switch (rehearsal.kind) {
    case 'created': {
      // The server saw a temporary name.
      const { metadata, ...rest } = rehearsal.pod;
      const pod = { ...rest, metadata: { ...metadata, name: subject.pod.metadata?.name ?? '' } };
      return { subject: { ...subject, pod }, pod: read({ ...subject, pod }), refused: undefined, unknown: [] };
    }
    case 'refused': {
      if (rehearsal.isInvalid) {
        const items = rehearsal.fields.map(({ field, message }) => `${field}: ${message}`);
        const message = `the server rejects the pod of ${subject.title}: ${items.length > 0 ? 'the pod is invalid' : rehearsal.reason}`;
        throw new NodepoolError('input', message, 'correct the fields', { items });
      }
      return { subject, pod: read(subject), refused: rehearsal.reason, unknown: [] };
    }
    case 'unknown': {
      const what = 'what the server adds to a new pod (LimitRange, RuntimeClass, webhooks), and quotas';
      return { subject, pod: read(subject), refused: undefined, unknown: [`${what}: ${rehearsal.reason}`] };
    }
  }
}

function read(subject: FitSubject): Pod {
  try {
    const pod = readPod(subject.pod, quantityReader());
    const { labelsOfNext } = subject;
    return labelsOfNext === undefined ? pod : { ...pod, replicas: replicaLabels(subject.pod, labelsOfNext) };
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    throw new NodepoolError('input', `${subject.title}: resources: ${error.message}`, 'correct the quantity');
  }
}

/**
 * `open`: the number of nodes whose own rules accept the pod. @param daemon the pod template of a DaemonSet; its controller
 * ignores what admission adds
 */
function rowsOf(
  pod: Pod,
  sites: readonly { pool: string | undefined; nodes: readonly string[] }[],
  snapshot: Snapshot,
  daemon: RawPodSpec | undefined,
  nominated: Nominated,
): { rows: FitRow[]; total: FitRow; open: number } {
  const judge = new Judge(pod, snapshot);
  const isDependent = judge.isSelfMatching;
  const differ = judge.replicasDiffer;
  const limits = daemon === undefined ? {} : { perNode: 1 };
  const refusedBy = (name: string): readonly UnfitReason[] => {
    const node = snapshot.nodes.get(name)?.node;
    const refusal = daemon === undefined || node === undefined ? undefined : whyNoDaemon(daemon, node);
    return refusal === undefined ? nominated.whyNot(name) : [refusal];
  };
  const placed = (nodes: readonly string[]) =>
    nominated.bounds(placeBy(isDependent ? new Judge(pod, snapshot) : judge, nodes, snapshot, limits).bounds);
  const rows = sites.map(({ pool, nodes }): FitRow & { open: string[] } => {
    const reasons = new FitReasons();
    const refusals = new Map(nodes.map(node => [node, refusedBy(node)]));
    const open = nodes.filter(node => refusals.get(node)?.length === 0);
    const takers = nodes.filter(node => {
      const refusal = refusals.get(node) ?? [];
      return reasons.add(refusal.length === 0 ? judge.firstWhyNot(node) : refusal);
    });
    const replicas = takers.length === 0 && !differ ? NO_REPLICAS : placed(open);
    return { pool, nodes: nodes.length, takers: takers.length, replicas, reasons, open };
  });
  const reasons = new FitReasons();
  for (const row of rows) reasons.addAll(row.reasons);
  const takers = rows.reduce((sum, row) => sum + row.takers, 0);
  const open = rows.flatMap(row => row.open);
  const replicas = takers === 0 && !differ ? NO_REPLICAS : placed(open);
  const nodes = rows.reduce((sum, row) => sum + row.nodes, 0);
  return { rows, total: { pool: undefined, nodes, takers, replicas, reasons }, open: open.length };
}

/** Each DaemonSet pod has a node affinity for one node: spread constraints that honor it consider only that node. */
function pinned(pod: Pod): Pod {
  const spread = pod.spread.flatMap((each): SpreadConstraint[] => {
    if (!each.honorsAffinity) return [each];
    const alone = { ...each, maxSkew: Infinity, minDomains: 1 };
    // With fewer domains than minDomains, the skew is the number of pods there.
    return each.minDomains > 1 ? [alone, { ...each, topologyKey: HOST_NAME, minDomains: Infinity }] : [alone];
  });
  return { ...pod, spread };
}

/** The label that tells nodes apart. */
const HOST_NAME = 'kubernetes.io/hostname';
