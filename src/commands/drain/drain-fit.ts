/** `drain --check-fit`: whether the pods that a drain evicts have a place on the nodes that are left, resources included. */
import type { ClusterReader } from '../../kube/cluster.ts';
import type { ImpactPort } from '../../kube/resources/impact.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { type Budget, budgetMatcher, shortOf } from '../../nodepool/drain/budgets.ts';
import { type DrainPod, isRecreated, podName } from '../../nodepool/drain/drain-filters.ts';
import { CORDONED, toleratesCordon } from '../../nodepool/drain/placement.ts';
import { quantityReader } from '../../nodepool/quantity/amounts.ts';
import { isSameTaint } from '../../nodepool/spec/taints.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import { BY_ORDER } from '../../scheduling/bounds.ts';
import { Competitors, MovingNeighbours } from '../../scheduling/certainty.ts';
import { type FitReason, FitReasons, reasonsText } from '../../scheduling/fit-reasons.ts';
import { OpenNodes } from '../../scheduling/impact/open-nodes.ts';
import { Judge } from '../../scheduling/judge.ts';
import { roomFor } from '../../scheduling/node/resources.ts';
import { byNotJudged, notJudgedFinder, UNREAD_NAMESPACES } from '../../scheduling/not-judged.ts';
import { type PlacedReplicas, placeBy, settle } from '../../scheduling/place.ts';
import type { RawPod } from '../../scheduling/pod/raw-pod.ts';
import { readPlacedPod } from '../../scheduling/pod/read-pod.ts';
import { siblingKinds } from '../../scheduling/pod/sibling-kinds.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import type { Pod, PodTraits } from '../../scheduling/types.ts';
import { PodVolumes } from '../../scheduling/volumes/volumes.ts';
import { type KeptPod, readSnapshot } from '../shared/read-snapshot.ts';
import { permitted } from '../shared/refusals.ts';
import type { PoolsDrainPlan } from './plan-drain.ts';

export interface DrainFit {
  /** Pods that are evicted and recreated. */
  moving: number;
  /** Those of them that no node takes, wherever the others are. */
  withoutPlace: number;
  /** Those that have a place if the scheduler gives the right nodes to others. */
  uncertain: number;
  /** For those without a place, and those for which none is left once others have theirs, or else the uncertain ones: a line for each reason. */
  unfit: string[];
  /** Budgets that hold the drain up without end because of those without a place: a line for each. */
  stuck: string[];
  /** Those without one that no other node can take: it does not reach their volumes. */
  bound: number;
  /** Those that are not recreated, as their Job fails for good. */
  failed: number;
  notJudged: string[];
}

/** Pods of one owner that differ in nothing but their names, and labels for which nobody asks. */
interface PodKind {
  owner: string;
  pod: PodTraits;
  pods: readonly KeptPod[];
  from: Set<string>;
  /** In whatever order the scheduler takes all of them, as many have a place as if there were no others. */
  isCertain: boolean;
}

const UNCERTAIN: WhyUnfit = { words: BY_ORDER, nodes: undefined, details: [] };

export interface DrainFitPorts {
  cluster: ClusterReader;
  scheduling(): Promise<SchedulingPort>;
  impact(): Promise<Pick<ImpactPort, 'jobs'>>;
}

