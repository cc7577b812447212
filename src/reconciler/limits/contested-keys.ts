/**
 * Counts repairs of the same label, taint or annotation of a node. After three within an hour, something else keeps
 * changing it back, too slowly for the rate limit of writes to detect (rate-limiters.ts). The status then has the
 * condition Contested, until an hour has passed without a repair.
 *
 * Covers the last MAX_NODES repaired nodes of a pool, and MAX_KEYS keys of each: a node whose kubelet sets one label
 * after the other does not displace other nodes. Not guaranteed: counts of repairs before this process. Conditions from
 * that time stay for an hour (`reconcile --watch`), or as the Events of the pool say (see EarlierRepairs).
 */
import type { NowClock } from '../../controller/clock.ts';
import { Lru } from '../../controller/lru.ts';
import type { ClusterPort } from '../../kube/cluster.ts';
import { ifRefused } from '../../nodepool/errors.ts';
import { type Change, fieldPath } from '../../nodepool/plan/change.ts';
import { ellipsize, firstFew, plural } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';

/** A key is contested after this number of repairs on a node within WINDOW_MS. */
const CONTESTED_AFTER = 3;
export const WINDOW_MS = 60 * 60_000;
/** As in node-births.ts. */
const MAX_NODES = 10_000;
/** Maximum for each node. The first keys count: otherwise keys that are changed in turn would displace each other. */
const MAX_KEYS = 20;
/** Maximum number of keys in the message, and bytes of a manager's name in it. */
const MAX_NAMED = 5;
const MAX_MANAGER = 128;
const NEXT = 'remove the key from the pool, or stop the other writer';

/** Repairs of the last hour before this process, from a pool's Events. */
export interface EarlierRepairs {
  /** Whether there was any repair. */
  hasAny: boolean;
  count(change: Change, node: string): number;
}

export interface ContestedKeysOptions {
  /** Monotonic. */
  clock: NowClock;
  /** For reading the field managers of nodes. */
  cluster: ClusterPort;
  /** For one-shot runs, each its own process. Called once per pool, if repaired or contested. Undefined: unknown. */
  earlierRepairs?: (pool: NodePool) => Promise<EarlierRepairs | undefined>;
}

interface KeyRepairs {
  /** Times of the last repairs, oldest first. */
  times: number[];
  isContested: boolean;
}

interface RepairedNode {
  name: string;
  /** By the repaired key: `label tier`, `taint dedicated:NoSchedule`. */
  keys: Map<string, KeyRepairs>;
}

interface PoolRepairs {
  uid: string | undefined;
  /** When this process first saw the pool. */
  since: number;
  /** By the node's UID. */
  nodes: Lru<string, RepairedNode>;
  /** Who changed what back; undefined if unknown. */
  managers: Map<string, string | undefined>;
  /** Generation of the spec: repairs for another one count from zero. */
  generation: number | undefined;
  earlierRead?: Promise<void>;
  earlier?: EarlierRepairs | undefined;
}

export class ContestedKeys {
  readonly #options: ContestedKeysOptions;
  /** By pool name. */
  readonly #pools = new Map<string, PoolRepairs>();

  constructor(options: ContestedKeysOptions) {
    this.#options = options;
  }

  /** Call this before a node is written: afterwards its managedFields no longer say who set the values. */
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
      // A removed value has no field manager.
      if (change.from !== undefined)
        known.managers.set(what, await managerOf(node.name, change, this.#options.cluster));
    }
  }

  /** Call this after the server accepted the write for which beforeRepair() was called. */
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

  /** The message of the condition; undefined if nothing is contested. */
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
        // A recreated node has the same name.
        const count = new Set(nodes.map(({ name }) => name)).size;
        return `${what} on ${plural(count, 'node')} (${managerText(known.managers.get(what))})`;
      });
      return `others keep changing values of the pool, at least ${CONTESTED_AFTER} times within an hour: ${firstFew(texts, MAX_NAMED)}; next: ${NEXT}`;
    }
    if (before === undefined) return undefined;
    await this.#ask(pool, known);
    // Without permission to list Events, the condition stays. A watch finds out by itself.
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

  /** Ignores an earlier pool of that name. */
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

/** Whether the change repairs what others had changed. */
export function isRepair({ reason }: Change): boolean {
  return reason === 'drift' || reason === 'unmanaged';
}

/** As in Events: see events.ts. */
export function whatOf({ kind, key, effect }: Change): string {
  return `${kind} ${key}${effect === undefined ? '' : `:${effect}`}`;
}

/** Also undefined if the node cannot be read, because the name is optional in messages. */
export function managerOf(node: string, change: Change, { nodes }: ClusterPort): Promise<string | undefined> {
  return nodes.fieldManager(node, fieldPath(change)).catch(ifRefused(undefined));
}

function managerText(manager = 'unknown'): string {
  return `field manager ${ellipsize(manager, MAX_MANAGER)}`;
}

/** The condition for the current spec. */
function conditionOf({ metadata, status }: NodePool) {
  const isOfSpec = (observed: number | undefined) => observed === metadata.generation;
  return status?.conditions?.find(
    ({ type, status: value, observedGeneration }) =>
      type === 'Contested' && value === 'True' && isOfSpec(observedGeneration),
  );
}
