/**
 * How a change of nodes affects the cluster: pods of DaemonSets that start and stop, evicted pods and where they can
 * go, pods that would not be scheduled to their node again, and objects that select the changed labels.
 *
 * Not judged: admission and preemption; for new pods of DaemonSets, anything but resources and host ports.
 */
import type { Budget } from '../../nodepool/drain/budgets.ts';
import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import type { Change } from '../../nodepool/plan/change.ts';
import { quantityReader } from '../../nodepool/quantity/amounts.ts';
import type { Node } from '../../nodepool/types.ts';
import type { ExceededQuota } from '../exceeded-quotas.ts';
import { Judge } from '../judge.ts';
import type { LimitRangeEffects } from '../limit-ranges.ts';
import { firstNodeRefusal, nodeNamesIn } from '../node/node-rules.ts';
import { judgePorts, judgeResources } from '../node/resources.ts';
import { type DaemonVerdict, shouldRunOn } from '../pod/daemon.ts';
import { readPlacedPod } from '../pod/read-pod.ts';
import type { Snapshot } from '../snapshot.ts';
import type { Pod } from '../types.ts';
import { destinationOf, isInOrder, placeAgain, placeEvicted, recreatedKinds, setNode, takeAway } from './evictions.ts';
import { isScheduled, type LeavingPods, recreatedPod } from './leaving-pods.ts';
import { type ChangedKey, causesOf, type NodeChange } from './node-keys.ts';
import { OpenNodes } from './open-nodes.ts';
import { idOf } from './selecting.ts';
import { type DaemonNode, daemonImpacts, groupsOf, KeyImpacts, notJudgedOf } from './summary.ts';
import type { DaemonSet, EvictedPod, Impact, PodsImpact, RunningPod, SelectingObject, StrandedPods } from './types.ts';

export interface PlannedImpact {
  /** One for each changed node. */
  leaving: readonly LeavingPods[];
  /** Pods on the changed nodes, by node. */
  pods: ReadonlyMap<string, readonly RunningPod[]>;
  daemonSets: readonly DaemonSet[];
  selecting: readonly SelectingObject[];
  budgets: readonly Budget[];
  /** StatefulSets with podManagementPolicy Parallel, as `namespace/name`. */
  parallel?: ReadonlySet<string>;
  /** Extended resources that a DeviceClass provides. */
  deviceResources?: ReadonlySet<string>;
  quotas?: readonly ExceededQuota[];
  ranges?: readonly LimitRangeEffects[];
  /** The nodes after the change, with all pods. Moves evicted pods. */
  snapshot: Snapshot;
  /** Collects garbage after thousands of pods. */
  collect?: () => void;
}