/** Reads nodes and pods again; writes nothing. Throws NodepoolError. */
export async function drainFit({ pools, budgets }: PoolsDrainPlan, ports: DrainFitPorts): Promise<DrainFit> {
  const drained = new Set(pools.flatMap(({ nodes }) => nodes.map(({ node }) => node.name)));
  const evicted = new Map(
    pools.flatMap(({ nodes }) => nodes.flatMap(({ pods }) => pods.map(pod => [podName(pod), pod] as const))),
  );
  const keep = (pod: Pod) => evicted.has(podName(pod));
  const port = await ports.scheduling();
  const [{ snapshot, kept, knows }, waiting, jobs] = await Promise.all([
    readSnapshot(ports.cluster.nodes.list(), { pods: [], keep, judgesKept: true }, port),
    port.pendingPods(),
    failingJobs([...evicted.values()], ports),
  ]);
  const others = [...snapshot.nodes.keys()].filter(name => !drained.has(name));
  for (const { pod, node } of kept) snapshot.remove(pod, node);
  close(drained, snapshot);
  const ofNode = (name: string) => evicted.get(name);
  const recreated = kept.filter(({ pod }) => {
    const old = ofNode(podName(pod));
    return old !== undefined && isRecreated(old) && !jobs.failing.has(podName(old));
  });
  // Those that tolerate the cordon may return to the node that is drained.
  const moving = recreated.filter(({ pod }) => !toleratesCordon(pod.placement));
  const nominated = nominatedOf(waiting);
  const found = placeAll(moving, {
    snapshot,
    others,
    competing: [...recreated.filter(({ pod }) => toleratesCordon(pod.placement)), ...nominated],
    nominated,
    evicted: kept,
    budgets,
    ownerOf: pod => ownerText(ofNode(podName(pod))),
  });
  const notJudged = [
    ...knows.refusals,
    ...jobs.notJudged,
    ...(knows.namespaces ? [] : [UNREAD_NAMESPACES]),
    ...[...(await notJudgedOf(moving, snapshot, port))].map(([text, pods]) => `${text}, for ${namesOf(pods)}`),
  ];
  const stuck = budgets.flatMap(budget => stuckText(budget, found.withoutPlace) ?? []);
  return {
    moving: moving.length,
    withoutPlace: found.withoutPlace.length,
    uncertain: found.uncertain,
    ...{ unfit: unfitLines(found.unfit), stuck, bound: found.bound, failed: jobs.failing.size, notJudged },
  };
}

interface PlacedAll {
  withoutPlace: PodTraits[];
  uncertain: number;
  unfit: UnfitPods[];
  bound: number;
}

interface PlaceContext {
  /** With closed nodes, without any of the pods. What is placed is taken out again. */
  snapshot: Snapshot;
  /** Names of the nodes that are not drained. */
  others: readonly string[];
  /** Pods that may take room beside those that move. */
  competing: readonly KeptPod[];
  nominated: readonly KeptPod[];
  /** All pods that leave. */
  evicted: readonly KeptPod[];
  budgets: readonly Budget[];
  ownerOf: (pod: Pod) => string;
}

function placeAll(moving: readonly KeptPod[], context: PlaceContext): PlacedAll {
  const { snapshot, others } = context;
  const open = new OpenNodes(snapshot);
  const kinds = inOrder(podKindsOf(moving, context, open), open, snapshot);
  const undo = new UndoableSnapshot(snapshot);
  for (const { pod, node } of context.nominated) undo.add(pod, node);
  const rest = new Map<PodKind, number>();
  const unsure: UnfitPods[] = [];
  const put = (kind: PodKind, limit: number) => {
    const judge = new Judge(kind.pod, snapshot);
    const placed = placeBy(judge, open.to(kind.pod.placement).nodes, snapshot, { limit });
    undo.settle(kind.pod, placed);
    return placed;
  };
  for (const kind of kinds) {
    const { replicas, bounds } = put(kind, kind.pods.length);
    const some = kind.pods.slice(kind.isCertain ? bounds.least : 0, replicas);
    if (some.length > 0)
      unsure.push({ owner: kind.owner, names: namesOfAll(some), reasons: [UNCERTAIN], mayFit: true });
    if (replicas < kind.pods.length) rest.set(kind, kind.pods.length - replicas);
  }
  retry(rest, (kind, count) => {
    const { replicas } = put(kind, count);
    const names = namesOfAll(kind.pods.slice(kind.pods.length - count).slice(0, replicas));
    if (replicas > 0) unsure.push({ owner: kind.owner, names, reasons: [UNCERTAIN], mayFit: true });
    return replicas;
  });
  const reasons = new Map([...rest.keys()].map(kind => [kind, whyNoMore(kind.pod, others, snapshot)]));
  undo.undo();
  const neighbours = new MovingNeighbours([...kinds.map(({ pod }) => pod), ...context.competing.map(({ pod }) => pod)]);
  const found: PlacedAll = { withoutPlace: [], uncertain: 0, unfit: [], bound: 0 };
  const mayFit: UnfitPods[] = [];
  for (const [kind, count] of rest) {
    const { owner, pod, pods } = kind;
    const isBound = isBoundTo(kind, new PodVolumes(pod, snapshot));
    const most = mostAlone(kind, open.to(pod.placement).nodes, { snapshot, neighbours });
    const unplaced = pods.slice(pods.length - count);
    const never = unplaced.slice(0, Math.max(0, pods.length - most));
    const of = { owner, reasons: reasons.get(kind) ?? [] };
    if (never.length > 0) found.unfit.push({ ...of, names: namesOfAll(never) });
    const maybe = unplaced.slice(never.length);
    if (maybe.length > 0) mayFit.push({ ...of, names: namesOfAll(maybe), mayFit: true });
    if (isBound) found.bound += never.length;
    found.withoutPlace.push(...never.map(each => each.pod));
  }
  found.uncertain = [...unsure, ...mayFit].reduce((sum, { names }) => sum + names.length, 0);
  // Where some have none in any case, that is the reason to refuse.
  found.unfit.push(...mayFit, ...(found.unfit.length > 0 ? [] : unsure));
  return found;
}

