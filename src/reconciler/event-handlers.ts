/**
 * Brings what the caches tell into the cluster state, and says which pools have to be looked at for it.
 *
 * - A node's change concerns the pools it had to do with before, and those it has to do with now.
 * - A change of what no pool looks at (a heartbeat, an image) concerns nobody.
 * - Pods that come and go concern the pool that owns their node, a while later: it is told of them all at once.
 * - What the answer to a request has told already concerns nobody again; the cluster state knows (cluster-state.ts).
 */
import type { StoreEvent } from '../controller/store.ts';
import type { Node, NodePool, RuntimeClass } from '../nodepool/types.ts';
import type { ClusterState } from './cluster-state.ts';

export interface EventHandlersOptions {
  state: ClusterState;
  /** A pool has to be reconciled. */
  enqueue: (pool: string) => void;
  /** So does the pool, but its number of pods can wait for others to change too. */
  enqueueLater: (pool: string) => void;
  /** A node that a pool held is gone from the cluster. */
  onNodeDeleted: (pool: string, node: string) => void;
}

export class EventHandlers {
  readonly #options: EventHandlersOptions;
  #started = false;

  constructor(options: EventHandlersOptions) {
    this.#options = options;
  }

  /** Before this the cluster state is filled and nobody is enqueued; from here on, all that is there and all that changes. */
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

  /** Every pool, and every name that a gone pool left on nodes. */
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

  /** @param node of a pod that came or went */
  pod(node: string): void {
    const owner = this.#started ? this.#options.state.ownership(node)?.owner : undefined;
    if (owner !== undefined) this.#options.enqueueLater(owner);
  }
}