export function impactOf({
  leaving,
  pods,
  daemonSets,
  selecting,
  budgets,
  parallel = new Set(),
  deviceResources = new Set(),
  quotas = [],
  ranges = [],
  snapshot,
  collect = () => {},
}: PlannedImpact): Impact {
  const { storage } = snapshot;
  const byKey = new KeyImpacts();
  const daemons: DaemonNode[] = [];
  const starting: StartingPod[] = [];
  const notAgain: RunningPod[] = [];
  const evicted: EvictedPod[] = [];
  const amongOthers: { running: RunningPod; keys: ChangedKey[] }[] = [];
  for (const ofNode of leaving) {
    const { change, keys } = ofNode;
    const node = change.after.name;
    byKey.begin(node, keys, change.meanwhile);
    const here = pods.get(node) ?? [];
    const stopped = new Set<string>();
    for (const { set, kind, causes } of daemonChanges(change, keys, daemonSets, here)) {
      const { namespace, name } = set;
      if (kind === 'stays') {
        const staying = here.filter(pod => isOfDaemonSet(pod) && ownerKey(pod) === `${namespace}/${name}`);
        notAgain.push(...staying);
        byKey.add(causes, found => found.notAgain.push(...staying));
        continue;
      }
      if (kind === 'stops') stopped.add(`${namespace}/${name}`);
      const found: DaemonNode = { namespace, name, node, kind, lacks: [] };
      daemons.push(found);
      if (kind === 'starts') starting.push({ set, found });
      byKey.add(causes, impact => impact.daemons.push(found));
    }
    for (const running of here) {
      if (running.pod.isTerminating) continue;
      const isDaemon = isOfDaemonSet(running);
      if (isDaemon && stopped.has(ownerKey(running))) {
        snapshot.remove(running.pod, node);
        continue;
      }
      const fate = ofNode.fate(running, storage);
      if ('eviction' in fate) {
        const leaves = Object.assign(running, { eviction: fate.eviction });
        evicted.push(leaves);
        byKey.add(fate.eviction.causes, impact => impact.evicted.push(leaves));
      } else if (fate.causes.length > 0) {
        notAgain.push(running);
        byKey.add(fate.causes, impact => impact.notAgain.push(running));
      } else if (isScheduled(running)) {
        const moved = ofNode.topologyKeys(running.pod);
        if (moved.length > 0) amongOthers.push({ running, keys: moved });
      }
    }
  }
  for (const { running, keys } of separated(amongOthers, leaving, snapshot)) {
    notAgain.push(running);
    byKey.add(keys, impact => impact.notAgain.push(running));
  }
  collect();
  const among = { changes: leaving.map(({ change }) => change), budgets, parallel, snapshot, collect };
  const never = takeAway(evicted, among);
  collect();
  // Their nodes are certain, so they take the room before evicted pods do.
  judgeRoom(starting, snapshot);
  const nodes = [...snapshot.nodes.values()].map(({ node }) => node);
  const open = new OpenNodes(snapshot);
  const told = [...evicted, ...notAgain].map(({ pod, owner }) => ({ namespace: pod.namespace, owner }));
  for (const { workload, causes } of shutOut(selecting, leaving, open, told))
    byKey.add([...causes], found => found.shutOut.push(workload));
  const keys = byKey.summarize(selecting, nodes, open);
  collect();
  const placed = placeEvicted(evicted, never, among);
  const stranded = placeStranded(notAgain, snapshot, parallel);
  collect();
  const again = [...evicted.filter(({ owner }) => owner !== undefined), ...notAgain].filter(isScheduled);
  return {
    keys,
    daemonSets: daemonImpacts(daemons),
    ...placed,
    notAgain: stranded,
    notJudged: notJudgedOf(again, snapshot, { classes: deviceResources, quotas, ranges }),
  };
}

// Which pods of DaemonSets stop and start, by the rules of the DaemonSet controller.

interface DaemonChange {
  set: DaemonSet;
  node: string;
  /** `stays`: its pod keeps running, but would not be created again. */
  kind: 'starts' | 'stops' | 'stays';
  causes: readonly ChangedKey[];
}

/** @param pods on the node */
function daemonChanges(
  change: NodeChange,
  keys: readonly ChangedKey[],
  sets: readonly DaemonSet[],
  pods: readonly RunningPod[],
): DaemonChange[] {
  const running = new Set(pods.flatMap(pod => (isOfDaemonSet(pod) ? ownerKey(pod) : [])));
  return sets.flatMap((set): DaemonChange[] => {
    const verdict = (node: Node) => shouldRunOn(set.template, node);
    const kind = kindOf(running.has(`${set.namespace}/${set.name}`), verdict(change.before), verdict(change.after));
    if (kind === undefined) return [];
    const outcomeOn = (node: Node) => (kind === 'stops' ? verdict(node).shouldContinue : verdict(node).shouldRun);
    return [{ set, node: change.after.name, kind, causes: causesOf(outcomeOn, change, keys) }];
  });
}

function kindOf(hasPod: boolean, before: DaemonVerdict, after: DaemonVerdict): DaemonChange['kind'] | undefined {
  // A pod that was about to start or stop before the change does so regardless.
  if (!hasPod) return !before.shouldRun && after.shouldRun ? 'starts' : undefined;
  if (!before.shouldContinue) return undefined;
  if (!after.shouldContinue) return 'stops';
  return before.shouldRun && !after.shouldRun ? 'stays' : undefined;
}

interface StartingPod {
  set: DaemonSet;
  found: DaemonNode;
}

