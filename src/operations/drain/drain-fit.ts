/** `drain --check-fit`: whether the pods that a drain evicts have a place on the nodes that are left, resources included. */
import { type Budget, shortOf } from '../../nodepool/budgets.ts';
import { isRecreated, podName } from '../../nodepool/drain-filters.ts';
import { toleratesCordon } from '../../nodepool/placement.ts';
import { firstFew, plural } from '../../nodepool/plural.ts';
import { FitReasons, reasonsText } from '../../scheduling/fit-reasons.ts';
import { Judge } from '../../scheduling/judge.ts';
import { placeBy } from '../../scheduling/place.ts';
import type { PodParts } from '../../scheduling/pod-parts.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import type { Pod } from '../../scheduling/types.ts';
import type { ClusterReader } from '../ports.ts';
import { type KeptPod, readSnapshot } from '../read-snapshot.ts';
import type { SchedulingPort } from '../scheduling-port.ts';
import type { DrainPlan } from './plan-drain.ts';

/** Pods named in a line. */
const SHOWN_PODS = 3;

export interface DrainFit {
  /** Pods that have a place, of those that are evicted and recreated. */
  fitting: number;
  asked: number;
  /** For those without one, with the reasons: a line for the pods of each kind. */
  unfit: string[];
  /** Budgets that hold the drain up without end because of those: a line for each. */
  stuck: string[];
  /** Those without one that no other node can take: it does not reach their volumes. */
  bound: number;
  notJudged: string[];
}

interface FitDeps {
  cluster: ClusterReader;
  scheduling(): Promise<SchedulingPort>;
}

/** Pods that differ in nothing but their names. */
interface Kind {
  pod: Pod;
  names: string[];
  /** Nodes that they are on. */
  from: Set<string>;
  takers: number;
}

/** Reads nodes and pods again; writes nothing. Throws NodepoolError. */
export async function drainFit({ pools, budgets }: DrainPlan, { cluster, scheduling }: FitDeps): Promise<DrainFit> {
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
  const unfit: string[] = [];
  const withoutPlace: Pod[] = [];
  let fitting = 0;
  let bound = 0;
  for (const kind of inOrder(kindsOf(moving, snapshot.parts), others, snapshot)) {
    const judge = new Judge(kind.pod, snapshot);
    const { replicas, byNode } = placeBy(judge, others, snapshot, { limit: kind.names.length });
    for (const [node, count] of byNode) for (let i = 0; i < count; i++) snapshot.add(kind.pod, node);
    fitting += replicas;
    const left = kind.names.slice(replicas);
    if (left.length > 0) unfit.push(unfitText(left, whyNoMore(kind.pod, others, snapshot)));
    if (isBoundTo(kind, judge)) bound += left.length;
    withoutPlace.push(...left.map(() => kind.pod));
  }
  const notJudged = [...knows.refusals, ...(knows.namespaces ? [] : ['namespaceSelector: the labels of namespaces'])];
  const stuck = budgets.flatMap(budget => stuckText(budget, withoutPlace) ?? []);
  return { fitting, asked: moving.length, unfit, stuck, bound, notJudged };
}

function stuckText(budget: Budget, withoutPlace: readonly Pod[]): string | undefined {
  const short = shortOf(budget, withoutPlace);
  if (short === undefined) return undefined;
  const { pending, needs } = short;
  const are = pending === 1 ? 'pod of it has no place' : 'pods of it have no place';
  return `PodDisruptionBudget ${budget.namespace}/${budget.name} needs ${plural(needs, 'healthy pod')}, and ${pending} ${are}: the drain would wait until its timeout`;
}

function kindsOf(moving: readonly KeptPod[], parts: PodParts): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { pod: old, node } of moving) {
    const pod = { ...old, nodeName: undefined, isTerminating: false };
    const key = parts.kindOf(pod);
    const kind = kinds.get(key) ?? { pod, names: [], from: new Set(), takers: 0 };
    kind.names.push(podName(pod));
    kind.from.add(node);
    kinds.set(key, kind);
  }
  return [...kinds.values()];
}

/** Those that few nodes take first, then the largest: so most find a place. */
function inOrder(kinds: Kind[], others: readonly string[], snapshot: Snapshot): Kind[] {
  for (const kind of kinds) {
    const judge = new Judge(kind.pod, snapshot);
    kind.takers = others.filter(node => judge.firstWhyNot(node).length === 0).length;
  }
  const size = ({ pod }: Kind) =>
    Number(pod.requests.get('cpu') ?? 0n) * 2 ** 20 + Number(pod.requests.get('memory') ?? 0n);
  return kinds.toSorted((a, b) => a.takers - b.takers || size(b) - size(a));
}

/** Whether their volumes are on the node that they are on, and on no other. */
function isBoundTo({ from }: Kind, { volumes }: Judge): boolean {
  return from.size === 1 && volumes.nodes?.every(node => from.has(node)) === true;
}

function whyNoMore(pod: Pod, others: readonly string[], snapshot: Snapshot): string {
  const judge = new Judge(pod, snapshot);
  const reasons = new FitReasons();
  for (const node of others) reasons.add(judge.firstWhyNot(node));
  return others.length === 0 ? 'there is no other node' : reasonsText(reasons.list());
}

function unfitText(names: readonly string[], why: string): string {
  return `${plural(names.length, 'pod')} would not fit: ${why}: ${firstFew([...names], SHOWN_PODS)}`;
}
