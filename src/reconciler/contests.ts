/**
 * Counts repairs of the same label, taint or annotation of a node. After three within an hour something else keeps setting it
 * back, slower than the rate limit of writes notices (write-rate-limiter.ts). The status then has the condition Contested,
 * until an hour has passed without a repair.
 *
 * Kept for at most MAX_REPAIRED keys of nodes. Not guaranteed: that repairs before this process are counted. What they found
 * stays for an hour (`reconcile --watch`), or as the Events of the pool say (see EarlierRepairs).
 */
import type { Clock } from '../controller/clock.ts';
import { type Change, fieldPath } from '../nodepool/change.ts';
import { ellipsize } from '../nodepool/cut-bytes.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { firstFew, plural } from '../nodepool/plural.ts';
import type { NodePool } from '../nodepool/types.ts';
import type { NodesClient } from './ports.ts';

/** Repairs of a key on a node within WINDOW_MS after which it is contested. */
const MOST = 3;
const WINDOW_MS = 60 * 60_000;
/** Keys of nodes that are counted. */
const MAX_REPAIRED = 20_000;
/** Keys that the message names, and bytes of a manager's name in it. */
const MAX_NAMED = 5;
const MAX_MANAGER = 128;
const NEXT = 'take it out of the pool, or out of what sets it';

/** What is known of the last hour before this process, from a pool's Events. */
export interface EarlierRepairs {
  /** Whether anything was repaired at all. */
  hasAny: boolean;
  count(change: Change, node: string): number;
}

export interface ContestsDeps {
  clock: Pick<Clock, 'now'>;
  nodes: Pick<NodesClient, 'fieldManager'>;
  /** Of one shot: each is a process of its own. Asked once a pool, when it has a repair or was contested. Undefined: not known. */
  earlierRepairs?: (pool: NodePool) => Promise<EarlierRepairs | undefined>;
}

interface Repaired {
  node: string;
  /** `label tier`, `taint dedicated:NoSchedule`. */
  what: string;
  /** Of the last repairs, the oldest first. */
  times: number[];
  isContested: boolean;
}

interface PoolRepairs {
  /** When this process saw the pool first. */
  since: number;
  /** By the node's UID and what was repaired. */
  repaired: Map<string, Repaired>;
  /** Who set what back; undefined where that is not known. */
  managers: Map<string, string | undefined>;
  /** Of the spec: what is repaired for another one counts anew. */
  generation: number | undefined;
  asked?: Promise<void>;
  earlier?: EarlierRepairs | undefined;
}

export class Contests {
  readonly #deps: ContestsDeps;
  /** By the pool's UID. */
  readonly #pools = new Map<string, PoolRepairs>();
  #size = 0;

  constructor(deps: ContestsDeps) {
    this.#deps = deps;
  }

