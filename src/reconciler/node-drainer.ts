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
import { type DrainPod, podName } from '../nodepool/drain-filters.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { podsLeft } from '../nodepool/no-execute.ts';
import type { NodePlan, PlannedDrain } from '../nodepool/plan.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import { holdText, manyBudgetsError } from './eviction-hold.ts';
import { heldBack, NodeWriteError } from './node-write-error.ts';
import type { EvictionsClient, Removal } from './ports.ts';

export interface NodeDrainerDeps {
  cluster: { evictions(): Promise<EvictionsClient> };
  clock: Pick<Clock, 'now'>;
  /** Once aborted, no further pod is evicted. */
  signal?: AbortSignal;
  /** For people, in order. */
  onEviction?: (event: EvictionEvent) => void;
}

/** Of a pod, as `namespace/name`. `held`: why it is not evicted, once for each reason. */
export type EvictionEvent =
  | { kind: 'asking' | 'gone'; node: string; pod: string }
  | { kind: 'held'; node: string; pod: string; why: string };

/** A node with a drain. */
export type DrainingPlan = NodePlan & { drain: PlannedDrain };

/**
 * Why a look ends before all pods were evicted. `again`: the node is planned again. `waits`: its turn has passed, the pool is
 * another one by now, or pods are left.
 */
type Stop = 'again' | 'waits';
/** `cleared`: no pod is left. */
export type Look = Stop | 'cleared';
/** Whether the pods of the node are still to be evicted. */
export type GoesOn = () => Promise<Stop | 'goes on'>;

export interface DrainState {
  /** Names, sorted. */
  nodes: string[];
  /** Pods that were left when they were looked at last. */
  pods: number;
  /** Of the first of them that a budget or the server holds back, as a sentence. */
  blocked: string | undefined;
  /** Milliseconds until the first of them is looked at again; undefined where none is. */
  afterMs: number | undefined;
}

/** A scheduler sees a new taint within some 100 ms. */
const SETTLE_MS = 2_000;
/** Between two looks while pods terminate. */
const LOOK_MS = 2_000;
/** Between two evictions of a pod that is held back, as kubectl drain. */
const RETRY_MS = 5_000;
/** After an error that only somebody else can mend. */
const PERMANENT_MS = 30_000;
const KEPT_MS = 10 * 60_000;
/** A pod that is held back for so long is worth an Event. */
const STUCK_MS = 30_000;

interface Held {
  pod: string;
  why: string;
  /** When it was refused first, and when it is evicted again. */
  since: number;
  askAt: number;
  isTold: boolean;
}

interface Entry {
  uid: string;
  taints: string;
  /** When the twin was seen first. */
  since: number;
  lookAt: number;
  /** Pods that were left at the last look. */
  pods: number;
  /** Names of pods whose eviction was accepted, by UID. */
  evicted: Map<string, string>;
  /** By UID. */
  held: Map<string, Held>;
  /** Of the last look, or of the write after it. */
  error?: NodepoolError;
}

export class NodeDrainer {
  readonly #deps: NodeDrainerDeps;
  /** By name of the node. */
  readonly #entries = new Map<string, Entry>();

  constructor(deps: NodeDrainerDeps) {
    this.#deps = deps;
  }

  /**
   * A look at the node, if one is due. Throws NodeWriteError where pods cannot be listed, or one of them can never be evicted;
   * until the next look, it throws that error again.
   * @param goesOn asked before the list and before each eviction
   */
  async look(plan: DrainingPlan, goesOn: GoesOn): Promise<Look> {
    const entry = this.#entryOf(plan);
    const { clock } = this.#deps;
    const ms = entry.lookAt - clock.now();
    if (ms > 0 && entry.error !== undefined) throw heldBack({ error: entry.error, ms });
    if (ms > 0) return 'waits';
    delete entry.error;
    try {
      const look = await this.#look(plan, entry, goesOn);
      if (look === 'waits') entry.lookAt = clock.now() + withJitter(pauseMs(entry, clock.now()));
      return look;
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      const retryAfterMs = this.#failed(entry, error);
      throw new NodeWriteError(error, { retryAfterMs, isHeldBack: false });
    }
  }

