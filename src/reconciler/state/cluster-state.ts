/**
 * The input of the reconciler: pools, nodes and RuntimeClasses as last seen, and which nodes affect which pool.
 *
 * Objects come from caches and from the responses to our own requests, in any order:
 * - An object never goes back to an older resourceVersion, and a name never goes back to an earlier object.
 * - A deleted object does not come back, unless a read that started after the deletion still finds it; a late "not
 *   found" removes only the object that was read.
 * - The observer is called with every affected pool, whether a cache or a response brought the change.
 *
 * Not guaranteed: that it is current. Every node write is guarded by the node's resourceVersion, so a stale node costs
 * a retry, and no concurrent change is lost. A pool that was deleted or replaced meanwhile is detected after its nodes
 * were written.
 */
import { systemClock } from '../../controller/clock.ts';
import { Lru } from '../../controller/lru.ts';
import { isOlder } from '../../controller/resource-version.ts';
import { deepEqual } from '../../nodepool/json.ts';
import { type Ownership, type PoolIndex, sameOwnership } from '../../nodepool/membership/membership.ts';
import { matches, membershipSelector } from '../../nodepool/membership/selector.ts';
import type { PlanRules } from '../../nodepool/plan/merge-slots.ts';
import { poolOfRuntimeClass } from '../../nodepool/plan/runtime-class.ts';
import { isPaused } from '../../nodepool/rollout/rollout.ts';
import type { Node, NodePool, NodePoolStatus, RuntimeClass } from '../../nodepool/types.ts';
import { NodeBirths } from './node-births.ts';
import { OwnershipIndex } from './ownership-index.ts';

export interface ClusterStateObserver {
  /** The pools to reconcile: those that the object affected before the change, and those that it affects now. */
  concerned(pools: Iterable<string>): void;
  /** A node no longer exists in the cluster. @param holder the pool of its record */
  nodeGone(node: string, holder: string | undefined): void;
}

export class ClusterState {
  readonly #pools = new Map<string, NodePool>();
  readonly #nodes = new Map<string, Node>();
  readonly #runtimeClasses = new Map<string, RuntimeClass>();
  readonly #ownerships = new OwnershipIndex(this.#pools, this.#nodes);
  readonly #deleted = new DeletedUids();
  /** Statuses about to be written, by pool: their events enqueue nothing. */
  readonly #expected = new Map<string, NodePoolStatus>();
  #observer: ClusterStateObserver | undefined;
  /** By pool name; see poolReadAt(). */
  readonly #poolsReadAt = new Map<string, number>();
  /** By pool name; see readiness(). */
  readonly #readiness = new Map<string, number>();

  /** Monotonic milliseconds: the initial objects were read before this time. */
  readonly madeAt = systemClock.now();
  /** The initial pools, by name: a run without caches shows a person the effects of their specs. */
  readonly poolsAtStart: ReadonlyMap<string, NodePool>;

  /** For every plan. */
  readonly rules: PlanRules;
  /** Whether joining nodes get startup taints. */
  readonly births: NodeBirths;

