/** Reads the input for the impact of a change. One warning names everything that the user may not read. */
import { countPod } from '../../../controller/collect.ts';
import type { ImpactPort, ImpactPorts, SelectorPath } from '../../../kube/resources/impact.ts';
import type { LabelledPod, SchedulingPort } from '../../../kube/resources/scheduling.ts';
import type { Budget } from '../../../nodepool/drain/budgets.ts';
import { NodepoolError, type Warning } from '../../../nodepool/errors.ts';
import type { Scheduling, SchedulingChange } from '../../../nodepool/plan/runtime-class.ts';
import { controllerOf, isCustomController, TEMPLATE_HASH } from '../../../nodepool/plan/runtime-class-users.ts';
import { quantityReader } from '../../../nodepool/quantity/amounts.ts';
import { firstFew, noun } from '../../../nodepool/text.ts';
import type { Node, RuntimeClass } from '../../../nodepool/types.ts';
import type { ExceededQuota } from '../../../scheduling/exceeded-quotas.ts';
import { recreations } from '../../../scheduling/impact/leaving-pods.ts';
import type { NodeChange } from '../../../scheduling/impact/node-keys.ts';
import { admitted, keysOfPod } from '../../../scheduling/impact/selecting.ts';
import {
  type DaemonSet,
  type PodOwner,
  type RunningPod,
  SELECTING_KINDS,
  type SelectingKind,
  type SelectingObject,
} from '../../../scheduling/impact/types.ts';
import type { LimitRangeEffects } from '../../../scheduling/limit-ranges.ts';
import { countedBy } from '../../../scheduling/node/label-index.ts';
import type { PodParts } from '../../../scheduling/pod/pod-parts.ts';
import type { RawPod, RawPodSpec } from '../../../scheduling/pod/raw-pod.ts';
import { readPlacedPod } from '../../../scheduling/pod/read-pod.ts';
import { Snapshot, selectsNamespaces } from '../../../scheduling/snapshot.ts';
import type { Pod } from '../../../scheduling/types.ts';
import { NO_STORAGE, type Storage } from '../../../scheduling/volumes/storage.ts';
import { valueOrRefusal } from '../refusals.ts';

export interface ReadOptions {
  paths: readonly SelectorPath[];
  /** Keys that change: objects that select by them are read. */
  labels: readonly string[];
  /** All nodes, after the change. */
  nodes: readonly Node[];
  /** By node name. */
  changed: ReadonlyMap<string, NodeChange>;
  /** RuntimeClasses that change, by name. */
  classes: ReadonlyMap<string, SchedulingChange>;
  /** Whether a NoExecute taint is added: budgets are read. */
  mayEvict: boolean;
  /** Whether a taint that keeps pods away is added: workloads without pods are read. */
  mayShutOut: boolean;
  /** Which pods on changed nodes would be scheduled again. */
  moving: (here: RunningPods['here'], storage: Storage) => readonly RunningPod[];
}

export interface ReadImpact {
  running: RunningPods;
  daemonSets: DaemonSet[];
  selecting: SelectingObject[];
  budgets: Budget[];
  /** Of the StatefulSets whose pods move, those with podManagementPolicy Parallel. */
  parallel: ReadonlySet<string>;
  /** Extended resources that a DeviceClass provides; read only if moving pods request any. */
  deviceResources: ReadonlySet<string>;
  /** Read only for NoExecute taints. */
  quotas: readonly ExceededQuota[];
  ranges: readonly LimitRangeEffects[];
  /** Whether pods and DaemonSets could be read. */
  isKnown: boolean;
  warnings: Warning[];
}

