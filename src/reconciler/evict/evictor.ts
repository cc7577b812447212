/**
 * Evicts pods of one node, for `drain` and for pools with `noExecute: Drain`: asks the server about those that are due, waits
 * where a PodDisruptionBudget or the server refuses, and says so once for each reason. Which pods are evicted, when they are listed,
 * and when the node is done is the callers' matter.
 */
import type { NowClock } from '../../controller/clock.ts';
import type { Limiter } from '../../controller/limiter.ts';
import type { EvictionsClient, RemovalResult } from '../../kube/cluster.ts';
import { type DrainPod, podName } from '../../nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../nodepool/errors.ts';

/** Of a pod, as `namespace/name`. `blocked`: why it is not evicted, once for each reason. */
export type EvictionEvent =
  | { kind: 'asking' | 'gone'; node: string; pod: string }
  | { kind: 'blocked'; node: string; pod: string; why: string };

export interface EvictorOptions {
  /** Whose pods are evicted. */
  node: string;
  /** Monotonic. */
  clock: NowClock;
  /** Once aborted, no further pod is evicted. */
  signal?: AbortSignal | undefined;
  /** The server checks every eviction and keeps the pods. */
  isDryRun?: boolean;
  /** What helps besides where a pod has several budgets, as the end of a sentence. */
  otherwise?: string;
  /** For people, in order. */
  onEvent?: ((event: EvictionEvent) => void) | undefined;
}

/** A pod that is not evicted yet. */
export interface BlockedPod {
  /** As `namespace/name`. */
  pod: string;
  /** What it waits for, as `PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently`. */
  why: string;
  /** When it was refused first. */
  since: number;
  /** An Event tells of it. */
  isReported: boolean;
}

/**
 * Why evictions end before all pods were asked about. `again`: the node is planned again. `waits`: it has lost its slot, the pool is
 * another one by now, the process stops, or pods are left. `late`: they took too long.
 */
export type EvictionStop = 'again' | 'waits' | 'late';

type OnAnswer = (pod: DrainPod, removal: RemovalResult) => void;

/** Between two evictions of a pod that is blocked, as kubectl drain. */
export const RETRY_MS = 5_000;

export class Evictor {
  /** By UID. */
  readonly blockedPods = new Map<string, BlockedPod>();
  /** Names of the pods whose eviction was accepted, by UID: they terminate. */
  readonly evicted = new Map<string, string>();
  readonly #options: EvictorOptions;
  /** When a pod may be asked about again, by UID; of each that was asked about. */
  readonly #askAt = new Map<string, number>();

  constructor(options: EvictorOptions) {
    this.#options = options;
  }

  /** Milliseconds until the pod may be asked about again, after a new list of pods; undefined once its eviction was accepted. */
  dueInMs({ uid }: DrainPod): number | undefined {
    return this.evicted.has(uid) ? undefined : this.#askInMs(uid);
  }

