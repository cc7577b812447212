/**
 * The pods of simulated nodes: a scheduler whose cache is late, a budget that holds evictions back, pods that terminate, and
 * DaemonSets, whose pods come back.
 */
import assert from 'node:assert/strict';
import type { EvictionsClient, RemovalResult } from '../../../src/kube/cluster.ts';
import type { Budget } from '../../../src/nodepool/drain/budgets.ts';
import type { DrainPod } from '../../../src/nodepool/drain/drain-filters.ts';
import { timestamp } from '../../../src/nodepool/timestamp.ts';
import type { Node, Taint, Toleration } from '../../../src/nodepool/types.ts';
import { makeBudget } from '../nodepool/budget.ts';

/** By what a pod tolerates: nothing, what is on the node when it comes, every NoSchedule, everything. */
export type PodKind = 'plain' | 'current' | 'daemon' | 'tolerant';
export const POD_KINDS: readonly PodKind[] = ['plain', 'current', 'daemon', 'tolerant'];

/** The scheduler does not know taints that are younger. */
const CACHE_MS = 1_900;
const ANSWER: RemovalResult = { kind: 'budget', budget: 'web', message: 'needs 2 healthy pods and has 2 currently' };

interface Version {
  at: number;
  taints: readonly Taint[];
}

export class SimulatedPods implements EvictionsClient {
  /** No eviction is allowed. */
  isThere = false;
  evictions = 0;
  /** By name of the node, by UID. */
  readonly #on = new Map<string, Map<string, DrainPod>>();
  /** Milliseconds. */
  readonly #now: () => number;
  readonly #onLook: (node: string) => void;
  /** Of each node, oldest first. */
  readonly #versions = new Map<string, Version[]>();
  #count = 0;

  /** @param onLook called when the pods of a node are listed */
  constructor(now: () => number, onLook: (node: string) => void) {
    this.#now = now;
    this.#onLook = onLook;
  }

  /** One, of all pods. */
  async budgets(): Promise<Budget[]> {
    const disruptionsAllowed = this.isThere ? 0 : 1_000;
    const status = { disruptionsAllowed, currentHealthy: 1_000, desiredHealthy: 1, expectedPods: 1_000 };
    return [makeBudget({ namespace: 'ns', name: 'all', selector: {}, status })];
  }

  async hasDaemonSet(): Promise<boolean> {
    return false;
  }

  /** The taints of the node from now on. */
  sees({ name, taints }: Node): void {
    const versions = this.#versions.get(name) ?? [];
    this.#versions.set(name, [...versions, { at: this.#now(), taints }]);
  }

  /** If the scheduler binds it there. */
  comes(node: string, kind: PodKind): void {
    const seen = this.#now() - CACHE_MS;
    const taints = this.#versions.get(node)?.findLast(({ at }, index) => index === 0 || at <= seen)?.taints;
    if (taints === undefined) return;
    const tolerations = tolerationsOf(kind, taints);
    const repels = ({ effect }: Taint) => effect === 'NoSchedule' || effect === 'NoExecute';
    if (taints.filter(repels).every(taint => isTolerated(taint, tolerations))) this.#add(node, kind, tolerations);
  }

  /** Time passes: terminating pods are gone, and DaemonSets recreate their pods. */
  passes(): void {
    for (const [node, pods] of this.#on) {
      for (const [uid, pod] of pods) {
        if (pod.deletionTimestamp === undefined) continue;
        pods.delete(uid);
        if (pod.labels.kind === 'daemon') this.comes(node, 'daemon');
      }
    }
  }

  /** The node was deleted. */
  forget(node: string): void {
    this.#on.delete(node);
    this.#versions.delete(node);
  }

  /** What must hold when the node gets the taints. */
  assertNoneFor(node: string, taints: readonly Taint[]): void {
    const left = [...(this.#on.get(node)?.values() ?? [])].filter(
      pod => taints.some(taint => !isTolerated(taint, pod.placement.tolerations)) && !isLeaving(pod),
    );
    assert.deepEqual(
      left.map(({ name }) => name),
      [],
      `${node} gets a taint with the effect NoExecute with pods that do not tolerate it`,
    );
  }

  async podsOn(node: string): Promise<DrainPod[]> {
    this.#onLook(node);
    const listed = [...(this.#on.get(node)?.values() ?? [])];
    // Right after the list, the scheduler binds what it takes for allowed.
    this.comes(node, 'current');
    return listed;
  }

  async evict(pod: DrainPod): Promise<RemovalResult> {
    const on = [...this.#on.values()].find(pods => pods.has(pod.uid));
    const live = on?.get(pod.uid);
    if (on === undefined || live === undefined) return { kind: 'gone' };
    if (this.isThere) return ANSWER;
    this.evictions++;
    on.set(pod.uid, { ...live, deletionTimestamp: '2026-05-01T12:00:00Z' });
    return { kind: 'accepted' };
  }

  #add(node: string, kind: PodKind, tolerations: Toleration[]): void {
    const uid = String(++this.#count);
    const pods = this.#on.get(node) ?? new Map<string, DrainPod>();
    pods.set(uid, {
      namespace: 'ns',
      name: `${kind}-${uid}`,
      uid,
      phase: 'Running',
      labels: { kind },
      isReady: true,
      isMirror: false,
      creationTimestamp: timestamp(new Date(this.#now())),
      hasEmptyDir: false,
      placement: { nodeSelector: {}, nodeTerms: undefined, tolerations },
    });
    this.#on.set(node, pods);
  }
}

/** A budget does not count it any more. Of other pods than those of a DaemonSet, the product waits until they are gone. */
function isLeaving({ labels, deletionTimestamp }: DrainPod): boolean {
  return labels.kind === 'daemon' && deletionTimestamp !== undefined;
}

function tolerationsOf(kind: PodKind, taints: readonly Taint[]): Toleration[] {
  if (kind === 'tolerant') return [{ operator: 'Exists' }];
  if (kind === 'daemon') return [{ operator: 'Exists', effect: 'NoSchedule' }];
  if (kind === 'plain') return [];
  return taints.map(({ key, value = '' }) => ({ key, operator: 'Equal', value }));
}

/** By these kinds of tolerations. */
function isTolerated(taint: Taint, tolerations: readonly Toleration[]): boolean {
  return tolerations.some(
    ({ key, value, effect }) =>
      (key === undefined || (key === taint.key && value === (taint.value ?? ''))) &&
      (effect === undefined || effect === taint.effect),
  );
}
