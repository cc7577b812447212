/**
 * Counts repairs of the same label, taint or annotation of a node. After three within an hour something else keeps setting it
 * back, slower than the rate limit of writes notices (rate-limiters.ts). The status then has the condition Contested,
 * until an hour has passed without a repair.
 *
 * Kept for the MAX_NODES nodes of a pool that were repaired last, and MAX_KEYS keys of each: a node whose kubelet sets one label after
 * the other takes no place of others. Not guaranteed: that repairs before this process are counted. What they found
 * stays for an hour (`reconcile --watch`), or as the Events of the pool say (see EarlierRepairs).
 */
import type { NowClock } from '../../controller/clock.ts';
import { Lru } from '../../controller/lru.ts';
import type { ClusterPort } from '../../kube/cluster.ts';
import { ifRefused } from '../../nodepool/errors.ts';
import { type Change, fieldPath } from '../../nodepool/plan/change.ts';
import { ellipsize, firstFew, plural } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';

/** Repairs of a key on a node within WINDOW_MS after which it is contested. */
const CONTESTED_AFTER = 3;
export const WINDOW_MS = 60 * 60_000;
/** As in node-births.ts. */
const MAX_NODES = 10_000;
/** Of a node. The first ones count: of more keys that are set back in turn, each would push out the next. */
const MAX_KEYS = 20;
/** Keys that the message names, and bytes of a manager's name in it. */
const MAX_NAMED = 5;
const MAX_MANAGER = 128;
const NEXT = 'remove the key from the pool, or stop the other writer';

/** What is known of the last hour before this process, from a pool's Events. */
export interface EarlierRepairs {
  /** Whether anything was repaired at all. */
  hasAny: boolean;
  count(change: Change, node: string): number;
}

export interface ContestedKeysOptions {
  /** Monotonic. */
  clock: NowClock;
  /** Where the field managers of nodes are read. */
  cluster: ClusterPort;
  /** Of one shot: each is a process of its own. Asked once a pool, when it has a repair or was contested. Undefined: not known. */
  earlierRepairs?: (pool: NodePool) => Promise<EarlierRepairs | undefined>;
}

interface KeyRepairs {
  /** Of the last repairs, the oldest first. */
  times: number[];
  isContested: boolean;
}

interface RepairedNode {
  name: string;
  /** By what was repaired: `label tier`, `taint dedicated:NoSchedule`. */
  keys: Map<string, KeyRepairs>;
}

interface PoolRepairs {
  uid: string | undefined;
  /** When this process saw the pool first. */
  since: number;
  /** By the node's UID. */
  nodes: Lru<string, RepairedNode>;
  /** Who set what back; undefined where that is not known. */
  managers: Map<string, string | undefined>;
  /** Of the spec: what is repaired for another one is counted from zero. */
  generation: number | undefined;
  earlierRead?: Promise<void>;
  earlier?: EarlierRepairs | undefined;
}

export class ContestedKeys {
  readonly #options: ContestedKeysOptions;
  /** By the pool's name: who forgets it knows no more. */
  readonly #pools = new Map<string, PoolRepairs>();

  constructor(options: ContestedKeysOptions) {
    this.#options = options;
  }

