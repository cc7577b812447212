/** `drain --check-fit`: whether the pods that a drain evicts fit on the remaining nodes, resources included. */
import type { ClusterReader } from '../../kube/cluster.ts';
import type { ImpactPort } from '../../kube/resources/impact.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { type Budget, neverEvicted, shortOf } from '../../nodepool/drain/budgets.ts';
import { type DrainPod, isRecreated, podName } from '../../nodepool/drain/drain-filters.ts';
import { CORDONED, toleratesCordon } from '../../nodepool/drain/placement.ts';
import { quantityReader } from '../../nodepool/quantity/amounts.ts';
import { isSameTaint } from '../../nodepool/spec/taints.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import { OpenNodes } from '../../scheduling/impact/open-nodes.ts';
import { roomFor } from '../../scheduling/node/resources.ts';
import { byNotJudged, notJudgedFinder, UNREAD_NAMESPACES } from '../../scheduling/not-judged.ts';
import type { RawPod } from '../../scheduling/pod/raw-pod.ts';
import { nominatedNode, readPlacedPod } from '../../scheduling/pod/read-pod.ts';
import type { Snapshot } from '../../scheduling/snapshot.ts';
import type { Pod, PodTraits } from '../../scheduling/types.ts';
import { type KeptPod, readSnapshot } from '../shared/read-snapshot.ts';
import { permitted } from '../shared/refusals.ts';
import { namesOfAll, placeAll } from './place-moving.ts';
import type { PoolsDrainPlan } from './plan-drain.ts';
import { behindPending, newRevisions, recreatedBy, recreationRisks } from './recreated-pods.ts';
import { unfitLines } from './unfit-lines.ts';

export interface DrainFit {
  /** Pods that are evicted and recreated. */
  moving: number;
  /** Pods of these that fit on no node, wherever the others are. */
  withoutPlace: number;
  /** Pods that fit only if the scheduler puts the other pods on the right nodes. */
  uncertain: number;
  /** A line per reason: for pods that fit nowhere, or no longer once others are placed; else for uncertain ones. */
  unfit: string[];
  /** A line for each budget that blocks the drain forever because of pods that fit nowhere. */
  stuck: string[];
  /** Pods that fit nowhere and that no other node can take, because it cannot reach their volumes. */
  bound: number;
  /** Pods that are not recreated, because their Job fails for good. */
  failed: number;
  /** Pods that are not recreated, because others of their Job have done its work. */
  done: number;
  notJudged: string[];
}

export interface DrainFitPorts {
  cluster: ClusterReader;
  scheduling(): Promise<SchedulingPort>;
  impact(): Promise<Pick<ImpactPort, 'jobs' | 'newRevisions' | 'parallelSets'>>;
}

/** Reads nodes and pods again; writes nothing. Throws NodepoolError. */
export async function drainFit({ pools, budgets }: PoolsDrainPlan, ports: DrainFitPorts): Promise<DrainFit> {
  const drained = new Set(pools.flatMap(({ nodes }) => nodes.map(({ node }) => node.name)));
  const evicted = new Map(
    pools.flatMap(({ nodes }) => nodes.flatMap(({ pods }) => pods.map(pod => [podName(pod), pod] as const))),
  );
  const keep = (pod: Pod) => evicted.has(podName(pod));
  const port = await ports.scheduling();
  const [{ snapshot, kept, knows }, waiting, jobs, sets] = await Promise.all([
    readSnapshot(ports.cluster.nodes.list(), { pods: [], keep, judgesKept: true }, port),
    port.pendingPods(),
    podsOfJobs(goingOf([...evicted.values()], budgets), ports),
    newRevisions([...evicted.values()], ports.impact),
  ]);
  const others = [...snapshot.nodes.keys()].filter(name => !drained.has(name));
  for (const { pod, node } of kept) snapshot.remove(pod, node);
  close(drained, snapshot);
  const ofNode = (name: string) => evicted.get(name);
  const recreated = kept.flatMap(each => {
    const old = ofNode(podName(each.pod));
    const isCreated = old !== undefined && isRecreated(old) && !jobs.failing.has(old) && !jobs.done.has(old);
    return isCreated ? recreatedBy(old, each, sets.revisions) : [];
  });
  const isReady = ({ pod }: KeptPod) => ofNode(podName(pod))?.isReady === true;
  // Pods that tolerate the cordon may return to the drained node.
  const moving = recreated
    .filter(({ pod }) => !toleratesCordon(pod.placement))
    // Of equal pods, the last ones find no place: rather those that a budget does not count.
    .toSorted((a, b) => Number(isReady(b)) - Number(isReady(a)));
  const unsure = await recreationRisks(moving, namesOf, port);
  const behind = await behindPending(moving, waiting, ofNode, ports);
  const [nominated, pending] = [nominatedOf(waiting), pendingWithRoom(waiting, snapshot)];
  const found = placeAll(moving, {
    snapshot,
    others,
    competing: [...recreated.filter(({ pod }) => toleratesCordon(pod.placement)), ...nominated, ...pending],
    nominated,
    evicted: kept,
    budgets,
    ownerOf: pod => ownerText(ofNode(podName(pod))),
  });
  const notJudged = [
    ...knows.refusals,
    ...jobs.notJudged,
    ...sets.notJudged,
    ...unsure.notJudged,
    ...behind.notJudged,
    ...(knows.namespaces ? [] : [UNREAD_NAMESPACES]),
    ...[...(await notJudgedOf(moving, snapshot, port))].map(([text, pods]) => `${text}, for ${namesOf(pods)}`),
  ];
  const isFirst = found.uncertain > 0 && pending.length > 0;
  const first = isFirst ? [`Pending pods may take room first: ${namesOf(pending)}`] : [];
  const pendingPods = found.withoutPlace.map(each => ({ ...each.pod, isReady: isReady(each) }));
  const stuck = budgets.flatMap(budget => stuckText(budget, pendingPods) ?? []);
  return {
    moving: moving.length,
    withoutPlace: found.withoutPlace.length,
    uncertain: Math.min(moving.length - found.withoutPlace.length, found.uncertain + unsure.pods + behind.pods),
    ...{
      unfit: [...unfitLines(found.unfit), ...first, ...unsure.lines, ...behind.lines],
      stuck,
      bound: found.bound,
      failed: jobs.failing.size,
      done: jobs.done.size,
      notJudged,
    },
  };
}

