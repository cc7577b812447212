/**
 * Event handlers of the caches: apply each event to the cluster state, and enqueue the affected pools.
 *
 * - A change of a node enqueues the pools that it affected before, and those that it affects now.
 * - A change of a field that no pool reads (a heartbeat, an image) enqueues no pool.
 * - An added or removed pod enqueues the pool that owns its node, with a delay: one reconcile for many pods.
 * - An event that repeats the response to a write enqueues no pool (cluster-state.ts).
 */
import type { StoreEvent } from '../controller/store.ts';
import type { Node, NodePool, RuntimeClass } from '../nodepool/types.ts';
import type { ClusterState } from './state/cluster-state.ts';

export interface EventHandlersOptions {
  state: ClusterState;
  enqueue: (pool: string) => void;
  /** Reconciles the pool after a delay, because more of its pods may change meanwhile. */
  enqueueLater: (pool: string) => void;
  /** A node that a pool owned no longer exists in the cluster. */
  onNodeDeleted: (pool: string, node: string) => void;
}

export class EventHandlers {
  readonly #options: EventHandlersOptions;
  #started = false;

  constructor(options: EventHandlersOptions) {
    this.#options = options;
  }

  /** Enqueues every pool, and from now on each that changes. Earlier events only fill the cluster state. */
  start(): void {
    const { state, enqueue, onNodeDeleted } = this.#options;
    this.#started = true;
    state.observe({
      concerned(pools) {
        for (const pool of pools) enqueue(pool);
      },
      nodeGone(node, holder) {
        if (holder !== undefined) onNodeDeleted(holder, node);
      },
    });
    this.enqueueAll();
  }

  /** Every pool, and the names of deleted pools that left records on nodes. */
  enqueueAll(): void {
    for (const pool of this.#options.state.poolNames()) this.#options.enqueue(pool);
  }

  pool(event: StoreEvent<NodePool>): void {
    if (event.type !== 'deleted') this.#options.state.setPool(event.item.object);
    else this.#options.state.removePool(event.tombstone.item.key, event.tombstone.item.uid);
  }

  node(event: StoreEvent<Node>): void {
    if (event.type !== 'deleted') this.#options.state.setNode(event.item.object);
    else this.#options.state.removeNode(event.tombstone.item.key, event.tombstone.item.uid);
  }

  runtimeClass(event: StoreEvent<RuntimeClass>): void {
    if (event.type !== 'deleted') this.#options.state.setRuntimeClass(event.item.object);
    else this.#options.state.removeRuntimeClass(event.tombstone.item.key, event.tombstone.item.uid);
  }

  /** @param node of an added or removed pod */
  pod(node: string): void {
    const owner = this.#started ? this.#options.state.ownership(node)?.owner : undefined;
    if (owner !== undefined) this.#options.enqueueLater(owner);
  }
}
