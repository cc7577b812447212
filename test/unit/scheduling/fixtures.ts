/** Builders for tests of the scheduler's rules. */
import { quantityReader } from '../../../src/nodepool/quantity/amounts.ts';
import type { Node } from '../../../src/nodepool/types.ts';
import { Judge } from '../../../src/scheduling/judge.ts';
import type { RawPod, RawPodSpec } from '../../../src/scheduling/pod/raw-pod.ts';
import { readPod } from '../../../src/scheduling/pod/read-pod.ts';
import { Snapshot } from '../../../src/scheduling/snapshot.ts';
import type { Pod } from '../../../src/scheduling/types.ts';
import type { Storage } from '../../../src/scheduling/volumes/storage.ts';
import { aNode } from '../nodepool/fixtures.ts';

/** Of 4 cores, 8Gi and 10 pods. */
export function site(name: string, node: Partial<Node> = {}): Node {
  const { labels = {}, ...rest } = node;
  const allocatable = { cpu: '4', memory: '8Gi', pods: '10' };
  return aNode({ name, allocatable, ...rest, labels: { 'kubernetes.io/hostname': name, ...labels } });
}

export function raw(spec: RawPodSpec = {}, metadata: RawPod['metadata'] = {}): RawPod {
  return { metadata: { name: 'web', namespace: 'default', labels: { app: 'web' }, ...metadata }, spec };
}

export function pod(spec: RawPodSpec = {}, metadata: RawPod['metadata'] = {}): Pod {
  return readPod(raw(spec, metadata), quantityReader());
}

export function asks(requests: Record<string, string>): RawPodSpec {
  return { containers: [{ name: 'main', resources: { requests } }] };
}

/** With pods on these nodes. */
export function snapshot(nodes: readonly Node[], pods: readonly [string, Pod][] = [], storage?: Storage): Snapshot {
  const all = new Snapshot(nodes, new Map([['team-a', { team: 'a' }]]), storage);
  for (const [node, each] of pods) all.add(each, node);
  return all;
}

/** The scheduler's words, of all rules. */
export function words(which: Pod, node: string, where: Snapshot): string[] {
  return new Judge(which, where).whyNot(node).map(reason => reason.words);
}
