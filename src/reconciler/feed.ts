/**
 * Brings what the caches tell into the view, and says which pools have to be looked at for it.
 *
 * - A node's change concerns the pools it had to do with before, and those it has to do with now.
 * - A change of what no pool looks at (a heartbeat, an image) concerns nobody.
 * - Pods that come and go concern the pool that owns their node, a while later: it is told of them all at once.
 * - What we wrote ourselves is in the view already: its echo concerns nobody.
 * - The view never goes back: a cache may tell an older state than the one that an answer to a write has brought.
 */
import { isOlder } from '../controller/resource-version.ts';
import type { Item, StoreEvent } from '../controller/store.ts';
import { sameClaims } from '../nodepool/membership.ts';
import { deepEqual } from '../nodepool/merge-patch.ts';
import type { Node, NodePool, RuntimeClass } from '../nodepool/types.ts';
import type { View } from './view.ts';

const RUNTIME_CLASS = /^node-pool-(.+)$/;

export interface FeedOptions {
  view: View;
  /** A pool has to be reconciled. */
  enqueue: (pool: string) => void;
  /** So does the pool, but its number of pods can wait for others to change too. */
  enqueueLater: (pool: string) => void;
  /** A node that a pool held is gone from the cluster. */
  onNodeDeleted: (pool: string, node: string) => void;
}

export class Feed {
  readonly #options: FeedOptions;
  #started = false;

  constructor(options: FeedOptions) {
    this.#options = options;
  }

  /** Before this the view is filled and nobody is enqueued; from here on, all that is there and all that changes. */
  start(): void {
    this.#started = true;
    this.enqueueAll();
  }

  /** Every pool, and every name that a gone pool left on nodes. */
  enqueueAll(): void {
    this.#enqueue(this.#options.view.poolNames());
  }

  pool(event: StoreEvent<NodePool>): void {
    const { view } = this.#options;
    const name = event.type === 'deleted' ? event.tombstone.item.key : event.item.key;
    const before = view.pool(name);
    if (event.type === 'deleted') {
      if (before === undefined || before.metadata.uid !== event.tombstone.item.uid) return;
    } else if (before !== undefined && !isNews(event.item, before.metadata.uid, before.metadata.resourceVersion))
      return;
    const after = event.type === 'deleted' ? undefined : event.item.object;
    const moves = before === undefined || after === undefined || !sameClaims(before, after);
    const neighbours = moves && this.#started ? view.neighbours(name) : [];
    if (after === undefined) view.removePool(name);
    else view.setPool(after);
    this.#enqueue(neighbours);
    if (this.#started) this.#enqueue(moves ? view.neighbours(name) : [name]);
  }

  node(event: StoreEvent<Node>): void {
    if (event.type === 'deleted') this.#nodeDeleted(event.tombstone.item);
    else this.#nodeSeen(event.item);
  }

  #nodeDeleted({ key: name, uid }: Item<Node>): void {
    const { view, onNodeDeleted } = this.#options;
    if (view.node(name)?.uid !== uid) return;
    const holder = this.#started ? view.claim(name)?.record?.pool : undefined;
    const concerned = this.#started ? view.poolsOf(name) : [];
    view.removeNode(name);
    if (holder !== undefined) onNodeDeleted(holder, name);
    this.#enqueue(concerned);
  }

  #nodeSeen(item: Item<Node>): void {
    const { view } = this.#options;
    const before = view.node(item.key);
    if (before !== undefined && !isNews(item, before.uid, before.resourceVersion)) return;
    if (!this.#started || (before !== undefined && looksSame(before, item.object))) {
      view.setNode(item.object);
      return;
    }
    const concerned = view.poolsOf(item.key);
    view.setNode(item.object);
    this.#enqueue([...concerned, ...view.poolsOf(item.key)]);
  }

  runtimeClass(event: StoreEvent<RuntimeClass>): void {
    const { view } = this.#options;
    const name = event.type === 'deleted' ? event.tombstone.item.key : event.item.key;
    const before = view.runtimeClass(name);
    if (event.type === 'deleted') {
      if (before === undefined || before.metadata.uid !== event.tombstone.item.uid) return;
      view.removeRuntimeClass(name);
    } else {
      if (before !== undefined && !isNews(event.item, before.metadata.uid, before.metadata.resourceVersion)) return;
      view.setRuntimeClass(event.item.object);
    }
    const pool = RUNTIME_CLASS.exec(name)?.[1];
    if (pool !== undefined && view.pool(pool) !== undefined) this.#enqueue([pool]);
  }

  /** @param node of a pod that came or went */
  pod(node: string): void {
    const owner = this.#started ? this.#options.view.claim(node)?.owner : undefined;
    if (owner !== undefined) this.#options.enqueueLater(owner);
  }

  #enqueue(pools: Iterable<string>): void {
    if (this.#started) for (const pool of pools) this.#options.enqueue(pool);
  }
}

/** Whether the cache's object is newer than the view's. An object made anew under the name always is. */
function isNews(item: { uid: string; resourceVersion: string }, uid?: string, resourceVersion = ''): boolean {
  if (item.uid !== uid) return true;
  return item.resourceVersion !== resourceVersion && !isOlder(item.resourceVersion, resourceVersion);
}

/** Whether no pool could tell the two apart. */
function looksSame(a: Node, b: Node): boolean {
  const { resourceVersion: _a, ...before } = a;
  const { resourceVersion: _b, ...after } = b;
  return deepEqual(before, after);
}
