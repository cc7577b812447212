/**
 * Evicts pods of one node, for `drain` and for pools with `noExecute: Drain`: requests due evictions, waits if a
 * PodDisruptionBudget or the server refuses, and reports each reason once. The callers select the pods, list them, and
 * decide when the node is done.
 */
import type { NowClock } from '../../controller/clock.ts';
import type { Limiter } from '../../controller/limiter.ts';
import type { EvictionsClient, RemovalResult } from '../../kube/cluster.ts';
import { type DrainPod, podName } from '../../nodepool/drain/drain-filters.ts';
import { NodepoolError } from '../../nodepool/errors.ts';

/** About a pod, as `namespace/name`. `blocked`: why it is not evicted, once for each reason. */
export type EvictionEvent =
  | { kind: 'asking' | 'gone'; node: string; pod: string }
  | { kind: 'blocked'; node: string; pod: string; why: string };

export interface EvictorOptions {
  /** The node whose pods are evicted. */
  node: string;
  /** Monotonic. */
  clock: NowClock;
  /** Once aborted, no further pod is evicted. */
  signal?: AbortSignal | undefined;
  /** The server validates every eviction and keeps the pods. */
  isDryRun?: boolean;
  /** An additional remedy if a pod has several budgets, as the end of a sentence. */
  otherwise?: string;
  /** Events for display, in order. */
  onEvent?: ((event: EvictionEvent) => void) | undefined;
}

/** A pod that is not evicted yet. */
export interface BlockedPod {
  /** As `namespace/name`. */
  pod: string;
  /** The cause, such as `PodDisruptionBudget ns/web: needs 2 healthy pods and has 2 currently`. */
  why: string;
  /** Time of the first refusal. */
  since: number;
  /** Whether an Event reports it. */
  isReported: boolean;
}

/**
 * Why evictions end before all pods were tried. `again`: plan the node again. `waits`: the slot is lost, the pool was
 * replaced, the process stops, or pods are left. `late`: the time limit is over.
 */
export type EvictionStop = 'again' | 'waits' | 'late';

type OnAnswer = (pod: DrainPod, removal: RemovalResult) => void;

/** Delay between two evictions of a blocked pod, as in kubectl drain. */
export const RETRY_MS = 5_000;

export class Evictor {
  /** By pod UID. */
  readonly blockedPods = new Map<string, BlockedPod>();
  /** Names of the pods whose eviction was accepted, by UID: they are terminating. */
  readonly evicted = new Map<string, string>();
  readonly #options: EvictorOptions;
  /** Time of the next eviction request for each pod that was tried, by UID. */
  readonly #askAt = new Map<string, number>();

  constructor(options: EvictorOptions) {
    this.#options = options;
  }

  /** Milliseconds until the next request, after a new list of pods; undefined once the eviction was accepted. */
  dueInMs({ uid }: DrainPod): number | undefined {
    return this.evicted.has(uid) ? undefined : this.#askInMs(uid);
  }

  /** Milliseconds until the next request for a blocked pod. */
  blockedMs(): number {
    return Math.min(...[...this.blockedPods.keys()].map(uid => this.#askInMs(uid)));
  }

  #askInMs(uid: string): number {
    const now = this.#options.clock.now();
    return Math.max(0, (this.#askAt.get(uid) ?? now) - now);
  }

  /** Requests all due evictions, in parallel within the limiter. @param onAnswer also gets errors */
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
   * Requests due evictions one by one, because the server serializes evictions of one budget. Skips terminating pods. A
   * failure does not stop the others; the first error is thrown at the end.
   * @param limitMs after this time, no further request is sent
   * @param goesOn called before each request
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
    // Budgets select by labels: after one refusal, similar pods count as refused as well.
    const refused = new Map<string, RemovalResult>();
    let failure: NodepoolError | undefined;
    const begun = clock.now();
    let isLate = false;
    for (const pod of pods) {
      if (pod.deletionTimestamp !== undefined || this.dueInMs(pod) !== 0) continue;
      const kind = kindOf(pod);
      const alike = refused.get(kind);
      isLate ||= clock.now() - begun >= limitMs;
      // Similar pods are still marked as blocked, without a request.
      if (isLate && alike === undefined) continue;
      // An eviction that the server retries internally takes seconds.
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

  /** Requests one eviction, due or not. Throws NodepoolError if the pod can never be evicted. */
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
        // The next list shows that it is gone.
        break;
      case 'changed':
        // The next list shows whether another pod has the name now.
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

  /** The next request for the pod is sent after RETRY_MS. @param afterMs minimum delay */
  block(pod: DrainPod, why: string, afterMs = 0): void {
    const { node, clock, onEvent } = this.#options;
    const now = clock.now();
    const before = this.blockedPods.get(pod.uid);
    const { since = now, isReported = false } = before ?? {};
    this.blockedPods.set(pod.uid, { pod: podName(pod), why, since, isReported });
    this.#askAt.set(pod.uid, now + Math.max(afterMs, RETRY_MS));
    if (before?.why !== why) onEvent?.({ kind: 'blocked', node, pod: podName(pod), why });
  }

  /** Forgets pods that are not in the list, and reports which evicted pods are gone. */
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

/** @param otherwise an additional remedy, as the end of a sentence */
export function manyBudgetsError(pod: DrainPod, budgets: readonly string[], otherwise = ''): NodepoolError {
  const names = budgets.length === 0 ? '' : `: ${budgets.join(', ')}`;
  return new NodepoolError(
    'cluster',
    `pod ${podName(pod)} has more than one PodDisruptionBudget, so the server cannot evict it${names}`,
    `keep only one of the PodDisruptionBudgets${otherwise}`,
  );
}

/** The properties that determine a budget's answer. */
function kindOf({ namespace, labels, isReady }: DrainPod): string {
  return JSON.stringify([namespace, Object.entries(labels).toSorted(), isReady]);
}