/** Pods that stay because of a budget fail no Job. */
function goingOf(evicted: readonly DrainPod[], budgets: readonly Budget[]): DrainPod[] {
  const never = neverEvicted(evicted, budgets);
  return evicted.filter(({ uid }) => !never.has(uid));
}

/** Marks nodes as cordoned, as the scheduler will see them: topology spread may not count them. */
function close(names: Iterable<string>, snapshot: Snapshot): void {
  for (const name of names) {
    const state = snapshot.nodes.get(name);
    if (state === undefined) continue;
    const taints = state.node.taints.filter(taint => !isSameTaint(taint, CORDONED));
    state.node = { ...state.node, unschedulable: true, taints: [...taints, CORDONED] };
  }
}

/** Pods for which preemption has made room, on their nominated nodes, whatever their priority. */
function nominatedOf(waiting: readonly RawPod[]): KeptPod[] {
  const read = quantityReader();
  return waiting.flatMap((raw): KeptPod[] => {
    const node = nominatedNode(raw);
    return node === undefined ? [] : [{ pod: readPlacedPod(raw, read, () => {}), node }];
  });
}

/** Pods that may get a node before evicted pods do. @param snapshot with the drained nodes cordoned */
function pendingWithRoom(waiting: readonly RawPod[], snapshot: Snapshot): KeptPod[] {
  const read = quantityReader();
  const open = new OpenNodes(snapshot);
  const found = new Map<PodTraits, boolean>();
  const hasRoom = ({ gates, placement, requests }: PodTraits) => {
    const states = gates.length > 0 ? [] : open.to(placement).nodes.map(name => snapshot.nodes.get(name));
    return states.some(state => state !== undefined && roomFor(requests, state) > 0);
  };
  return waiting.flatMap((raw): KeptPod[] => {
    if (nominatedNode(raw) !== undefined) return [];
    const pod = readPlacedPod(raw, read, () => {});
    const traits = snapshot.parts.traits(pod);
    const takes = found.get(traits) ?? hasRoom(traits);
    found.set(traits, takes);
    return takes ? [{ pod, node: '' }] : [];
  });
}

// Jobs: an evicted pod counts as failed.

interface JobPods {
  /** Pods whose Job allows no more failed pods. */
  failing: ReadonlySet<DrainPod>;
  /** Pods whose Job creates no more. */
  done: ReadonlySet<DrainPod>;
  notJudged: string[];
}

/** Pods that their Job does not recreate. Reads Jobs only if a pod has one. */
async function podsOfJobs(evicted: readonly DrainPod[], ports: Pick<DrainFitPorts, 'impact'>): Promise<JobPods> {
  const ofJobs = evicted.filter(pod => pod.controller?.kind === 'Job' && isRecreated(pod));
  const none = { failing: new Set<DrainPod>(), done: new Set<DrainPod>(), notJudged: [] };
  if (ofJobs.length === 0) return none;
  const read = await permitted((await ports.impact()).jobs());
  if ('forbidden' in read) return { ...none, notJudged: [`Jobs: ${read.forbidden.oneLine}`] };
  const byJob = Map.groupBy(ofJobs, ({ namespace, controller }) => `${namespace}/${controller?.name}`);
  const found = [...byJob].map(([job, pods]) => ({ job, pods, facts: read.value.get(job) }));
  const [done, others] = [
    found.filter(({ facts }) => facts?.createsNoMore),
    found.filter(({ facts }) => !facts?.createsNoMore),
  ];
  const failing = others.filter(({ pods, facts }) => pods.length > (facts?.failuresLeft ?? Infinity));
  const texts = others.flatMap(({ job, facts }) => (facts?.notJudged ?? []).map(text => `${text}, for Job ${job}`));
  const podsIn = (jobs: typeof found) => new Set(jobs.flatMap(({ pods }) => pods));
  return { failing: podsIn(failing), done: podsIn(done), notJudged: texts };
}

/** Grouped by what is not judged. DeviceClasses are only read if a pod may need one. */
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

function stuckText(budget: Budget, withoutPlace: Parameters<typeof shortOf>[1]): string | undefined {
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