export async function readAll(
  { paths, labels, nodes, changed, classes, mayEvict, mayShutOut, moving }: ReadOptions,
  ports: ImpactPorts,
): Promise<ReadImpact> {
  const [port, scheduling] = await Promise.all([ports.impact(), ports.scheduling()]);
  const unread: UnreadObjects[] = [];
  const reading = async <T>(what: string, read: () => Promise<T>, otherwise: T): Promise<T> => {
    const answer = await valueOrRefusal(read);
    if ('value' in answer) return answer.value;
    unread.push({ what, refusal: answer.refusal });
    return otherwise;
  };
  const kinds = labels.length > 0 ? SELECTING_KINDS : mayShutOut ? WITHOUT_PODS : [];
  const requested = labels.length === 0 ? paths.filter(({ flagText }) => flagText !== undefined) : paths;
  const none = { selecting: [], warnings: [] };
  const budgets = async () => (await ports.cluster.evictions()).budgets();
  const [running, daemonSets, custom, budgetList, ...selecting] = await Promise.all([
    reading(PODS, () => readRunningPods(nodes, changed, classes, scheduling), noPods(nodes)),
    reading(DAEMON_SETS, () => port.daemonSets(), []),
    requested.length === 0 ? none : reading('custom resources', () => readCustom(port, requested, labels), none),
    mayEvict ? reading('PodDisruptionBudgets', budgets, []) : [],
    ...kinds.map(kind => reading<SelectingObject[]>(noun(2, kind), () => port.selecting(kind), [])),
  ]);
  const { snapshot, claiming, asksForNamespaces, problems, here } = running;
  const templated = selecting.flat();
  const namesClass = templated.some(({ runtimeClass }) => runtimeClass !== undefined);
  const listClasses = () => ports.cluster.runtimeClasses.list();
  let runtimeClasses: RuntimeClass[];
  [snapshot.storage, snapshot.namespaces, runtimeClasses] = await Promise.all([
    claiming.size === 0 ? NO_STORAGE : reading('volumes and claims', () => scheduling.storage(claiming), NO_STORAGE),
    asksForNamespaces
      ? reading<Namespaces>('pod affinity by labels of namespaces', () => scheduling.namespaces(), undefined)
      : undefined,
    namesClass ? reading<RuntimeClass[]>('RuntimeClasses', listClasses, []) : [],
    readJobs([...here.values()].flat(), snapshot.parts, port),
  ]);
  const movers = moving(here, snapshot.storage);
  const isOrdered = movers.some(({ owner }) => owner?.kind === 'StatefulSet');
  const asksForDevices = movers.some(({ pod }) => [...pod.requests.keys()].some(name => name.includes('/')));
  const [parallel, deviceResources, quotas, ranges] = await Promise.all([
    isOrdered ? reading('the order of StatefulSets', () => port.parallelSets(), NO_SETS) : NO_SETS,
    asksForDevices
      ? reading('DeviceClasses', async () => new Set(await scheduling.deviceResources()), NO_SETS)
      : NO_SETS,
    mayEvict ? reading<ExceededQuota[]>('ResourceQuotas', () => scheduling.exceededQuotas(), []) : [],
    mayEvict ? reading<LimitRangeEffects[]>('LimitRanges', () => scheduling.limitRanges(), []) : [],
    reading('topology spread and pod affinity', () => countOthers(snapshot, movers, scheduling), undefined),
  ]);
  const warnings = [...unreadWarning(unread), ...problems, ...custom.warnings];
  const isKnown = !unread.some(({ what }) => what === PODS || what === DAEMON_SETS);
  const added = new Map(runtimeClasses.map(({ metadata, scheduling = {} }) => [metadata.name, scheduling]));
  const schedulingOf = (name: string) => classes.get(name)?.after ?? added.get(name);
  const all = [...custom.selecting, ...templated.map(object => withRuntimeClass(object, schedulingOf))];
  const known = { running, daemonSets, selecting: all, budgets: budgetList, parallel, deviceResources, quotas, ranges };
  return { ...known, isKnown, warnings };
}

/** Kinds that may have no pod for long, such as between two runs, or with 0 replicas. */
const WITHOUT_PODS: readonly SelectingKind[] = ['Deployment', 'StatefulSet', 'CronJob'];
const NO_SETS: ReadonlySet<string> = new Set();
const PODS = 'pods';
const DAEMON_SETS = 'DaemonSets';

type Namespaces = ReadonlyMap<string, Record<string, string>> | undefined;

/** Throws NodepoolError if the server does not serve the resource of a path in the command line. */
export async function readCustom(port: ImpactPort, paths: readonly SelectorPath[], labels: readonly string[]) {
  const { selecting, unserved, unset } = await port.custom(paths, labels);
  const wrong = unserved.find(({ flagText }) => flagText !== undefined);
  if (wrong?.flagText !== undefined) {
    const message = `${wrong.flagText}: the server does not serve the resource ${wrong.resource}`;
    throw new NodepoolError('usage', message, '`kubectl api-resources -o name` lists the served resources');
  }
  const warnings = unset.flatMap(({ path: { flagText, fields }, kind }): Warning[] =>
    flagText === undefined ? [] : [`${flagText}: no ${kind} has the field .${fields.join('.')}`],
  );
  return { selecting, warnings };
}

