/**
 * Asks the server for a pool before its nodes are released for want of it: the cluster state may be behind, or was told wrongly.
 *
 * An answer holds for the nodes as the cluster state had them when the server was asked: if somebody has made the pool anew and
 * given it such a node since, the node has another resourceVersion, and the patch that releases it meets a conflict.
 */
import { NodepoolError } from '../nodepool/errors.ts';
import type { NodePlan } from '../nodepool/plan.ts';
import type { Node, NodePool } from '../nodepool/types.ts';
import type { LiveReadDeps } from './live-reads.ts';

export interface GonePoolsDeps extends LiveReadDeps {
  /** Deletions are dry runs: they mark pools in the cluster state alone. */
  dryRun: boolean;
}

interface Asked {
  /** Those that carried the pool's record then. */
  nodes: ReadonlySet<Node>;
  isGone: Promise<boolean>;
}

export class GonePools {
  readonly #deps: GonePoolsDeps;
  /** By the pool's name. */
  readonly #asked = new Map<string, Asked>();

  constructor(deps: GonePoolsDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the plan may be carried out: it releases no node, or its pool is really gone, or marked for deletion. When it
   * is not, the cluster state has the pool, and another plan is to be made. Throws NodepoolError when the server cannot say.
   */
  async mayRelease({ node, previous, owner }: NodePlan): Promise<boolean> {
    if (previous === undefined || previous === owner || this.#deps.state.isStaying(previous)) return true;
    const known = this.#asked.get(previous);
    return known?.nodes.has(node) ? known.isGone : this.ask(previous);
  }

  /** Whether the pool is gone or marked for deletion. The state follows. */
  ask(pool: string): Promise<boolean> {
    const asked = { nodes: new Set(this.#deps.state.held(pool)), isGone: this.#isGone(pool) };
    this.#asked.set(pool, asked);
    const forget = () => {
      if (this.#asked.get(pool) === asked) this.#asked.delete(pool);
    };
    asked.isGone.then(isGone => isGone || forget(), forget);
    return asked.isGone;
  }

  /** The nodes of the pool have been looked at: what is released later is asked for anew. */
  forget(pool: string): void {
    this.#asked.delete(pool);
  }

  async #isGone(name: string): Promise<boolean> {
    const { cluster, state, dryRun } = this.#deps;
    const [known, asked] = [state.pool(name)?.metadata.uid, state.moment()];
    const pool = await cluster.pools.getCoerced(name);
    if (pool === undefined) {
      state.removePool(name, known);
      return true;
    }
    if (dryRun && pool.metadata.uid === known) return true;
    state.setPool(pool, asked);
    if (pool.metadata.deletionTimestamp !== undefined) return true;
    // The state does not go back to an older resourceVersion: planned on what it has, the nodes would be released.
    if (pool.metadata.uid === known && !state.isStaying(name)) throw notDeleted(pool);
    return false;
  }
}

/** The pool was seen with a deletionTimestamp, which only a restored etcd takes back. */
export function notDeleted({ metadata: { name } }: NodePool): NodepoolError {
  return new NodepoolError(
    'cluster',
    `nodepool ${name} is not being deleted any more: it had a deletionTimestamp, and the server now has it without one (etcd was restored)`,
    `run \`kubectl nodepool reconcile ${name}\`, or delete it again`,
  );
}
