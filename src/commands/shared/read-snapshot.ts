/** Reads nodes and pods into a Snapshot, and whatever else the evaluated pods need. */

import type { PodFields } from '../../kube/protobuf/scheduled-pod.ts';
import type { SchedulingPort } from '../../kube/resources/scheduling.ts';
import { quantityReader } from '../../nodepool/quantity/amounts.ts';
import type { Node } from '../../nodepool/types.ts';
import { countedBy } from '../../scheduling/node/label-index.ts';
import { readPlacedPod } from '../../scheduling/pod/read-pod.ts';
import { Snapshot, selectsNamespaces } from '../../scheduling/snapshot.ts';
import type { Pod } from '../../scheduling/types.ts';
import { permitted } from './refusals.ts';

export interface KeptPod {
  pod: Pod;
  node: string;
}

export interface ReadSnapshot {
  snapshot: Snapshot;
  /** A sentence for each pod whose quantities cannot be read. */
  problems: string[];
  /** Pods on nodes that `keep` accepted; the snapshot counts them as well. */
  kept: KeptPod[];
  knows: {
    namespaces: boolean;
    /** A sentence for each thing that could not be read and is not judged. */
    refusals: string[];
  };
}

interface SnapshotOptions {
  /** The evaluated pods that are on no node. */
  pods: readonly Pod[];
  keep: (pod: Pod) => boolean;
  /** Whether kept pods are evaluated too. */
  judgesKept: boolean;
  /** `keep` needs labels. */
  keepsByLabels?: boolean;
}

export async function readSnapshot(
  reading: Promise<Node[]>,
  { pods, keep, judgesKept, keepsByLabels = false }: SnapshotOptions,
  port: SchedulingPort,
): Promise<ReadSnapshot> {
  // Starts before the list of pods ends, unless that list contains the evaluated pods.
  const early = judgesKept ? undefined : storageOf(pods, port);
  early?.catch(() => {});
  const isCounted = countedBy(pods);
  const fields = judgesKept
    ? { labels: true, placement: true }
    : { labels: keepsByLabels || isCounted !== undefined, placement: false };
  const collector = new Collector(keep, judgesKept ? undefined : (isCounted ?? (() => false)));
  const podsRead = readPods(fields, collector, port);
  podsRead.catch(() => {});
  const nodes = await reading;
  collector.begin(nodes);
  await podsRead;
  const { problems, kept } = collector;
  const snapshot = collector.snapshot(nodes);
  const requested = judgesKept ? [...pods, ...kept.map(({ pod }) => pod)] : pods;
  const refusals: string[] = [];
  const stored = await (early ?? storageOf(requested, port));
  if (stored !== undefined && 'forbidden' in stored) refusals.push(`volumes: ${stored.forbidden.oneLine}`);
  else if (stored !== undefined) snapshot.storage = stored.value;
  const isNeeded =
    requested.some(({ affinity, antiAffinity }) => [...affinity, ...antiAffinity].some(selectsNamespaces)) ||
    snapshot.selectsNamespaces;
  const namespaces = isNeeded ? await permitted(port.namespaces()) : undefined;
  if (namespaces !== undefined && 'value' in namespaces) snapshot.namespaces = namespaces.value;
  const knows = { namespaces: namespaces === undefined || 'value' in namespaces, refusals };
  return { snapshot, problems, kept, knows };
}

async function readPods(fields: PodFields, collector: Collector, port: SchedulingPort): Promise<void> {
  const read = quantityReader();
  await port.placedPods(
    fields,
    raw => collector.add(readPlacedPod(raw, read, problem => collector.problems.push(problem))),
    () => collector.startOver(),
  );
}

/** Undefined if no pod has a claim. */
async function storageOf(pods: readonly Pod[], port: SchedulingPort) {
  const namespaces = new Set(pods.filter(({ claims }) => claims.length > 0).map(({ namespace }) => namespace));
  return namespaces.size === 0 ? undefined : permitted(port.storage(namespaces));
}

/** Accepts pods before and after the nodes are known. */
class Collector {
  problems: string[] = [];
  kept: KeptPod[] = [];
  readonly #keep: (pod: Pod) => boolean;
  readonly #isCounted: ((pod: Pick<Pod, 'labels'>) => boolean) | undefined;
  #nodes: readonly Node[] | undefined;
  #snapshot: Snapshot | undefined;
  #early: Pod[] = [];

  constructor(keep: (pod: Pod) => boolean, isCounted: ((pod: Pick<Pod, 'labels'>) => boolean) | undefined) {
    this.#keep = keep;
    this.#isCounted = isCounted;
  }

  begin(nodes: readonly Node[]): void {
    this.#nodes = nodes;
    this.#snapshot = this.#empty(nodes);
    for (const pod of this.#early) this.#snapshot.add(pod, pod.nodeName ?? '');
    this.#early = [];
  }

  add(pod: Pod): void {
    if (this.#keep(pod)) this.kept.push({ pod, node: pod.nodeName ?? '' });
    if (this.#snapshot === undefined) this.#early.push(pod);
    else this.#snapshot.add(pod, pod.nodeName ?? '');
  }

  startOver(): void {
    this.problems = [];
    this.kept = [];
    this.#early = [];
    if (this.#nodes !== undefined) this.#snapshot = this.#empty(this.#nodes);
  }

  snapshot(nodes: readonly Node[]): Snapshot {
    this.#snapshot ??= this.#empty(nodes);
    return this.#snapshot;
  }

  #empty(nodes: readonly Node[]): Snapshot {
    return new Snapshot(nodes, undefined, undefined, this.#isCounted);
  }
}