/** How many more failures Jobs allow. Groups the pods of a CronJob's Jobs; if Jobs may not be read, each is a group. */
async function readJobs(here: readonly RunningPod[], parts: PodParts, port: ImpactPort): Promise<void> {
  if (!here.some(({ owner }) => owner?.kind === 'Job')) return;
  const read = await valueOrRefusal(() => port.jobs());
  if ('refusal' in read) return;
  for (const running of here) {
    const { pod, owner } = running;
    const job = owner?.kind === 'Job' ? read.value.get(`${pod.namespace}/${owner.name}`) : undefined;
    if (owner === undefined || job === undefined) continue;
    const { cronJob, notJudged, createsNoMore = false, ...facts } = job;
    if (createsNoMore) {
      running.owner = undefined;
      continue;
    }
    running.job = { name: owner.name, ...facts };
    if (cronJob !== undefined) running.owner = { kind: 'CronJob', name: cronJob };
    if (notJudged.length > 0) running.pod = parts.traits({ ...pod, notJudged: [...pod.notJudged, ...notJudged] });
  }
}

/** Adds what admission adds. For an unknown RuntimeClass, the placement is unknown. */
function withRuntimeClass(
  object: SelectingObject,
  schedulingOf: (runtimeClass: string) => Scheduling | undefined,
): SelectingObject {
  const { runtimeClass, placement, ...rest } = object;
  if (runtimeClass === undefined || placement === undefined) return object;
  const added = schedulingOf(runtimeClass);
  return added === undefined ? rest : { ...rest, ...admitted(placement, added) };
}

interface UnreadObjects {
  what: string;
  refusal: NodepoolError;
}

/** Maximum number of kinds in a warning. */
const MAX_NAMED = 4;

/** One warning for all: users who may not read pods usually lack other permissions too. */
function unreadWarning(unread: readonly UnreadObjects[]): Warning[] {
  const [first] = unread;
  if (first === undefined) return [];
  const what = firstFew(
    unread.map(each => each.what),
    MAX_NAMED,
  );
  const message = `the impact on ${what} is unknown: ${first.refusal.oneLine}`;
  return [first.refusal.next === undefined ? message : { message, next: first.refusal.next }];
}

// The pods on nodes, with the controllers that recreate them.

interface RunningPods {
  /** Has every unfinished pod that is on a node; others are not counted yet. Without volumes, claims and namespaces. */
  snapshot: Snapshot;
  /** Pods on changed nodes, by node. For other nodes (50,000 pods), the sums in the snapshot are enough. */
  here: Map<string, RunningPod[]>;
  /** Namespaces of these pods that have claims. */
  claiming: Set<string>;
  /** On any node. */
  untemplated: UntemplatedPods;
  /** Whether a pod affinity term needs the labels of namespaces. */
  asksForNamespaces: boolean;
  /** A sentence for each pod whose quantities cannot be read. */
  problems: string[];
}

/** The state before any pod is read. @param nodes all, after the change */
function noPods(nodes: readonly Node[]): RunningPods {
  const snapshot = new Snapshot(nodes, undefined, undefined, () => false);
  const untemplated = new UntemplatedPods(snapshot.parts);
  return { snapshot, here: new Map(), untemplated, claiming: new Set(), asksForNamespaces: false, problems: [] };
}