  /** Milliseconds until the first pod that is blocked is asked about again. */
  blockedMs(): number {
    return Math.min(...[...this.blockedPods.keys()].map(uid => this.#askInMs(uid)));
  }

  #askInMs(uid: string): number {
    const now = this.#options.clock.now();
    return Math.max(0, (this.#askAt.get(uid) ?? now) - now);
  }

  /** Asks about all that are due, as many at a time as the limiter lets. @param onAnswer gets an error as well */
  async evictAtOnce(
    pods: readonly DrainPod[],
    client: EvictionsClient,
    limit: Limiter,
    onAnswer: (pod: DrainPod, removal: RemovalResult | NodepoolError) => void,
  ): Promise<void> {
    const evict = async (pod: DrainPod) => {
      if (this.#options.signal?.aborted) return;
      this.#announce(pod);
      try {
        onAnswer(pod, await this.ask(pod, client));
      } catch (error) {
        if (!(error instanceof NodepoolError)) throw error;
        onAnswer(pod, error);
      }
    };
    await Promise.all(pods.filter(pod => this.dueInMs(pod) === 0).map(pod => limit(() => evict(pod))));
  }

  /**
   * Asks about the pods that are due and do not terminate, one after the other: evictions of one budget exclude each other on the server.
   * One that cannot be evicted does not stop the others; the first error is thrown at the end.
   * @param limitMs after so long, no further request is sent
   * @param goesOn asked before each request
   */
  async evictInTurn(
    pods: readonly DrainPod[],
    client: EvictionsClient,
    {
      limitMs,
      goesOn,
      onAnswer,
    }: { limitMs: number; goesOn: () => Promise<EvictionStop | 'goes on'>; onAnswer: OnAnswer },
  ): Promise<EvictionStop | 'goes on'> {
    const { clock, signal } = this.#options;
    // Budgets select by labels: of pods that are alike, the first is refused for all of them.
    const refused = new Map<string, RemovalResult>();
    let failure: NodepoolError | undefined;
    const begun = clock.now();
    let isLate = false;
    for (const pod of pods) {
      if (pod.deletionTimestamp !== undefined || this.dueInMs(pod) !== 0) continue;
      const kind = kindOf(pod);
      const alike = refused.get(kind);
      isLate ||= clock.now() - begun >= limitMs;
      // Those that are alike are blocked all the same.
      if (isLate && alike === undefined) continue;
      // An eviction that the server tries again takes seconds.
      const next = alike === undefined ? await goesOn() : 'goes on';
      if (next !== 'goes on') return next;
      if (signal?.aborted) return 'waits';
      if (alike === undefined) this.#announce(pod);
      try {
        const removal = alike === undefined ? await this.ask(pod, client) : this.#take(alike, pod);
        onAnswer(pod, removal);
        if (removal.kind === 'budget') refused.set(kind, removal);
      } catch (error) {
        if (!(error instanceof NodepoolError) || error.isGeneral) throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return isLate ? 'late' : 'goes on';
  }

  /** Asks about one pod, due or not. Throws NodepoolError where it can never be evicted. */
  async ask(pod: DrainPod, client: EvictionsClient): Promise<RemovalResult> {
    return this.#take(await client.evict(pod), pod);
  }

  #announce(pod: DrainPod): void {
    const { node, onEvent } = this.#options;
    if (!this.#askAt.has(pod.uid)) onEvent?.({ kind: 'asking', node, pod: podName(pod) });
  }

  #take(removal: RemovalResult, pod: DrainPod): RemovalResult {
    switch (removal.kind) {
      case 'accepted':
        this.#accepted(pod);
        break;
      case 'gone':
        // The next list shows it.
        break;
      case 'changed':
        // The next list shows whether the name is another pod's by now.
        this.#askAt.set(pod.uid, this.#options.clock.now());
        break;
      case 'budget': {
        const { budget, message } = removal;
        const name = budget === undefined ? 'a PodDisruptionBudget' : `PodDisruptionBudget ${pod.namespace}/${budget}`;
        this.block(pod, `${name}: ${message}`);
        break;
      }
      case 'busy':
        this.block(pod, `the server: ${removal.message}`, removal.afterMs);
        break;
      case 'namespace ends':
        if (pod.deletionTimestamp !== undefined && !this.#options.isDryRun) this.#accepted(pod);
        else this.block(pod, `the deletion of its namespace: ${removal.message}`);
        break;
      case 'many budgets':
        throw manyBudgetsError(pod, removal.budgets, this.#options.otherwise);
    }
    return removal;
  }

  #accepted(pod: DrainPod): void {
    this.evicted.set(pod.uid, podName(pod));
    this.blockedPods.delete(pod.uid);
  }

  /** The pod is asked about again after RETRY_MS. @param afterMs not sooner */
  block(pod: DrainPod, why: string, afterMs = 0): void {
    const { node, clock, onEvent } = this.#options;
    const now = clock.now();
    const before = this.blockedPods.get(pod.uid);
    const { since = now, isReported = false } = before ?? {};
    this.blockedPods.set(pod.uid, { pod: podName(pod), why, since, isReported });
    this.#askAt.set(pod.uid, now + Math.max(afterMs, RETRY_MS));
    if (before?.why !== why) onEvent?.({ kind: 'blocked', node, pod: podName(pod), why });
  }

  /** Forgets the pods that are not in the list, and tells which of those that it evicted are gone. */
  see(listed: readonly DrainPod[]): void {
    const { node, onEvent } = this.#options;
    const uids = new Set(listed.map(({ uid }) => uid));
    for (const [uid, pod] of this.evicted) if (!uids.has(uid)) onEvent?.({ kind: 'gone', node, pod });
    for (const uid of new Set([...this.evicted.keys(), ...this.#askAt.keys()])) if (!uids.has(uid)) this.forget(uid);
  }

  forget(uid: string): void {
    this.evicted.delete(uid);
    this.blockedPods.delete(uid);
    this.#askAt.delete(uid);
  }
}

/** @param otherwise what helps besides, as the end of a sentence */
export function manyBudgetsError(pod: DrainPod, budgets: readonly string[], otherwise = ''): NodepoolError {
  const names = budgets.length === 0 ? '' : `: ${budgets.join(', ')}`;
  return new NodepoolError(
    'cluster',
    `pod ${podName(pod)} has more than one PodDisruptionBudget, so the server cannot evict it${names}`,
    `keep only one of the PodDisruptionBudgets${otherwise}`,
  );
}

/** What the answer of a budget depends on. */
function kindOf({ namespace, labels, isReady }: DrainPod): string {
  return JSON.stringify([namespace, Object.entries(labels).toSorted(), isReady]);
}