  /** @param births default: by the wall clock, if no plan is made */
  constructor(
    pools: Iterable<NodePool>,
    nodes: Iterable<Node>,
    runtimeClasses: Iterable<RuntimeClass>,
    rules: PlanRules = {},
    births = new NodeBirths(() => new Date()),
  ) {
    this.rules = rules;
    this.births = births;
    for (const pool of pools) this.#pools.set(pool.metadata.name, pool);
    this.poolsAtStart = new Map(this.#pools);
    for (const node of nodes) this.#nodes.set(node.name, node);
    for (const runtimeClass of runtimeClasses) this.#runtimeClasses.set(runtimeClass.metadata.name, runtimeClass);
  }

  pool(name: string): NodePool | undefined {
    return this.#pools.get(name);
  }

  /** Monotonic milliseconds: last time a response or cache had the pool; -Infinity if not since madeAt. */
  poolReadAt(name: string): number {
    return this.#poolsReadAt.get(name) ?? Number.NEGATIVE_INFINITY;
  }

  isActive(name: string): boolean {
    const pool = this.#pools.get(name);
    return pool !== undefined && pool.metadata.deletionTimestamp === undefined;
  }

  /** Errors of the pools' specs, and the owner of a node that is not in this state. */
  get poolIndex(): PoolIndex {
    return this.#ownerships.index;
  }

  /** The pools, and the names of deleted pools that left records on nodes. */
  poolNames(): string[] {
    return [...new Set([...this.#pools.keys(), ...this.#ownerships.poolNames()])].sort();
  }

  node(name: string): Node | undefined {
    return this.#nodes.get(name);
  }

  ownership(node: string): Ownership | undefined {
    return this.#ownerships.get(node);
  }

  nodes(): Iterable<Node> {
    return this.#nodes.values();
  }

  pools(): Iterable<NodePool> {
    return this.#pools.values();
  }

  members(pool: string): Node[] {
    return this.#ownerships.select(pool, ownership => ownership.owner === pool);
  }

  /** Nodes whose labels and taints the pool may write: its members, and nodes that still have its record. */
  managedNodes(pool: string): Node[] {
    return this.#ownerships.select(pool, ownership => ownership.owner === pool || ownership.record?.pool === pool);
  }

  /** Nodes that the pool matches and another pool owns. */
  lost(pool: string): { node: Node; owner: NodePool }[] {
    return this.#ownerships
      .select(pool, ownership => ownership.conflicting.includes(pool))
      .flatMap(node => {
        const owner = this.#pools.get(this.#ownerships.get(node.name)?.owner ?? '');
        return owner === undefined ? [] : [{ node, owner }];
      });
  }

  /** The pools that the node affects: its owner, the pool of its record, and matching pools that do not own it. */
  poolsOf(node: string): string[] {
    return this.#ownerships.poolsOf(node);
  }

  /** Nodes that the pool's selector matches, whichever pool owns them. */
  matching(pool: NodePool): Node[] {
    const selector = membershipSelector(pool);
    return [...this.#nodes.values()].filter(node => matches(selector, node.labels));
  }

  runtimeClasses(): Iterable<RuntimeClass> {
    return this.#runtimeClasses.values();
  }

  runtimeClass(name: string): RuntimeClass | undefined {
    return this.#runtimeClasses.get(name);
  }

  /** Calls the observer for changes from now on, not for the current state. */
  observe(observer: ClusterStateObserver): void {
    this.#observer = observer;
  }

  /** Call it before an object is read: the response is newer than earlier deletions. */
  beginRead(): ReadTime {
    return this.#deleted.beginRead();
  }

  /** @param readTime beginRead() before its read; undefined for objects from caches and responses to writes */
  setPool(pool: NodePool, readTime?: ReadTime): void {
    const { name } = pool.metadata;
    const before = this.#pools.get(name);
    if (this.#isPast(before?.metadata, pool.metadata, readTime)) return;
    // A new status or finalizer moves no node: without this check, every status write would recompute all ownerships.
    const moves = before === undefined || !sameOwnership(before, pool);
    const neighbours = moves && this.#observer !== undefined ? this.#ownerships.neighbours(name) : [];
    this.#pools.set(name, pool);
    this.#poolsReadAt.set(name, systemClock.now());
    if (moves) this.#ownerships.poolsChanged();
    if (this.#observer === undefined || isSame(before?.metadata, pool.metadata)) return;
    const expected = this.#expected.get(name);
    if (expected !== undefined && deepEqual(pool.status, expected) && isAlikeButStatus(before, pool)) return;
    this.#observer.concerned(neighbours);
    this.#observer.concerned(moves ? this.#ownerships.neighbours(name) : [name]);
    if (moves) this.#concernWaiting(before);
  }

  /** A node of any pool may wait for a paused pool: labels of its own pool would make it join the paused one. */
  #concernWaiting(before: NodePool | undefined): void {
    if (before !== undefined && isPaused(before)) this.#observer?.concerned(this.poolNames());
  }

  /** The event of this status does not enqueue the pool: a failure with a changing message would retry at once. */
  expectStatus(pool: string, status: NodePoolStatus): void {
    this.#expected.set(pool, status);
  }

  /** @param uid of the deleted object: an object of that name with another UID stays */
  removePool(name: string, uid: string | undefined): void {
    const before = this.#pools.get(name);
    if (!this.#take(before?.metadata, uid)) return;
    this.#expected.delete(name);
    this.#poolsReadAt.delete(name);
    const neighbours = this.#observer === undefined ? [] : this.#ownerships.neighbours(name);
    this.#pools.delete(name);
    this.#ownerships.poolsChanged();
    this.#observer?.concerned(neighbours);
    if (this.#observer !== undefined) this.#observer.concerned(this.#ownerships.neighbours(name));
    this.#concernWaiting(before);
  }

  /** @param readTime as in setPool() */
  setNode(node: Node, readTime?: ReadTime): void {
    if (this.#isPast(this.#nodes.get(node.name), node, readTime)) return;
    // If the node was recreated with the same name, the earlier node is gone.
    const earlier = this.#nodes.get(node.name)?.uid ?? node.uid;
    if (earlier !== node.uid) this.removeNode(node.name, earlier);
    const before = this.#nodes.get(node.name);
    const concerned = this.#observer === undefined || looksSame(before, node) ? undefined : this.poolsOf(node.name);
    if (before !== undefined) this.births.changed(before, node);
    this.#nodes.set(node.name, node);
    this.#ownerships.setNode(node);
    if (before?.ready !== node.ready) this.#turned(node.name);
    if (concerned !== undefined) this.#observer?.concerned([...concerned, ...this.poolsOf(node.name)]);
  }

  /** Increases whenever a node that affects the pool turns Ready or NotReady. */
  readiness(pool: string): number {
    return this.#readiness.get(pool) ?? 0;
  }

  #turned(node: string): void {
    for (const pool of this.poolsOf(node)) this.#readiness.set(pool, this.readiness(pool) + 1);
  }

  /** @param uid of the deleted object: an object of that name with another UID stays */
  removeNode(name: string, uid: string): void {
    if (!this.#take(this.#nodes.get(name), uid)) return;
    const holder = this.#observer && this.ownership(name)?.record?.pool;
    const concerned = this.#observer === undefined ? [] : this.poolsOf(name);
    this.#nodes.delete(name);
    this.#ownerships.removeNode(name);
    this.births.gone(uid);
    this.#observer?.nodeGone(name, holder);
    this.#observer?.concerned(concerned);
  }

  /** @param readTime as in setPool() */
  setRuntimeClass(runtimeClass: RuntimeClass, readTime?: ReadTime): void {
    const { name } = runtimeClass.metadata;
    const before = this.#runtimeClasses.get(name)?.metadata;
    if (this.#isPast(before, runtimeClass.metadata, readTime)) return;
    this.#runtimeClasses.set(name, runtimeClass);
    if (!isSame(before, runtimeClass.metadata)) this.#concernOwner(name);
  }

  /** @param uid of the deleted object: an object of that name with another UID stays */
  removeRuntimeClass(name: string, uid: string | undefined): void {
    if (!this.#take(this.#runtimeClasses.get(name)?.metadata, uid)) return;
    this.#runtimeClasses.delete(name);
    this.#concernOwner(name);
  }

  #concernOwner(runtimeClass: string): void {
    const pool = poolOfRuntimeClass(runtimeClass);
    if (pool !== undefined && this.#pools.has(pool)) this.#observer?.concerned([pool]);
  }

  /** Whether the object is older than the known one, or known to be deleted. */
  #isPast(
    before: Versioned | undefined,
    { uid = '', resourceVersion = '' }: Versioned,
    readTime: ReadTime = 0,
  ): boolean {
    return this.#deleted.isDeleted(uid, readTime) || isOlder(resourceVersion, before?.resourceVersion ?? '');
  }

  /** Whether the object is in the state, to be removed. Its UID counts as deleted from now on in any case. */
  #take(before: Versioned | undefined, uid: string | undefined): boolean {
    if (uid !== undefined) this.#deleted.add(uid);
    return before !== undefined && before.uid === uid;
  }
}

/** A state for plans: with the rules and the server's time of the cluster. */
export function clusterStateOf(
  { rules, nodes: { serverTime } }: { rules?: PlanRules; nodes: { serverTime(): Date } },
  pools: Iterable<NodePool>,
  nodes: Iterable<Node>,
  runtimeClasses: Iterable<RuntimeClass> = [],
): ClusterState {
  return new ClusterState(pools, nodes, runtimeClasses, rules, new NodeBirths(serverTime));
}

// Remembers deleted objects, so that a late response or event does not add them again.

/** The time of a read relative to deletions: the number of the next deletion. */
type ReadTime = number;

/** Maximum number of remembered UIDs. No response or event arrives after that many deletions. */
const MAX_REMEMBERED = 10_000;

class DeletedUids {
  /** The number of the deletion by UID, counted from 1. */
  readonly #deletions = new Lru<string, number>(MAX_REMEMBERED);
  #last = 0;

  /** Call it before an object is read: the response is newer than earlier deletions. */
  beginRead(): ReadTime {
    return this.#last + 1;
  }

  add(uid: string): void {
    this.#deletions.set(uid, ++this.#last);
  }

  /** Whether it counts as deleted although it is seen; otherwise forgets its UID. @param readTime 0: no read */
  isDeleted(uid: string, readTime: ReadTime): boolean {
    const deletion = this.#deletions.get(uid);
    if (deletion === undefined) return false;
    if (deletion >= readTime) return true;
    this.#deletions.delete(uid);
    return false;
  }
}

// Whether two versions of an object are the same, or equal.

interface Versioned {
  uid?: string;
  resourceVersion?: string;
}

/** Whether both are the same version of one object: a watch event that repeats a response, or the reverse. */
function isSame(before: Versioned | undefined, after: Versioned): boolean {
  return before?.uid === after.uid && before?.resourceVersion === after.resourceVersion;
}

/** metadata.generation changes with the spec. */
function isAlikeButStatus(before: NodePool | undefined, after: NodePool): boolean {
  const rest = ({ metadata }: NodePool) => ({ ...metadata, resourceVersion: '', managedFields: [] });
  return before !== undefined && deepEqual(rest(before), rest(after));
}

/** Whether both are equal except for the resourceVersion. */
export function looksSame(a: Node | undefined, b: Node): boolean {
  if (a === undefined) return false;
  if (isSame(a, b)) return true;
  const { resourceVersion: _a, ...before } = a;
  const { resourceVersion: _b, ...after } = b;
  return deepEqual(before, after);
}
