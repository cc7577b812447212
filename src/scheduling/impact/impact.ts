/**
 * What a change of nodes does to the cluster: pods of DaemonSets that start and stop, pods that are evicted and where they
 * can go, pods that would not be scheduled to their node again, and objects that select the changed labels.
 *
 * Not judged: what admission, quotas and preemption do; whether new pods of DaemonSets fit by resources.
 */
import type { Snapshot } from '../snapshot.ts';
import { daemonChanges, isOfDaemonSet, ownerKey } from './daemon-sets.ts';
import { destinationOf } from './destinations.ts';
import { type EvictedPod, evictionOf, whyNotAgain } from './leaving-pods.ts';
import { changedKeys, type NodeChange } from './node-keys.ts';
import { OpenNodes } from './open-nodes.ts';
import { byOwner, type DaemonNode, daemonImpacts, KeyImpacts } from './summary.ts';
import type { DaemonSet, Evicted, Impact, RunningPod, Selecting } from './types.ts';

export interface PlannedChange extends NodeChange {
  /** Its NoExecute taints wait until the pods are evicted. */
  isDrained?: boolean;
}

export interface Scene {
  changes: readonly PlannedChange[];
  /** Of the changed nodes, by node. */
  pods: ReadonlyMap<string, readonly RunningPod[]>;
  daemonSets: readonly DaemonSet[];
  selecting: readonly Selecting[];
  /** The nodes after the change, with all pods. Evicted pods are moved in it. */
  snapshot: Snapshot;
}

/** Their pods are recreated on the same node; those of a Node are static pods. */
const STAYING: readonly string[] = ['DaemonSet', 'Node'];

export function impactOf({ changes, pods, daemonSets, selecting, snapshot }: Scene): Impact {
  const { storage } = snapshot;
  const byKey = new KeyImpacts();
  const daemons: DaemonNode[] = [];
  const notAgain: RunningPod[] = [];
  const evicted: EvictedPod[] = [];
  for (const change of changes) {
    const keys = changedKeys(change);
    if (keys.length === 0) continue;
    const node = change.after.name;
    byKey.begin(node, keys);
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
      const found: DaemonNode = { namespace, name, node, kind };
      daemons.push(found);
      byKey.add(causes, impact => impact.daemons.push(found));
    }
    for (const running of here) {
      if (running.pod.isTerminating) continue;
      const isDaemon = isOfDaemonSet(running);
      if (isDaemon && stopped.has(ownerKey(running))) {
        snapshot.remove(running.pod, node);
        continue;
      }
      const eviction = evictionOf(running, change, keys, change.isDrained ?? false);
      if (eviction !== undefined) {
        evicted.push(eviction);
        byKey.add(eviction.causes, impact => impact.evicted.push(running));
        continue;
      }
      const causes = isDaemon ? [] : whyNotAgain(running, change, keys, storage);
      if (causes.length === 0) continue;
      notAgain.push(running);
      byKey.add(causes, impact => impact.notAgain.push(running));
    }
  }
  return {
    keys: byKey.summarize(selecting),
    daemonSets: daemonImpacts(daemons),
    notAgain: byOwner(notAgain),
    evicted: withDestinations(evicted, snapshot),
  };
}

function withDestinations(evicted: readonly EvictedPod[], snapshot: Snapshot): Evicted[] {
  const byPod = new Map(evicted.map(each => [`${each.running.pod.namespace}/${each.running.pod.name}`, each]));
  for (const { running } of evicted) snapshot.remove(running.pod, running.node);
  const open = new OpenNodes(snapshot);
  return byOwner(evicted.map(({ running }) => running)).map((group): Evicted => {
    const own = group.pods.flatMap(name => byPod.get(`${group.namespace}/${name}`) ?? []);
    const times = own.flatMap(({ seconds }) => (seconds > 0 ? seconds : []));
    const pods = own.map(({ running }) => running.pod);
    const isRecreated = group.owner !== undefined && !STAYING.includes(group.owner.kind);
    return {
      ...group,
      ...(times.length === 0
        ? {}
        : { later: { pods: times.length, min: Math.min(...times), max: Math.max(...times) } }),
      next: isRecreated ? destinationOf(pods, snapshot, open) : undefined,
    };
  });
}