/** @param nodes all, after the change @param changed by node name @param classes that change, by name */
async function readRunningPods(
  nodes: readonly Node[],
  changed: ReadonlyMap<string, NodeChange>,
  classes: ReadonlyMap<string, SchedulingChange>,
  port: SchedulingPort,
): Promise<RunningPods> {
  const recreate = recreations(classes);
  const read = quantityReader();
  let found = noPods(nodes);
  const owners = new Map<string, PodOwner>();
  const add = (raw: RawPod) => {
    const pod = readPlacedPod(raw, read, problem => void found.problems.push(problem));
    const { nodeName = '', namespace, claims, affinity, antiAffinity, placement } = pod;
    found.snapshot.add(pod, nodeName);
    found.asksForNamespaces ||= [...affinity, ...antiAffinity].some(selectsNamespaces);
    const controller = raw.metadata?.ownerReferences?.find(reference => reference.controller);
    const owner = controller && ownerOf(raw, controller, owners);
    // Most pods share these parts: only the names of 50,000 pods differ.
    const before = changed.get(nodeName)?.before;
    if (before !== undefined) {
      const { parts } = found.snapshot;
      pod.placement = recreate(parts.first(placement), before, raw.spec?.runtimeClassName);
      const here = found.here.get(before.name) ?? [];
      found.here.set(before.name, here);
      here.push({ name: pod.name, pod: parts.traits(pod), node: before.name, owner, eviction: undefined });
      if (claims.length > 0) found.claiming.add(namespace);
      countPod();
    }
    if (controller === undefined || isCustomController(controller)) found.untemplated.add(pod, owner);
  };
  await port.placedPods({ labels: true, placement: true, owners: true, only: node => changed.has(node) }, add, () => {
    found = noPods(nodes);
  });
  return found;
}

/** Adds pods that affect spread and affinity of moving pods, which are known only now. */
async function countOthers(snapshot: Snapshot, moving: readonly RunningPod[], port: SchedulingPort): Promise<void> {
  const isCounted = countedBy(moving.map(({ pod }) => pod));
  if (isCounted === undefined) return;
  const begin = () => snapshot.countOnly(isCounted);
  begin();
  const count = (pod: LabelledPod) => {
    snapshot.count(pod, pod.node);
    countPod();
  };
  await port.placedLabels(count, begin);
}

/** @param known by kind and name: pods share their owner */
function ownerOf(
  { metadata: { name = '', labels } = {} }: RawPod,
  reference: { kind?: string; name?: string },
  known: Map<string, PodOwner>,
): PodOwner {
  const controller = { kind: reference.kind ?? '', name: reference.name ?? '' };
  const found = controllerOf({ name, controller, templateHash: labels?.[TEMPLATE_HASH] });
  const key = `${found.kind}/${found.name}`;
  const owner = known.get(key) ?? found;
  known.set(key, owner);
  return owner;
}

// Pods whose template is not read, because they have no controller or a custom one: their requirements by owner.

class UntemplatedPods {
  readonly #found = new Map<string, SelectingObject>();
  readonly #parts: PodParts;

  /** @param parts used to share placements */
  constructor(parts: PodParts) {
    this.#parts = parts;
  }

  add(pod: Pod, owner: PodOwner | undefined): void {
    const { namespace, name, placement } = pod;
    const keys = keysOfPod(owner === undefined ? placedBy(pod) : { ...placedBy(pod), ...topologyOf(pod) });
    if (keys.size === 0) return;
    const of = { kind: 'Pod', name, ...owner, namespace };
    // A pod made for one node says nothing about its owner's others; a pod without owner is not created again.
    const isAlike = owner !== undefined && !placement.nodeTerms?.some(({ matchFields }) => matchFields !== undefined);
    const shared = isAlike ? this.#parts.first(placement.recreated ?? placement) : undefined;
    const id = JSON.stringify([of.kind, namespace, of.name, [...keys], shared && this.#parts.id(shared)]);
    if (!this.#found.has(id)) this.#found.set(id, { ...of, keys, ...(shared && { placement: shared }) });
  }

  /** One object for each owner and set of requirements. */
  selecting(): SelectingObject[] {
    return [...this.#found.values()];
  }
}

function placedBy({ placement: { nodeSelector, nodeTerms } }: Pod): RawPodSpec {
  if (nodeTerms === undefined) return { nodeSelector };
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [...nodeTerms] } };
  return { nodeSelector, affinity: { nodeAffinity: required } };
}

function topologyOf(pod: Pod): RawPodSpec {
  const terms = (of: Pod['affinity']) => ({
    requiredDuringSchedulingIgnoredDuringExecution: of.map(({ topologyKey }) => ({ topologyKey })),
  });
  return {
    topologySpreadConstraints: pod.spread.map(({ topologyKey }) => ({ topologyKey })),
    affinity: {
      ...placedBy(pod).affinity,
      podAffinity: terms(pod.affinity),
      podAntiAffinity: terms(pod.antiAffinity),
    },
  };
}
