/**
 * What a change of nodes does to the cluster: pods of DaemonSets that start and stop, pods that are evicted and where they
 * can go, pods that would not be scheduled to their node again, and objects that select the changed labels.
 *
 * Not judged: what admission, quotas and preemption do; of new pods of DaemonSets, more than resources and host ports.
 */
import type { Budget } from '../../nodepool/budgets.ts';
import type { Snapshot } from '../snapshot.ts';
import { daemonChanges, isOfDaemonSet, judgeRoom, ownerKey, type StartingPod } from './daemon-sets.ts';
import { placeEvicted, takeAway } from './evictions.ts';
import { isScheduled, type LeavingPods } from './leaving-pods.ts';
import { OpenNodes } from './open-nodes.ts';
import { shutOut } from './shut-out.ts';
import { placeStranded } from './stranded-pods.ts';
import { type DaemonNode, daemonImpacts, KeyImpacts, notJudgedOf } from './summary.ts';
import type { DaemonSet, EvictedPod, Impact, RunningPod, Selecting } from './types.ts';

export interface Scene {
  /** One for each node that changes. */
  leaving: readonly LeavingPods[];
  /** Of the changed nodes, by node. */
  pods: ReadonlyMap<string, readonly RunningPod[]>;
  daemonSets: readonly DaemonSet[];
  selecting: readonly Selecting[];
  budgets: readonly Budget[];
  /** StatefulSets with podManagementPolicy Parallel, as `namespace/name`. */
  parallel?: ReadonlySet<string>;
  /** The nodes after the change, with all pods. Evicted pods are moved in it. */
  snapshot: Snapshot;
  /** Collects garbage, where thousands of pods have left some. */
  collect?: () => void;
}

export function impactOf({
  leaving,
  pods,
  daemonSets,
  selecting,
  budgets,
  parallel = new Set(),
  snapshot,
  collect = () => {},
}: Scene): Impact {
  const { storage } = snapshot;
  const byKey = new KeyImpacts();
  const daemons: DaemonNode[] = [];
  const starting: StartingPod[] = [];
  const notAgain: RunningPod[] = [];
  const evicted: EvictedPod[] = [];
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
      }
    }
  }
  collect();
  const among = { changes: leaving.map(({ change }) => change), budgets, parallel, snapshot, collect };
  const never = takeAway(evicted, among);
  collect();
  // Their nodes are certain: they take the room before evicted pods do.
  judgeRoom(starting, snapshot);
  const nodes = [...snapshot.nodes.values()].map(({ node }) => node);
  const open = new OpenNodes(snapshot);
  const told = [...evicted, ...notAgain].map(({ pod, owner }) => ({ namespace: pod.namespace, owner }));
  for (const { workload, causes } of shutOut(selecting, leaving, open, told))
    byKey.add([...causes], found => found.shutOut.push(workload));
  const keys = byKey.summarize(selecting, nodes, open);
  collect();
  return {
    keys,
    daemonSets: daemonImpacts(daemons),
    // Those that leave are placed first.
    ...placeEvicted(evicted, never, among),
    notAgain: placeStranded(notAgain, snapshot, parallel),
    notJudged: notJudgedOf([...evicted.filter(({ owner }) => owner !== undefined), ...notAgain].filter(isScheduled)),
  };
}
