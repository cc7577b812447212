/** Reads nodes and pods into a Snapshot, and of the rest what the pods in question need. */
import { quantityReader } from '../nodepool/amounts.ts';
import type { Node } from '../nodepool/types.ts';
import { readPlacedPod } from '../scheduling/read-pod.ts';
import { Snapshot } from '../scheduling/snapshot.ts';
import type { Pod } from '../scheduling/types.ts';
import { permitted } from './permitted.ts';
import type { SchedulingPort } from './scheduling-port.ts';

export interface ReadSnapshot {
  snapshot: Snapshot;
  /** Pods whose amounts cannot be read; each a sentence. */
  problems: string[];
  /** The pod that was looked for. */
  self: { pod: Pod; node: string } | undefined;
  knows: {
    namespaces: boolean;
    /** What could not be read, and is not judged. */
    refusals: string[];
  };
}

/**
 * @param pods in question
 * @param wanted a pod that is to be found among those on nodes
 */
export async function readSnapshot(
  reading: Promise<Node[]>,
  pods: readonly Pod[],
  wanted: { namespace: string; name: string } | undefined,
  port: SchedulingPort,
): Promise<ReadSnapshot> {
  const claimNamespaces = new Set(pods.filter(({ claims }) => claims.length > 0).map(({ namespace }) => namespace));
  const storage = claimNamespaces.size === 0 ? undefined : permitted(port.storage(claimNamespaces));
  storage?.catch(() => {});
  const collector = new Collector(wanted);
  const labels = pods.some(
    ({ spread, affinity, antiAffinity }) => spread.length + affinity.length + antiAffinity.length > 0,
  );
  const podsRead = port.placedPods(
    { labels, placement: false },
    pod => collector.add(readPlacedPod(pod, collector.read, problem => collector.problems.push(problem))),
    () => collector.startOver(),
  );
  podsRead.catch(() => {});
  const nodes = await reading;
  collector.begin(nodes);
  await podsRead;
  const snapshot = collector.snapshot(nodes);
  const refusals: string[] = [];
  const stored = await storage;
  if (stored !== undefined && 'forbidden' in stored) refusals.push(`volumes: ${stored.forbidden.oneLine}`);
  else if (stored !== undefined) snapshot.storage = stored.value;
  const isAsked = [...pods.flatMap(({ affinity, antiAffinity }) => [...affinity, ...antiAffinity])].some(hasSelector);
  const isNeeded = isAsked || [...snapshot.antiAffinityGroups()].some(({ terms }) => terms.some(hasSelector));
  const namespaces = isNeeded ? await permitted(port.namespaces()) : undefined;
  if (namespaces !== undefined && 'value' in namespaces) snapshot.namespaces = namespaces.value;
  const { problems, self } = collector;
  return {
    snapshot,
    problems,
    self,
    knows: { namespaces: namespaces === undefined || 'value' in namespaces, refusals },
  };
}

function hasSelector({ namespaceSelector }: { namespaceSelector: object | undefined }): boolean {
  return namespaceSelector !== undefined;
}

/** Takes pods before and after the nodes are known. */
class Collector {
  problems: string[] = [];
  self: { pod: Pod; node: string } | undefined;
  readonly read = quantityReader();
  readonly #wanted: { namespace: string; name: string } | undefined;
  #nodes: readonly Node[] | undefined;
  #snapshot: Snapshot | undefined;
  #early: Pod[] = [];

  constructor(wanted: { namespace: string; name: string } | undefined) {
    this.#wanted = wanted;
  }

  begin(nodes: readonly Node[]): void {
    this.#nodes = nodes;
    this.#snapshot = new Snapshot(nodes);
    for (const pod of this.#early) this.#snapshot.add(pod, pod.nodeName ?? '');
    this.#early = [];
  }

  add(pod: Pod): void {
    const { namespace, name, nodeName = '' } = pod;
    if (name === this.#wanted?.name && namespace === this.#wanted.namespace) this.self = { pod, node: nodeName };
    if (this.#snapshot === undefined) this.#early.push(pod);
    else this.#snapshot.add(pod, nodeName);
  }

  startOver(): void {
    this.problems = [];
    this.self = undefined;
    this.#early = [];
    if (this.#nodes !== undefined) this.#snapshot = new Snapshot(this.#nodes);
  }

  snapshot(nodes: readonly Node[]): Snapshot {
    this.#snapshot ??= new Snapshot(nodes);
    return this.#snapshot;
  }
}