/** Pods that must be near others may have a place once these have one. @param put returns how many it places */
function retry(rest: Map<PodKind, number>, put: (kind: PodKind, count: number) => number): void {
  for (let isPlaced = true; isPlaced; ) {
    isPlaced = false;
    for (const [kind, count] of rest) {
      if (kind.pod.affinity.length + kind.pod.spread.length === 0) continue;
      const replicas = put(kind, count);
      if (replicas === 0) continue;
      isPlaced = true;
      if (replicas === count) rest.delete(kind);
      else rest.set(kind, count - replicas);
    }
  }
}

/** How many of the kind have a place at most, wherever the others are. */
function mostAlone(
  { pod, pods }: PodKind,
  nodes: readonly string[],
  { snapshot, neighbours }: { snapshot: Snapshot; neighbours: MovingNeighbours },
): number {
  const judge = new Judge(pod, snapshot);
  const limit = pods.length;
  if (!neighbours.mayHelp(pod)) return placeBy(judge, nodes, snapshot, { limit }).bounds.most;
  let room = 0;
  for (const name of nodes) {
    const state = snapshot.nodes.get(name);
    if (state !== undefined && judge.isAllowed(name)) room += roomFor(pod.requests, state);
    if (room >= limit) return limit;
  }
  return room;
}

/** As the scheduler sees nodes that are cordoned: topology spread may not count them. */
function close(names: Iterable<string>, snapshot: Snapshot): void {
  for (const name of names) {
    const state = snapshot.nodes.get(name);
    if (state === undefined) continue;
    const taints = state.node.taints.filter(taint => !isSameTaint(taint, CORDONED));
    state.node = { ...state.node, unschedulable: true, taints: [...taints, CORDONED] };
  }
}

/** Takes back what was placed. */
class UndoableSnapshot {
  readonly #snapshot: Snapshot;
  readonly #added: { pod: PodTraits; node: string }[] = [];
  readonly #taken: ReadonlySet<string>;

  constructor(snapshot: Snapshot) {
    this.#snapshot = snapshot;
    this.#taken = new Set(snapshot.takenVolumes);
  }

  add(pod: PodTraits, node: string): void {
    this.#snapshot.add(pod, node);
    this.#added.push({ pod, node });
  }

