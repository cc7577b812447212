/** `drain --check-fit`: whether the pods that a drain evicts have a place on the nodes that are left, resources included. */
import type { ClusterReader } from '../../kube/cluster.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { type Budget, shortOf } from '../../nodepool/drain/budgets.ts';
import { type DrainPod, isRecreated, podName } from '../../nodepool/drain/drain-filters.ts';
import { toleratesCordon } from '../../nodepool/drain/placement.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import { BY_ORDER } from '../../scheduling/bounds.ts';
import { Competitors } from '../../scheduling/certainty.ts';
import { type FitReason, FitReasons, reasonsText } from '../../scheduling/fit-reasons.ts';
import { Judge } from '../../scheduling/judge.ts';
import { byNotJudged, UNREAD_NAMESPACES } from '../../scheduling/not-judged.ts';
import { placeBy, settle } from '../../scheduling/place.ts';
import type { PodParts } from '../../scheduling/pod/pod-parts.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import type { Pod, PodTraits } from '../../scheduling/types.ts';
import { type KeptPod, readSnapshot } from '../shared/read-snapshot.ts';
import type { PoolsDrainPlan } from './plan-drain.ts';

export interface DrainFit {
  /** Pods that are evicted and recreated. */
  moving: number;
  /** Those of them that no node takes. */
  withoutPlace: number;
  /** Those that have a place if the scheduler gives the right nodes to others. */
  uncertain: number;
  /** For those without a place, or else the uncertain ones, a line for each reason. */
  unfit: string[];
  /** Budgets that hold the drain up without end because of those: a line for each. */
  stuck: string[];
  /** Those without one that no other node can take: it does not reach their volumes. */
  bound: number;
  notJudged: string[];
}

/** Pods of one owner that differ in nothing but their names. */
interface PodKind {
  owner: string;
  pod: PodTraits;
  names: string[];
  from: Set<string>;
  takers: number;
  /** Each has a place whatever nodes the scheduler gives to the pods of others. */
  isCertain: boolean;
}

const UNCERTAIN: WhyUnfit = { words: BY_ORDER, nodes: undefined, details: [] };

/** Reads nodes and pods again; writes nothing. Throws NodepoolError. */
export async function drainFit(
  { pools, budgets }: PoolsDrainPlan,
  { cluster, scheduling }: { cluster: ClusterReader; scheduling(): Promise<SchedulingPort> },
): Promise<DrainFit> {
  const drained = new Set(pools.flatMap(({ nodes }) => nodes.map(({ node }) => node.name)));
  const evicted = new Map(
    pools.flatMap(({ nodes }) => nodes.flatMap(({ pods }) => pods.map(pod => [podName(pod), pod] as const))),
  );
  const keep = (pod: Pod) => evicted.has(podName(pod));
  const { snapshot, kept, knows } = await readSnapshot(
    cluster.nodes.list(),
    { pods: [], keep, judgesKept: true },
    await scheduling(),
  );
  const others = [...snapshot.nodes.keys()].filter(name => !drained.has(name));
  for (const { pod, node } of kept) snapshot.remove(pod, node);
  // Those that tolerate the cordon return to the node that is drained.
  const moving = kept.filter(({ pod }) => {
    const old = evicted.get(podName(pod));
    return old !== undefined && isRecreated(old) && !toleratesCordon(pod.placement);
  });
  const unfit: UnfitPods[] = [];
  const uncertain: UnfitPods[] = [];
  const withoutPlace: PodTraits[] = [];
  let bound = 0;
  const ownerOf = (pod: Pod) => ownerText(evicted.get(podName(pod)));
  for (const kind of inOrder(podKindsOf(moving, snapshot.parts, ownerOf), others, snapshot)) {
    const judge = new Judge(kind.pod, snapshot);
    const placed = placeBy(judge, others, snapshot, { limit: kind.names.length });
    const { replicas, bounds } = placed;
    settle(kind.pod, placed, snapshot);
    const names = kind.names.slice(kind.isCertain ? bounds.least : 0, replicas);
    if (names.length > 0) uncertain.push({ owner: kind.owner, names, reasons: [UNCERTAIN] });
    const unplaced = kind.names.slice(replicas);
    if (unplaced.length === 0) continue;
    unfit.push({ owner: kind.owner, names: unplaced, reasons: whyNoMore(kind.pod, others, snapshot) });
    if (isBoundTo(kind, judge)) bound += unplaced.length;
    withoutPlace.push(...unplaced.map(() => kind.pod));
  }
  const notJudged = [
    ...knows.refusals,
    ...(knows.namespaces ? [] : [UNREAD_NAMESPACES]),
    ...[...byNotJudged(moving)].map(([text, pods]) => `${text}, for ${namesOf(pods)}`),
  ];
  const stuck = budgets.flatMap(budget => stuckText(budget, withoutPlace) ?? []);
  return {
    moving: moving.length,
    withoutPlace: withoutPlace.length,
    uncertain: uncertain.reduce((sum, { names }) => sum + names.length, 0),
    // Where some have none in any case, that is the reason to refuse.
    unfit: unfitLines(unfit.length > 0 ? unfit : uncertain),
    ...{ stuck, bound, notJudged },
  };
}

