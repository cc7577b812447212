/** Nodes whose last write failed, as long as they exist: a node that was recreated under the name was not refused. */
import type { ClusterState } from '../state/cluster-state.ts';

/** Names beyond twice those that were left are looked for in the cluster state. */
const MIN_LOOK = 100;

export class RefusedNodes {
  readonly #state: Pick<ClusterState, 'node'>;
  /** UIDs by name. */
  readonly #uids = new Map<string, string>();
  #lookAt = MIN_LOOK;

  constructor(state: Pick<ClusterState, 'node'>) {
    this.#state = state;
  }

  add(name: string): void {
    const uid = this.#state.node(name)?.uid;
    if (uid === undefined) return;
    this.#uids.set(name, uid);
    if (this.#uids.size <= this.#lookAt) return;
    for (const known of this.#uids.keys()) if (!this.has(known)) this.#uids.delete(known);
    this.#lookAt = Math.max(MIN_LOOK, 2 * this.#uids.size);
  }

  delete(name: string): void {
    this.#uids.delete(name);
  }

  has(name: string): boolean {
    const uid = this.#uids.get(name);
    return uid !== undefined && this.#state.node(name)?.uid === uid;
  }

  /** How many are kept, those that are gone included. */
  get size(): number {
    return this.#uids.size;
  }
}