  /** Called before a node is written: afterwards its managedFields no longer say who set the values. */
  async beforeRepair(pool: NodePool, node: { name: string; uid: string }, changes: readonly Change[]): Promise<void> {
    const repairs = changes.filter(isRepair);
    if (repairs.length === 0) return;
    const of = this.#of(pool);
    await this.#ask(pool, of);
    for (const change of repairs) {
      const what = whatOf(change);
      const before = of.earlier?.count(change, node.name) ?? 0;
      const count = before + this.#times(of.repaired.get(keyOf(node.uid, what))).length;
      if (count < MOST - 1 || of.managers.has(what)) continue;
      of.managers.set(what, undefined);
      // Whoever removed a value left no trace.
      if (change.from !== undefined) of.managers.set(what, await this.#managerOf(node.name, change));
    }
  }

  /** The server accepted the write that beforeRepair() was called for. */
  repaired(pool: NodePool, node: { name: string; uid: string }, changes: readonly Change[]): void {
    const repairs = changes.filter(isRepair);
    if (repairs.length === 0) return;
    const of = this.#of(pool);
    const now = this.#deps.clock.now();
    for (const change of repairs) {
      const what = whatOf(change);
      const key = keyOf(node.uid, what);
      const known = of.repaired.get(key);
      if (known === undefined && this.#size >= MAX_REPAIRED) continue;
      if (known === undefined) this.#size++;
      const before = known === undefined ? (of.earlier?.count(change, node.name) ?? 0) : 0;
      const times = [...Array<number>(Math.min(before, MOST)).fill(now), ...this.#times(known), now].slice(-MOST);
      const wasContested = known?.isContested ?? (before > 0 && conditionOf(pool)?.message.includes(`${what} on `));
      of.repaired.set(key, { node: node.name, what, times, isContested: wasContested || times.length >= MOST });
    }
  }

  /** The message of the condition; undefined where nothing is contested. */
  async textOf(pool: NodePool, isMember: (node: string) => boolean): Promise<string | undefined> {
    const before = conditionOf(pool);
    if (before === undefined && !this.#pools.has(uidOf(pool))) return undefined;
    const of = this.#of(pool);
    this.#forgetOld(of);
    const contested = [...of.repaired.values()].filter(({ node, isContested }) => isContested && isMember(node));
    if (contested.length > 0) {
      const groups = [...Map.groupBy(contested, ({ what }) => what)].toSorted(([a], [b]) => (a < b ? -1 : 1));
      const texts = groups.map(
        ([what, nodes]) => `${what} on ${plural(nodes.length, 'node')} (${managerText(of.managers.get(what))})`,
      );
      return `others keep changing what the pool sets, at least ${MOST} times within an hour: ${firstFew(texts, MAX_NAMED)}; next: ${NEXT}`;
    }
    if (before === undefined) return undefined;
    await this.#ask(pool, of);
    // Who may not list Events leaves a condition as it is, unless it is a watch, which learns it by itself.
    const isOver = this.#deps.earlierRepairs === undefined ? this.#age(of) >= WINDOW_MS : of.earlier?.hasAny === false;
    return isOver ? undefined : before.message;
  }

  /** Milliseconds until the condition of the pool may end. */
  endsAfterMs(pool: NodePool): number | undefined {
    const of = this.#pools.get(uidOf(pool));
    if (of === undefined) return undefined;
    const contested = [...of.repaired.values()].filter(({ isContested }) => isContested);
    if (contested.length === 0) return conditionOf(pool) && Math.max(0, WINDOW_MS - this.#age(of));
    const last = Math.max(...contested.map(({ times }) => times.at(-1) ?? 0));
    return Math.max(0, last + WINDOW_MS - this.#deps.clock.now());
  }

  /** The pool is gone. */
  forget(uid: string): void {
    this.#size -= this.#pools.get(uid)?.repaired.size ?? 0;
    this.#pools.delete(uid);
  }

  #of(pool: NodePool): PoolRepairs {
    const uid = uidOf(pool);
    const { generation } = pool.metadata;
    const known = this.#pools.get(uid);
    if (known?.generation === generation && known !== undefined) return known;
    this.forget(uid);
    const since = known?.since ?? this.#deps.clock.now();
    const begun = { since, generation, repaired: new Map(), managers: new Map() };
    this.#pools.set(uid, begun);
    return begun;
  }

  #age({ since }: PoolRepairs): number {
    return this.#deps.clock.now() - since;
  }

  async #ask(pool: NodePool, of: PoolRepairs): Promise<void> {
    const { earlierRepairs } = this.#deps;
    if (earlierRepairs === undefined) return;
    of.asked ??= earlierRepairs(pool).then(found => {
      of.earlier = found;
    });
    await of.asked;
  }

  /** Within the last hour. */
  #times(repaired: Repaired | undefined): number[] {
    const from = this.#deps.clock.now() - WINDOW_MS;
    return repaired?.times.filter(at => at > from) ?? [];
  }

  #forgetOld(of: PoolRepairs): void {
    for (const [key, repaired] of of.repaired) {
      if (this.#times(repaired).length > 0) continue;
      of.repaired.delete(key);
      this.#size--;
    }
    const left = new Set([...of.repaired.values()].map(({ what }) => what));
    for (const what of of.managers.keys()) if (!left.has(what)) of.managers.delete(what);
  }

  async #managerOf(node: string, change: Change): Promise<string | undefined> {
    try {
      return await this.#deps.nodes.fieldManager(node, fieldPath(change));
    } catch (error) {
      // The name is optional in the message.
      if (error instanceof NodepoolError) return undefined;
      throw error;
    }
  }
}

/** What others had changed. */
export function isRepair({ reason }: Change): boolean {
  return reason === 'drift' || reason === 'unmanaged';
}

/** As Events name it: see events.ts. */
export function whatOf({ kind, key, effect }: Pick<Change, 'kind' | 'key' | 'effect'>): string {
  return `${kind} ${key}${effect === undefined ? '' : `:${effect}`}`;
}

function managerText(manager = 'unknown'): string {
  return `field manager ${ellipsize(manager, MAX_MANAGER)}`;
}

/** Of the spec as it is now. */
function conditionOf({ metadata, status }: NodePool) {
  const isOfSpec = (observed: number | undefined) => observed === metadata.generation;
  return status?.conditions?.find(
    ({ type, status: value, observedGeneration }) =>
      type === 'Contested' && value === 'True' && isOfSpec(observedGeneration),
  );
}

function keyOf(uid: string, what: string): string {
  return `${uid} ${what}`;
}

function uidOf({ metadata: { name, uid = name } }: NodePool): string {
  return uid;
}