  /** No pod was left, and the taints could not be written: until the next look, look() throws the error. */
  failed(node: string, error: NodepoolError): void {
    const entry = this.#entries.get(node);
    if (entry !== undefined && entry.lookAt <= this.#deps.clock.now()) this.#failed(entry, error);
  }

  /** Milliseconds until the next look. */
  #failed(entry: Entry, error: NodepoolError): number {
    const known = error instanceof NodeWriteError ? error.retryAfterMs : undefined;
    const ms = Math.max(known ?? 0, error.isPermanent ? PERMANENT_MS : RETRY_MS);
    Object.assign(entry, { error, lookAt: this.#deps.clock.now() + ms });
    return ms;
  }

  async #look(plan: DrainingPlan, entry: Entry, goesOn: GoesOn): Promise<Look> {
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
      const evicted = await this.#evict(plan.node.name, entry, pods, { client, goesOn });
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
    { client, goesOn }: { client: EvictionsClient; goesOn: GoesOn },
  ): Promise<Stop | 'goes on'> {
    const { clock, signal, onEviction } = this.#deps;
    // Budgets select by labels: of pods that are alike, the first is refused for all of them.
    const refused = new Map<string, Removal>();
    let failure: NodepoolError | undefined;
    for (const pod of pods) {
      const { uid } = pod;
      const held = entry.held.get(uid);
      const isDue = held === undefined || held.askAt <= clock.now();
      if (pod.deletionTimestamp !== undefined || entry.evicted.has(uid) || !isDue) continue;
      const kind = kindOf(pod);
      const alike = refused.get(kind);
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
    return 'goes on';
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

  /** Of nodes with a drain. @param nodes their names, sorted */
  stateOf(nodes: readonly string[]): DrainState {
    const now = this.#deps.clock.now();
    const known = nodes.flatMap(node => {
      const entry = this.#entries.get(node);
      return entry === undefined || entry.error !== undefined ? [] : [{ node, ...entry }];
    });
    const [first] = known.flatMap(({ node, held }) => sentences(node, [...held.values()]));
    return {
      nodes: [...nodes],
      pods: known.reduce((sum, { pods }) => sum + pods, 0),
      blocked: first,
      afterMs: known.length === 0 ? undefined : Math.max(0, Math.min(...known.map(({ lookAt }) => lookAt)) - now),
    };
  }

  /** Sentences about pods of these nodes that are held back for long, each once. */
  takeStuck(nodes: readonly string[]): string[] {
    const now = this.#deps.clock.now();
    return nodes.flatMap(node => {
      const stuck = [...(this.#entries.get(node)?.held.values() ?? [])].filter(
        ({ since, isTold }) => !isTold && now - since >= STUCK_MS,
      );
      for (const held of stuck) held.isTold = true;
      return sentences(node, stuck);
    });
  }

  /** The node waits for no taint any more. */
  forget(node: string): void {
    this.#entries.delete(node);
  }

  #entryOf({ node: { name, uid }, drain }: DrainingPlan): Entry {
    const taints = drain.taints.map(formatTaint).join();
    const known = this.#entries.get(name);
    if (known?.uid === uid && known.taints === taints) return known;
    const now = this.#deps.clock.now();
    // Of nodes that were deleted meanwhile.
    for (const [node, { lookAt }] of this.#entries) if (now - lookAt > KEPT_MS) this.#entries.delete(node);
    const entry = { uid, taints, since: now, lookAt: now, pods: 0, evicted: new Map(), held: new Map() };
    this.#entries.set(name, entry);
    return entry;
  }
}

/** What the answer of a budget depends on. */
function kindOf({ namespace, labels, isReady }: DrainPod): string {
  return JSON.stringify([namespace, Object.entries(labels).toSorted(), isReady]);
}

/** Milliseconds until the next look. */
function pauseMs({ pods, evicted, held }: Entry, now: number): number {
  if (evicted.size > 0 || held.size < pods || held.size === 0) return LOOK_MS;
  return Math.max(LOOK_MS, Math.min(...[...held.values()].map(({ askAt }) => askAt)) - now);
}

/** Up to a quarter more, so that the nodes of a pool do not stay in step. */
function withJitter(ms: number): number {
  return ms * (1 + Math.random() / 4);
}

function sentences(node: string, held: readonly Held[]): string[] {
  return held
    .toSorted((a, b) => (a.pod < b.pod ? -1 : 1))
    .map(({ pod, why }) => `pod ${pod} on node ${node} waits for ${why}`);
}