  settle(pod: PodTraits, placed: PlacedReplicas): void {
    settle(pod, placed, this.#snapshot);
    for (const [node, count] of placed.byNode) for (let at = 0; at < count; at++) this.#added.push({ pod, node });
  }

  undo(): void {
    for (const { pod, node } of this.#added) this.#snapshot.remove(pod, node);
    for (const volume of this.#snapshot.takenVolumes)
      if (!this.#taken.has(volume)) this.#snapshot.takenVolumes.delete(volume);
  }
}

/** Pods that preemption has made room for, on their nodes, whatever their priority. */
function nominatedOf(waiting: readonly RawPod[]): KeptPod[] {
  const read = quantityReader();
  return waiting.flatMap((raw): KeptPod[] => {
    const { nominatedNodeName: node = '' } = raw.status ?? {};
    return node === '' ? [] : [{ pod: readPlacedPod(raw, read, () => {}), node }];
  });
}

// Jobs: an evicted pod counts as failed.

/** `failing`: names of pods whose Job allows no more failed pods, `namespace/name`. Jobs are read where a pod has one. */
async function failingJobs(
  evicted: readonly DrainPod[],
  ports: Pick<DrainFitPorts, 'impact'>,
): Promise<{ failing: Set<string>; notJudged: string[] }> {
  const ofJobs = evicted.filter(pod => pod.controller?.kind === 'Job' && isRecreated(pod));
  if (ofJobs.length === 0) return { failing: new Set(), notJudged: [] };
  const read = await permitted((await ports.impact()).jobs());
  if ('forbidden' in read) return { failing: new Set(), notJudged: [`Jobs: ${read.forbidden.oneLine}`] };
  const byJob = Map.groupBy(ofJobs, ({ namespace, controller }) => `${namespace}/${controller?.name}`);
  const failing = [...byJob].filter(([job, pods]) => pods.length > (read.value.get(job)?.failuresLeft ?? Infinity));
  const jobs = [...byJob.keys()].flatMap(job =>
    (read.value.get(job)?.notJudged ?? []).map(text => `${text}, for Job ${job}`),
  );
  return { failing: new Set(failing.flatMap(([, pods]) => pods.map(podName))), notJudged: jobs };
}

/** By what is not judged. DeviceClasses are read where a pod may need one. */
async function notJudgedOf(
  pods: readonly KeptPod[],
  snapshot: Snapshot,
  port: SchedulingPort,
): Promise<Map<string, KeptPod[]>> {
  const isAsked = pods.some(({ pod }) => [...pod.requests.keys()].some(name => name.includes('/')));
  const classes = isAsked ? await permitted(port.deviceResources()) : undefined;
  const textsOf = notJudgedFinder(snapshot, classes !== undefined && 'value' in classes ? classes.value : []);
  return byNotJudged(pods, ({ pod }) => textsOf(pod));
}

const MAX_NAMED = 5;

function namesOf(pods: readonly KeptPod[]): string {
  return firstFew(namesOfAll(pods), MAX_NAMED);
}

function namesOfAll(pods: readonly KeptPod[]): string[] {
  return pods.map(({ pod }) => podName(pod));
}

function stuckText(budget: Budget, withoutPlace: readonly PodTraits[]): string | undefined {
  const short = shortOf(budget, withoutPlace);
  if (short === undefined) return undefined;
  const { pending, needs } = short;
  const are = pending === 1 ? 'pod of it finds no place' : 'pods of it find no place';
  return `PodDisruptionBudget ${budget.namespace}/${budget.name} needs ${plural(needs, 'healthy pod')}, but ${pending} ${are}: the drain would wait until its timeout`;
}

function ownerText(pod: DrainPod | undefined): string {
  const { namespace = '', controller: { kind, name } = { kind: '', name: '' } } = pod ?? {};
  return `${kind} ${namespace}/${name}`;
}

function podKindsOf(
  moving: readonly KeptPod[],
  { snapshot, competing, evicted, budgets, ownerOf }: PlaceContext,
  open: OpenNodes,
): PodKind[] {
  const traits = ({ pod }: KeptPod) => snapshot.parts.traits({ ...pod, isTerminating: false });
  const all = [...moving, ...competing].map(each => [each, traits(each)] as const);
  const kindOf = siblingKinds(
    all.map(([, pod]) => pod),
    snapshot,
  );
  const kinds = new Map(all.map(([each, pod]) => [each, kindOf(pod)]));
  const counts = new Map([...Map.groupBy(kinds.values(), kind => kind)].map(([kind, { length }]) => [kind, length]));
  const competitors = new Competitors(counts, snapshot, open);
  const leaving = new MovingNeighbours(evicted.map(({ pod }) => pod));
  const budgetsOf = budgetMatcher(budgets);
  return [...Map.groupBy(moving, ({ pod }) => ownerOf(pod))].flatMap(([owner, group]) => {
    const alike = Map.groupBy(group, each => kinds.get(each) ?? each.pod);
    return [...alike].map(([pod, pods]): PodKind => {
      const from = new Set(pods.map(({ node }) => node));
      // With a budget, the drain may wait for one that can only be near a pod which is not evicted yet.
      const mayWait = leaving.areNear(pod) && pods.some(each => budgetsOf(each.pod).length > 0);
      return { owner, pod, pods, from, isCertain: !mayWait && competitors.leaveRoomFor(pod, pods.length) };
    });
  });
}

/** Those that few nodes take first, then the largest: so most find a place. */
function inOrder(kinds: readonly PodKind[], open: OpenNodes, snapshot: Snapshot): PodKind[] {
  const takers = new Map(
    kinds.map(kind => {
      const { length } = open.to(kind.pod.placement).nodes;
      const reached = kind.pod.claims.length === 0 ? undefined : new PodVolumes(kind.pod, snapshot).nodes?.length;
      return [kind, Math.min(length, reached ?? Infinity)];
    }),
  );
  const takersOf = (kind: PodKind) => takers.get(kind) ?? 0;
  const size = ({ pod }: PodKind) =>
    Number(pod.requests.get('cpu') ?? 0n) * 2 ** 20 + Number(pod.requests.get('memory') ?? 0n);
  return kinds.toSorted((a, b) => takersOf(a) - takersOf(b) || size(b) - size(a));
}

/** Whether their volumes are on the node that they are on, and on no other. */
function isBoundTo({ from }: PodKind, volumes: PodVolumes): boolean {
  return from.size === 1 && volumes.nodes?.every(node => from.has(node)) === true;
}

function whyNoMore(pod: PodTraits, others: readonly string[], snapshot: Snapshot): FitReason[] {
  const judge = new Judge(pod, snapshot);
  const reasons = new FitReasons();
  for (const node of others) reasons.add(judge.firstWhyNot(node));
  return reasons.list();
}

// Pods that find no place, a line for each reason: the pods of a StatefulSet differ in a label or a volume, and have the same.

const SHOWN = 3;
/** Where there are more pods, their owners. */
const SHOWN_OWNERS = 5;

export interface UnfitPods {
  /** `StatefulSet data/db`. */
  owner: string;
  names: string[];
  /** Empty: there is no other node. */
  reasons: readonly WhyUnfit[];
  /** They have a place if the scheduler takes the right nodes first. */
  mayFit?: boolean;
}

/** `nodes`: how many give the reason; undefined: it is none of nodes. */
type WhyUnfit = Omit<FitReason, 'nodes'> & { nodes: number | undefined };

export function unfitLines(unfit: readonly UnfitPods[]): string[] {
  const alike = Map.groupBy(unfit, each => `${each.owner} ${mayText(each)} ${reasonsText(each.reasons, true)}`);
  const ofOwners = [...alike.values()].map(together);
  return [...Map.groupBy(ofOwners, each => `${mayText(each)} not fit: ${whyText(each)}`)].map(([what, groups]) => {
    const pods = groups.flatMap(({ names }) => names);
    return `${plural(pods.length, 'pod')} ${what}: ${namesText(groups)}`;
  });
}

/** Of one owner, with the same reasons but for their details, as the names of their volumes. */
function together(groups: readonly UnfitPods[]): UnfitPods {
  const [{ owner, reasons, mayFit = false } = { owner: '', reasons: [] as readonly WhyUnfit[] }] = groups;
  const names = groups.flatMap(each => each.names);
  const details = (at: number) => [...new Set(groups.flatMap(each => each.reasons[at]?.details ?? []))];
  return { owner, names, reasons: reasons.map((reason, at) => ({ ...reason, details: details(at) })), mayFit };
}

function mayText({ mayFit = false }: UnfitPods): string {
  return mayFit ? 'may' : 'would';
}

function whyText({ reasons }: UnfitPods): string {
  return reasons.length === 0 ? 'there is no other node' : reasonsText(reasons);
}

function namesText(groups: readonly UnfitPods[]): string {
  const pods = groups.flatMap(({ names }) => names);
  if (groups.length === 1 || pods.length <= SHOWN) return firstFew(pods, SHOWN);
  const bySize = groups.toSorted((a, b) => b.names.length - a.names.length);
  const owners = bySize.map(({ owner, names }) =>
    names.length === 1 ? (names[0] ?? '') : `${names.length} of ${owner}`,
  );
  const others = bySize.slice(SHOWN_OWNERS).flatMap(({ names }) => names);
  const more = others.length === 0 ? '' : ` and ${others.length} of others`;
  return owners.slice(0, SHOWN_OWNERS).join(', ') + more;
}