/** Finds missing resources and ports for new pods. @param snapshot without leaving pods; fitting ones are added */
function judgeRoom(starting: readonly StartingPod[], snapshot: Snapshot): void {
  const read = quantityReader();
  const pods = new Map<DaemonSet, Pod>();
  for (const { set, found } of starting) {
    const { namespace, name, template } = set;
    const state = snapshot.nodes.get(found.node);
    // The server has already refused invalid quantities.
    const pod = pods.get(set) ?? readPlacedPod({ metadata: { namespace, name }, spec: template }, read, () => {});
    pods.set(set, pod);
    if (state === undefined) continue;
    const clash = judgePorts(pod.hostPorts, state.hostPorts);
    found.lacks = [...judgeResources(pod.requests, state), ...(clash === undefined ? [] : [clash])];
    if (found.lacks.length === 0) snapshot.add(pod, found.node);
  }
}

function isOfDaemonSet({ owner }: RunningPod): boolean {
  return owner?.kind === 'DaemonSet';
}

function ownerKey({ pod, owner }: RunningPod): string {
  return `${pod.namespace}/${owner?.name ?? ''}`;
}

// Pods that keep running although the scheduler would not put them there again, and where it would put them.

/** As if all were recreated at once; moves them in the snapshot. @param parallel see isInOrder() */
function placeStranded(
  stranded: readonly RunningPod[],
  snapshot: Snapshot,
  parallel: ReadonlySet<string>,
): StrandedPods[] {
  const moving = stranded.filter(isScheduled);
  for (const { pod, node } of moving) snapshot.remove(pod, node);
  const open = new OpenNodes(snapshot);
  const kindOf = recreatedKinds(moving, snapshot);
  return groupsOf(stranded).map(({ impact, group }): StrandedPods => {
    const pods = group.filter(isScheduled);
    return {
      ...impact,
      next:
        pods.length === 0
          ? undefined
          : destinationOf(placeAgain(pods, snapshot, open, { inOrder: isInOrder(impact, parallel), kindOf })),
    };
  });
}

/** Pods that rules about other pods allow on their node only before the change. @param snapshot with all pods */
function separated<P extends { running: RunningPod }>(
  pods: readonly P[],
  leaving: readonly LeavingPods[],
  snapshot: Snapshot,
): P[] {
  if (pods.length === 0) return [];
  const isTaken = ({ running: { pod, node } }: P): boolean => {
    snapshot.remove(pod, node);
    const recreated = recreatedPod(pod);
    const state = snapshot.nodes.get(node);
    const judge = new Judge(recreated, snapshot);
    const isOpen =
      state !== undefined &&
      judge.spread.judge(state.node) === undefined &&
      judge.affinity.judge(state.node).length === 0;
    snapshot.add(pod, node);
    return isOpen;
  };
  for (const { change } of leaving) setNode(snapshot, change.before);
  const taken = pods.filter(isTaken);
  for (const { change } of leaving) setNode(snapshot, change.after);
  return taken.filter(each => !isTaken(each));
}

// Workloads that no node takes any more because of taints, without pods now (between two runs, or with 0 replicas).

interface ShutOut {
  workload: SelectingObject;
  /** Always taints. */
  causes: ReadonlySet<ChangedKey>;
}

/** @param open after the change @param reported pods that leave or would not return: skips their owners */
function shutOut(
  selecting: readonly SelectingObject[],
  leaving: readonly LeavingPods[],
  open: OpenNodes,
  reported: readonly Omit<PodsImpact, 'pods'>[],
): ShutOut[] {
  if (!leaving.some(({ keys }) => keys.some(isClosing))) return [];
  const known = new Set(reported.map(({ namespace, owner }) => idOf({ namespace, kind: '', name: '', ...owner })));
  return selecting.flatMap((workload): ShutOut[] => {
    const { placement } = workload;
    if (placement === undefined || known.has(idOf(workload)) || open.isAny(placement)) return [];
    const causes = new Set(leaving.flatMap(each => closingKeys(each, placement)));
    return causes.size === 0 ? [] : [{ workload, causes }];
  });
}

function closingKeys({ change, keys }: LeavingPods, placement: PodPlacement): ChangedKey[] {
  const named = nodeNamesIn(placement.nodeTerms);
  const isTaken = (node: Node) => firstNodeRefusal(node, placement, named) === undefined;
  return isTaken(change.before) ? causesOf(isTaken, change, keys).filter(isClosing) : [];
}

/** Whether it is a new taint that keeps pods away. */
export function isClosing({ kind, effect, to }: Pick<Change, 'kind' | 'effect' | 'to'>): boolean {
  return kind === 'taint' && to !== undefined && effect !== 'PreferNoSchedule';
}
