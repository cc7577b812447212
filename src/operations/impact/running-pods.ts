/** The pods on nodes, with the controllers that recreate them. */
import { countPod } from '../../controller/collect.ts';
import { quantityReader } from '../../nodepool/amounts.ts';
import { isCustomController } from '../../nodepool/custom-controller.ts';
import type { SchedulingChange } from '../../nodepool/runtime-class.ts';
import { controllerOf, TEMPLATE_HASH } from '../../nodepool/runtime-class-users.ts';
import type { Node } from '../../nodepool/types.ts';
import { countedBy } from '../../scheduling/counted-pods.ts';
import type { NodeChange } from '../../scheduling/impact/node-keys.ts';
import { recreations } from '../../scheduling/impact/recreated.ts';
import type { Owner, RunningPod } from '../../scheduling/impact/types.ts';
import type { RawPod } from '../../scheduling/raw-pod.ts';
import { readPlacedPod } from '../../scheduling/read-pod.ts';
import { Snapshot, selectsNamespaces } from '../../scheduling/snapshot.ts';
import type { LabelledPod, SchedulingPort } from '../scheduling-port.ts';
import { UntemplatedPods } from './untemplated-pods.ts';

export interface RunningPods {
  /** With every pod that is on a node and has not ended; none counts for others yet. Without volumes, claims and namespaces. */
  snapshot: Snapshot;
  /** On nodes that change, by node. Of 50,000 others, the sums in the snapshot are enough. */
  here: Map<string, RunningPod[]>;
  /** Namespaces of those of them with claims. */
  claiming: Set<string>;
  /** Wherever they are. */
  untemplated: UntemplatedPods;
  /** Whether the labels of namespaces matter to a term of pod affinity. */
  asksForNamespaces: boolean;
  /** Pods whose amounts cannot be read; each a sentence. */
  problems: string[];
}

/** Before any pod is read. @param nodes all, after the change */
export function noPods(nodes: readonly Node[]): RunningPods {
  const snapshot = new Snapshot(nodes, undefined, undefined, () => false);
  const untemplated = new UntemplatedPods(snapshot.parts);
  return { snapshot, here: new Map(), untemplated, claiming: new Set(), asksForNamespaces: false, problems: [] };
}

/**
 * @param nodes all, after the change
 * @param changed by the name of the node
 * @param classes RuntimeClasses that change, by name
 */
export async function readRunningPods(
  nodes: readonly Node[],
  changed: ReadonlyMap<string, NodeChange>,
  classes: ReadonlyMap<string, SchedulingChange>,
  port: SchedulingPort,
): Promise<RunningPods> {
  const recreate = recreations(classes);
  const read = quantityReader();
  let found = noPods(nodes);
  const owners = new Map<string, Owner>();
  const add = (raw: RawPod) => {
    const pod = readPlacedPod(raw, read, problem => void found.problems.push(problem));
    const { nodeName = '', namespace, claims, affinity, antiAffinity, placement } = pod;
    found.snapshot.add(pod, nodeName);
    found.asksForNamespaces ||= [...affinity, ...antiAffinity].some(selectsNamespaces);
    const controller = raw.metadata?.ownerReferences?.find(reference => reference.controller);
    const owner = controller && ownerOf(raw, controller, owners);
    // Most pods share what they are made of: the name alone is one of 50,000.
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

/**
 * Reads the pods that matter to topology spread and pod affinity of pods that would move into the snapshot: a second list, as
 * only now it is known which do. No request where none has such a rule.
 */
export async function countOthers(
  snapshot: Snapshot,
  moving: readonly RunningPod[],
  port: SchedulingPort,
): Promise<void> {
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
  known: Map<string, Owner>,
): Owner {
  const controller = { kind: reference.kind ?? '', name: reference.name ?? '' };
  const found = controllerOf({ name, controller, templateHash: labels?.[TEMPLATE_HASH] });
  const key = `${found.kind}/${found.name}`;
  const owner = known.get(key) ?? found;
  known.set(key, owner);
  return owner;
}