  /** Called before a node is written: afterwards its managedFields no longer say who set the values. */
  async beforeRepair(pool: NodePool, node: { name: string; uid: string }, changes: readonly Change[]): Promise<void> {
    const repairs = changes.filter(isRepair);
    if (repairs.length === 0) return;
    const known = this.#repairsOf(pool);
    await this.#ask(pool, known);
    const keys = known.nodes.get(node.uid)?.keys;
    for (const change of repairs) {
      const what = whatOf(change);
      const before = known.earlier?.count(change, node.name) ?? 0;
      const count = before + this.#recentTimes(keys?.get(what)).length;
      if (count < CONTESTED_AFTER - 1 || known.managers.has(what)) continue;
      known.managers.set(what, undefined);
      // Whoever removed a value left no trace.
      if (change.from !== undefined)
        known.managers.set(what, await managerOf(node.name, change, this.#options.cluster));
    }
  }

  /** The server accepted the write that beforeRepair() was called for. */
  repaired(pool: NodePool, { name, uid }: { name: string; uid: string }, changes: readonly Change[]): void {
    const repairs = changes.filter(isRepair);
    if (repairs.length === 0) return;
    const known = this.#repairsOf(pool);
    const keys = known.nodes.get(uid)?.keys ?? new Map<string, KeyRepairs>();
    known.nodes.set(uid, { name, keys });
    for (const change of repairs) this.#count(pool, known, name, keys, change);
  }

  #count(pool: NodePool, known: PoolRepairs, node: string, keys: RepairedNode['keys'], change: Change): void {
    const now = this.#options.clock.now();
    const what = whatOf(change);
    const last = keys.get(what);
    if (last === undefined && keys.size >= MAX_KEYS) this.#forgetOldKeys(keys);
    if (last === undefined && keys.size >= MAX_KEYS) return;
    const before = last === undefined ? (known.earlier?.count(change, node) ?? 0) : 0;
    const earlier = Array<number>(Math.min(before, CONTESTED_AFTER)).fill(now);
    const times = [...earlier, ...this.#recentTimes(last), now].slice(-CONTESTED_AFTER);
    const wasContested = last?.isContested ?? (before > 0 && conditionOf(pool)?.message.includes(`${what} on `));
    keys.set(what, { times, isContested: wasContested || times.length >= CONTESTED_AFTER });
  }

  /** The message of the condition; undefined where nothing is contested. */
  async textOf(pool: NodePool, isMember: (node: string) => boolean): Promise<string | undefined> {
    const before = conditionOf(pool);
    if (before === undefined && this.#known(pool) === undefined) return undefined;
    const known = this.#repairsOf(pool);
    this.#forgetOld(known);
    const contested = known.nodes
      .entries()
      .filter(([, { name }]) => isMember(name))
      .flatMap(([, { name, keys }]) =>
        [...keys].filter(([, { isContested }]) => isContested).map(([what]) => ({ what, name })),
      );
    const groups = [...Map.groupBy(contested, ({ what }) => what)].toSorted(([a], [b]) => (a < b ? -1 : 1));
    if (groups.length > 0) {
      const texts = groups.map(([what, nodes]) => {
        // One that was replaced has its name still.
        const count = new Set(nodes.map(({ name }) => name)).size;
        return `${what} on ${plural(count, 'node')} (${managerText(known.managers.get(what))})`;
      });
      return `others keep changing values of the pool, at least ${CONTESTED_AFTER} times within an hour: ${firstFew(texts, MAX_NAMED)}; next: ${NEXT}`;
    }
    if (before === undefined) return undefined;
    await this.#ask(pool, known);
    // Who may not list Events leaves a condition as it is, unless it is a watch, which learns it by itself.
    const isOver =
      this.#options.earlierRepairs === undefined ? this.#age(known) >= WINDOW_MS : known.earlier?.hasAny === false;
    return isOver ? undefined : before.message;
  }

  /** Milliseconds until the condition of the pool may end. */
  endsAfterMs(pool: NodePool): number | undefined {
    const known = this.#known(pool);
    if (known === undefined) return undefined;
    const contested = [...known.nodes.entries()].flatMap(([, { keys }]) =>
      [...keys.values()].filter(({ isContested }) => isContested),
    );
    if (contested.length === 0) return conditionOf(pool) && Math.max(0, WINDOW_MS - this.#age(known));
    const last = contested.reduce((latest, { times }) => Math.max(latest, times.at(-1) ?? 0), 0);
    return Math.max(0, last + WINDOW_MS - this.#options.clock.now());
  }

  forget(pool: string): void {
    this.#pools.delete(pool);
  }

  /** Of another pool of that name, nothing counts. */
  #known({ metadata: { name, uid } }: NodePool): PoolRepairs | undefined {
    const known = this.#pools.get(name);
    return known?.uid === uid ? known : undefined;
  }

  #repairsOf(pool: NodePool): PoolRepairs {
    const { name, uid, generation } = pool.metadata;
    const known = this.#known(pool);
    if (known !== undefined && known.generation === generation) return known;
    const since = known?.since ?? this.#options.clock.now();
    const begun = { uid, since, generation, nodes: new Lru<string, RepairedNode>(MAX_NODES), managers: new Map() };
    this.#pools.set(name, begun);
    return begun;
  }

  #age({ since }: PoolRepairs): number {
    return this.#options.clock.now() - since;
  }

  async #ask(pool: NodePool, known: PoolRepairs): Promise<void> {
    const { earlierRepairs } = this.#options;
    if (earlierRepairs === undefined) return;
    known.earlierRead ??= earlierRepairs(pool).then(found => {
      known.earlier = found;
    });
    await known.earlierRead;
  }

  /** Within the last hour. */
  #recentTimes(repaired: KeyRepairs | undefined): number[] {
    const from = this.#options.clock.now() - WINDOW_MS;
    return repaired?.times.filter(at => at > from) ?? [];
  }

  #forgetOldKeys(keys: RepairedNode['keys']): void {
    for (const [what, repaired] of keys) if (this.#recentTimes(repaired).length === 0) keys.delete(what);
  }

  #forgetOld({ nodes, managers }: PoolRepairs): void {
    const left = new Set<string>();
    for (const [uid, { keys }] of nodes.entries()) {
      this.#forgetOldKeys(keys);
      if (keys.size === 0) nodes.delete(uid);
      for (const what of keys.keys()) left.add(what);
    }
    for (const what of managers.keys()) if (!left.has(what)) managers.delete(what);
  }
}

/** What others had changed. */
export function isRepair({ reason }: Change): boolean {
  return reason === 'drift' || reason === 'unmanaged';
}

/** As Events name it: see events.ts. */
export function whatOf({ kind, key, effect }: Change): string {
  return `${kind} ${key}${effect === undefined ? '' : `:${effect}`}`;
}

/** Undefined also where the node cannot be read: the name is optional in messages. */
export function managerOf(node: string, change: Change, { nodes }: ClusterPort): Promise<string | undefined> {
  return nodes.fieldManager(node, fieldPath(change)).catch(ifRefused(undefined));
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
