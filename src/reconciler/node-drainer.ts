/**
 * Evicts the pods of nodes that wait for a taint with the effect NoExecute (nodepool/no-execute.ts), a look at a time: lists the
 * pods of one node, evicts those that are left, and says whether none is. It remembers only when a node is looked at again, and
 * what was seen: a process that is killed at any point loses nothing, as the next one lists the pods again.
 *
 * Not guaranteed: that no pod comes between the last list and the taint. The twin keeps schedulers away, and a list counts only
 * if it was made SETTLE_MS after this process saw the twin; a scheduler with an older cache, or somebody who sets
 * spec.nodeName, can still bind a pod, which the taint then deletes. Nor that a pod ends: one that stays terminating is
 * waited for.
 */
import type { Clock } from '../controller/clock.ts';
import type { Limiter } from '../controller/limiter.ts';
import { type DrainPod, podName } from '../nodepool/drain-filters.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { podsLeft } from '../nodepool/no-execute.ts';
import { DrainEntries, type DrainingPlan, type Entry, pauseMs, RETRY_MS, withJitter } from './drain-entries.ts';
import { holdText, manyBudgetsError } from './eviction-hold.ts';
import { heldBack, NodeWriteError } from './node-write-error.ts';
import type { EvictionsClient, Removal } from './ports.ts';

export interface NodeDrainerDeps {
  cluster: { evictions(): Promise<EvictionsClient> };
  clock: Pick<Clock, 'now'>;
  /** Once aborted, no further pod is evicted. */
  signal?: AbortSignal;
  /** See Limiters. Default: no limit. */
  limitLooks?: Limiter;
  /** For people, in order. */
  onEviction?: (event: EvictionEvent) => void;
}

/** Of a pod, as `namespace/name`. `held`: why it is not evicted, once for each reason. */
export type EvictionEvent =
  | { kind: 'asking' | 'gone'; node: string; pod: string }
  | { kind: 'held'; node: string; pod: string; why: string };

/**
 * Why a look ends before all pods were evicted. `again`: the node is planned again. `waits`: its turn has passed, the pool is
 * another one by now, the process stops, or pods are left.
 */
type Stop = 'again' | 'waits';
/** `cleared`: no pod is left. */
export type Look = Stop | 'cleared';
/** `late`: see LIMIT_MS. */
type Late = 'late';
/** Whether the pods of the node are still to be evicted. */
export type GoesOn = () => Promise<Stop | 'goes on'>;

/** The reconcile of a pool waits for its looks. After that none is begun or goes on: the next reconcile goes on at once. */
const LIMIT_MS = 2_000;
/** A scheduler sees a new taint within some 100 ms. */
const SETTLE_MS = 2_000;

export class NodeDrainer {
  readonly #deps: NodeDrainerDeps;
  readonly entries: DrainEntries;

  constructor(deps: NodeDrainerDeps) {
    this.#deps = deps;
    this.entries = new DrainEntries(deps.clock);
  }

