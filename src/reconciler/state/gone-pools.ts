/**
 * Reads a pool from the server before its nodes are released because it is gone: the cluster state may be stale or wrong.
 *
 * The answer is valid for the nodes as the cluster state had them at the read: if the pool has been recreated and has got such
 * a node since, the node has another resourceVersion, and the patch that releases it fails with a conflict.
 */
import type { NodePlan } from '../../nodepool/plan/plan.ts';
import type { Node } from '../../nodepool/types.ts';
import type { LiveReadDeps } from './live-reads.ts';
import { assertNotRestored, notDeleted } from './live-reads.ts';

interface Asked {
  /** The nodes that carried the pool's record at the read. */
  nodes: ReadonlySet<Node>;
  isGone: Promise<boolean>;
}

export class GonePools {
  readonly #deps: LiveReadDeps;
  /** By the pool's name. */
  readonly #asked = new Map<string, Asked>();

  constructor(deps: LiveReadDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the plan may be written: it releases no node, or its pool is gone or has a deletionTimestamp. If not, the
   * cluster state has the pool now, and the caller plans again. Throws NodepoolError when the pool cannot be read.
   */
  async mayRelease({ node, previous, owner }: NodePlan): Promise<boolean> {
    if (previous === undefined || previous === owner || this.#deps.state.isActive(previous)) return true;
    const known = this.#asked.get(previous);
    return known?.nodes.has(node) ? known.isGone : this.ask(previous);
  }

  /** Whether the pool is gone or has a deletionTimestamp. Updates the cluster state. */
  ask(pool: string): Promise<boolean> {
    const asked = { nodes: new Set(this.#deps.state.held(pool)), isGone: this.#isGone(pool) };
    this.#asked.set(pool, asked);
    const forget = () => {
      if (this.#asked.get(pool) === asked) this.#asked.delete(pool);
    };
    asked.isGone.then(isGone => isGone || forget(), forget);
    return asked.isGone;
  }

  /** Called after the nodes of the pool were reconciled: a later release reads the pool again. */
  forget(pool: string): void {
    this.#asked.delete(pool);
  }

  async #isGone(name: string): Promise<boolean> {
    const { cluster, state } = this.#deps;
    const [known, asked] = [state.pool(name), state.beginRead()];
    const pool = await cluster.pools.getCoerced(name);
    if (pool === undefined) {
      state.removePool(name, known?.metadata.uid);
      return true;
    }
    const isKnown = pool.metadata.uid === known?.metadata.uid;
    // A dry run marks it for deletion in the cluster state alone.
    if (cluster.isDryRun && isKnown) return true;
    // The cluster state does not go back to an older resourceVersion: a plan from it would release the nodes.
    assertNotRestored(known, pool);
    state.setPool(pool, asked);
    if (pool.metadata.deletionTimestamp !== undefined) return true;
    if (isKnown && !state.isActive(name)) throw notDeleted(pool);
    return false;
  }
}