const MAX_NAMED = 5;

function namesOf(pods: readonly KeptPod[]): string {
  return firstFew(
    pods.map(({ pod }) => podName(pod)),
    MAX_NAMED,
  );
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

function podKindsOf(moving: readonly KeptPod[], parts: PodParts, ownerOf: (pod: Pod) => string): PodKind[] {
  return [...Map.groupBy(moving, ({ pod }) => ownerOf(pod))].flatMap(([owner, group]) => {
    const alike = Map.groupBy(group, ({ pod }) => parts.traits({ ...pod, isTerminating: false }));
    return [...alike].map(([traits, pods]): PodKind => {
      const names = pods.map(({ pod }) => podName(pod));
      const from = new Set(pods.map(({ node }) => node));
      return { owner, pod: traits, names, from, takers: 0, isCertain: false };
    });
  });
}

/** Those that few nodes take first, then the largest: so most find a place. */
function inOrder(kinds: PodKind[], others: readonly string[], snapshot: Snapshot): PodKind[] {
  const competitors = new Competitors(kinds.flatMap(({ pod, names }) => names.map(() => pod)));
  for (const kind of kinds) {
    const judge = new Judge(kind.pod, snapshot);
    const takers = others.flatMap(node =>
      judge.firstWhyNot(node).length === 0 ? (snapshot.nodes.get(node) ?? []) : [],
    );
    kind.takers = takers.length;
    kind.isCertain = kinds.length === 1 || competitors.leaveRoomFor(kind.pod, takers);
  }
  const size = ({ pod }: PodKind) =>
    Number(pod.requests.get('cpu') ?? 0n) * 2 ** 20 + Number(pod.requests.get('memory') ?? 0n);
  return kinds.toSorted((a, b) => a.takers - b.takers || size(b) - size(a));
}

/** Whether their volumes are on the node that they are on, and on no other. */
function isBoundTo({ from }: PodKind, { volumes }: Judge): boolean {
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
}

/** `nodes`: how many give the reason; undefined: it is none of nodes. */
type WhyUnfit = Omit<FitReason, 'nodes'> & { nodes: number | undefined };

export function unfitLines(unfit: readonly UnfitPods[]): string[] {
  const alike = Map.groupBy(unfit, ({ owner, reasons }) => `${owner} ${reasonsText(reasons, true)}`);
  const ofOwners = [...alike.values()].map(together);
  return [...Map.groupBy(ofOwners, whyText)].map(([why, groups]) => {
    const pods = groups.flatMap(({ names }) => names);
    const isCertain = groups.every(({ reasons }) => reasons.every(({ words }) => words !== BY_ORDER));
    return `${plural(pods.length, 'pod')} ${isCertain ? 'would' : 'may'} not fit: ${why}: ${namesText(groups)}`;
  });
}

/** Of one owner, with the same reasons but for their details, as the names of their volumes. */
function together(groups: readonly UnfitPods[]): UnfitPods {
  const [{ owner, reasons } = { owner: '', reasons: [] as readonly WhyUnfit[] }] = groups;
  const names = groups.flatMap(each => each.names);
  const details = (at: number) => [...new Set(groups.flatMap(each => each.reasons[at]?.details ?? []))];
  return { owner, names, reasons: reasons.map((reason, at) => ({ ...reason, details: details(at) })) };
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
