/**
 * Notices, before a node is written, that the cluster state has an older spec of its pool than the one that the node has: the caches
 * of pools and nodes lag behind each other, and another process writes nodes, too. The record of a node has the generation of
 * the pool for which it was written, so the pool is read from the server.
 *
 * The answer is valid for the nodes as the cluster state had them at the read: one that is written for a newer spec since has
 * another resourceVersion, and the patch fails with a conflict.
 * Not guaranteed: that the generation is authentic, as the record is not. One that is higher than the server's, of a kubelet or of
 * a pool that was restored or recreated without releasing its nodes, costs one read of the pool for all its nodes that are
 * written, and their next write corrects it. A pool that was recreated counts from 1, so a spec of the earlier one is not noticed
 * here. Nor is a newer spec that changed nothing on the node: its record has the generation of its last write. A node
 * that joins by an older spec gets that until the cache has the newer one.
 */
import type { Node, ObjectMeta } from '../../nodepool/types.ts';
import { type LiveReadDeps, readPool } from './live-reads.ts';

export class StalePools {
  readonly #deps: LiveReadDeps;
  /** Nodes that had their record when the pool was read. */
  readonly #asked = new WeakSet<Node>();
  /** Reads under way, by name of the pool. */
  readonly #reading = new Map<string, Promise<void>>();

  constructor(deps: LiveReadDeps) {
    this.#deps = deps;
  }

  /** Whether the node was written for a newer spec of its pool, as far as is known: read() comes before its write. */
  isBehind(name: string): boolean {
    return this.#poolBehind(name) !== undefined;
  }

  /** The caller plans again. Throws NodepoolError when the pool cannot be read. @param name of a node */
  async read(name: string): Promise<void> {
    const pool = this.#poolBehind(name);
    if (pool === undefined) return;
    const reading = this.#reading.get(pool.name) ?? this.#ask(pool);
    this.#reading.set(pool.name, reading);
    await reading;
  }

  #poolBehind(name: string): ObjectMeta | undefined {
    const { state } = this.#deps;
    const [node, record] = [state.node(name), state.ownership(name)?.record];
    const pool = record && state.pool(record.pool)?.metadata;
    if (node === undefined || record?.generation === undefined || pool?.generation === undefined) return undefined;
    return record.generation > pool.generation && !this.#asked.has(node) ? pool : undefined;
  }

  async #ask({ name, uid }: ObjectMeta): Promise<void> {
    const held = this.#deps.state.held(name);
    try {
      await readPool(name, uid, this.#deps);
      for (const node of held) this.#asked.add(node);
    } finally {
      this.#reading.delete(name);
    }
  }
}