  /**
   * A look at the node, if one is due. Throws NodeWriteError where pods cannot be listed, or one of them can never be evicted;
   * until the next look, it throws that error again.
   * @param goesOn asked before the list and before each eviction
   */
  async look(plan: DrainingPlan, goesOn: GoesOn): Promise<Look> {
    const entry = this.entries.of(plan);
    const { clock, limitLooks = work => work() } = this.#deps;
    const ms = entry.lookAt - clock.now();
    if (ms > 0 && entry.error !== undefined) throw heldBack({ error: entry.error, ms });
    if (ms > 0) return 'waits';
    delete entry.error;
    try {
      const asked = clock.now();
      const isLate = () => clock.now() - asked >= LIMIT_MS;
      const look = await limitLooks(async () => (isLate() ? 'late' : this.#look(plan, entry, goesOn)));
      if (look === 'late') return 'waits';
      if (look === 'waits') entry.lookAt = clock.now() + withJitter(pauseMs(entry, clock.now()));
      return look;
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      const retryAfterMs = this.entries.fail(entry, error);
      throw new NodeWriteError(error, { retryAfterMs, isHeldBack: false });
    }
  }

  async #look(plan: DrainingPlan, entry: Entry, goesOn: GoesOn): Promise<Look | Late> {
    // It may have waited for the limiter.
    if (this.#deps.signal?.aborted) return 'waits';
    const before = await goesOn();
    if (before !== 'goes on') return before;
    const client = await this.#deps.cluster.evictions();
    for (let lists = 1; ; lists++) {
      const listedAt = this.#deps.clock.now();
      const listed = await client.podsOn(plan.node.name);
      this.#forgetGone(plan.node.name, entry, listed);
      const { pods, areLast } = podsLeft(listed, plan.drain.taints, plan.node.taints);
      entry.pods = pods.length;
      const isSettled = listedAt - entry.since >= SETTLE_MS;
      if (pods.length === 0) return isSettled ? 'cleared' : 'waits';
      if (areLast && !isSettled) return 'waits';
      // Of pods that come back, the first would be back.
      const limitMs = areLast ? Number.POSITIVE_INFINITY : LIMIT_MS;
      const evicted = await this.#evict(plan.node.name, entry, pods, { client, goesOn, limitMs });
      if (evicted !== 'goes on') return evicted;
      // Pods that come back are gone for a moment only: the next look would find others.
      if (!areLast || lists > 1 || entry.held.size > 0) return 'waits';
    }
  }

  /** One after the other: evictions of one budget exclude each other on the server. */
  async #evict(
    node: string,
    entry: Entry,
    pods: readonly DrainPod[],
    { client, goesOn, limitMs }: { client: EvictionsClient; goesOn: GoesOn; limitMs: number },
  ): Promise<Stop | Late | 'goes on'> {
    const { clock, signal, onEviction } = this.#deps;
    // Budgets select by labels: of pods that are alike, the first is refused for all of them.
    const refused = new Map<string, Removal>();
    let failure: NodepoolError | undefined;
    const begun = clock.now();
    let isLate = false;
    for (const pod of pods) {
      const { uid } = pod;
      const held = entry.held.get(uid);
      const isDue = held === undefined || held.askAt <= clock.now();
      if (pod.deletionTimestamp !== undefined || entry.evicted.has(uid) || !isDue) continue;
      const kind = kindOf(pod);
      const alike = refused.get(kind);
      isLate ||= clock.now() - begun >= limitMs;
      // Those that are alike are held back all the same.
      if (isLate && alike === undefined) continue;
      // An eviction that the server tries anew takes seconds.
      const next = alike === undefined ? await goesOn() : 'goes on';
      if (next !== 'goes on') return next;
      if (signal?.aborted) return 'waits';
      if (held === undefined && alike === undefined) onEviction?.({ kind: 'asking', node, pod: podName(pod) });
      try {
        const removal = alike ?? (await client.evict(pod, { gracePeriodSeconds: undefined, dryRun: false }));
        this.#take(removal, pod, node, entry);
        if (removal.kind === 'budget') refused.set(kind, removal);
      } catch (error) {
        if (!(error instanceof NodepoolError) || error.isGeneral) throw error;
        failure ??= error;
      }
    }
    if (failure !== undefined) throw failure;
    return isLate ? 'late' : 'goes on';
  }

  #take(removal: Removal, pod: DrainPod, node: string, entry: Entry): void {
    if (removal.kind === 'accepted') {
      entry.evicted.set(pod.uid, podName(pod));
      entry.held.delete(pod.uid);
    }
    if (removal.kind === 'many budgets') throw manyBudgetsError(pod, removal.budgets);
    // Whether it is gone, or another by now, is seen in the next list.
    if (removal.kind === 'accepted' || removal.kind === 'gone' || removal.kind === 'changed') return;
    const afterMs = removal.kind === 'busy' ? (removal.afterMs ?? 0) : 0;
    this.#hold(holdText(removal, pod), afterMs, pod, node, entry);
  }

  #hold(why: string, ms: number, pod: DrainPod, node: string, entry: Entry): void {
    const now = this.#deps.clock.now();
    const before = entry.held.get(pod.uid);
    const { since = now, isTold = false } = before ?? {};
    const askAt = now + withJitter(Math.max(ms, RETRY_MS));
    entry.held.set(pod.uid, { pod: podName(pod), why, since, askAt, isTold });
    if (before?.why !== why) this.#deps.onEviction?.({ kind: 'held', node, pod: podName(pod), why });
  }

  #forgetGone(node: string, entry: Entry, listed: readonly DrainPod[]): void {
    const uids = new Set(listed.map(({ uid }) => uid));
    for (const [uid, pod] of entry.evicted) {
      if (uids.has(uid)) continue;
      entry.evicted.delete(uid);
      this.#deps.onEviction?.({ kind: 'gone', node, pod });
    }
    for (const uid of entry.held.keys()) if (!uids.has(uid)) entry.held.delete(uid);
  }
}

/** What the answer of a budget depends on. */
function kindOf({ namespace, labels, isReady }: DrainPod): string {
  return JSON.stringify([namespace, Object.entries(labels).toSorted(), isReady]);
}
