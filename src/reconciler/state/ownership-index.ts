/** The owner of each node, and the nodes of each pool. A changed node updates it, a changed pool rebuilds it. */
import { type Ownership, PoolIndex } from '../../nodepool/membership/membership.ts';
import { RecordCache } from '../../nodepool/plan/record-cache.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';

export class OwnershipIndex {
  readonly #pools: ReadonlyMap<string, NodePool>;
  readonly #nodes: ReadonlyMap<string, Node>;
  /** Undefined after a change of a pool, until the next read; then the ownerships are stale as well. */
  #index: PoolIndex | undefined;
  /** Records of all nodes since the last change of a pool: after rollouts, nearly every node has a different one. */
  #records = new RecordCache();
  readonly #ownerships = new Map<string, Ownership>();
  /** Pool name to the nodes that it owns, has a record on, or lost to another pool. Includes names without a pool. */
  readonly #concerned = new Map<string, Set<string>>();

  /** Reads both maps at each call. */
  constructor(pools: ReadonlyMap<string, NodePool>, nodes: ReadonlyMap<string, Node>) {
    this.#pools = pools;
    this.#nodes = nodes;
  }

  /** The owner of the node, and the matching pools that do not own it. */
  get(node: string): Ownership | undefined {
    this.#fresh();
    return this.#ownerships.get(node);
  }

  get index(): PoolIndex {
    return this.#fresh();
  }

  /** Each pool that a node affects, including deleted pools. */
  poolNames(): Iterable<string> {
    this.#fresh();
    return this.#concerned.keys();
  }

  /** The pools that the node affects: its owner, the pool of its record, and matching pools that do not own it. */
  poolsOf(node: string): string[] {
    const ownership = this.get(node);
    return ownership === undefined ? [] : poolsOf(ownership);
  }

  /** The pool, and pools that share a node with it. */
  neighbours(pool: string): Set<string> {
    this.#fresh();
    const names = new Set([pool]);
    for (const node of this.#concerned.get(pool) ?? []) for (const name of this.poolsOf(node)) names.add(name);
    return names;
  }

  /** The nodes that affect the pool and whose ownership matches. */
  select(pool: string, isSelected: (ownership: Ownership) => boolean): Node[] {
    this.#fresh();
    const nodes: Node[] = [];
    for (const name of this.#concerned.get(pool) ?? []) {
      const node = this.#nodes.get(name);
      const ownership = this.#ownerships.get(name);
      if (node !== undefined && ownership !== undefined && isSelected(ownership)) nodes.push(node);
    }
    return nodes;
  }

  /** A pool was added or removed, or its spec or deletion changed. */
  poolsChanged(): void {
    this.#index = undefined;
  }

  setNode(node: Node): void {
    this.removeNode(node.name);
    if (this.#index !== undefined) this.#add(this.#index, node);
  }

  removeNode(node: string): void {
    const ownership = this.#ownerships.get(node);
    if (ownership === undefined) return;
    this.#ownerships.delete(node);
    for (const pool of poolsOf(ownership)) {
      const names = this.#concerned.get(pool);
      names?.delete(node);
      if (names?.size === 0) this.#concerned.delete(pool);
    }
  }

  #fresh(): PoolIndex {
    if (this.#index !== undefined) return this.#index;
    this.#records = new RecordCache(this.#records);
    const index = new PoolIndex(this.#pools.values(), this.#nodes.values(), this.#records);
    this.#ownerships.clear();
    this.#concerned.clear();
    for (const node of this.#nodes.values()) this.#add(index, node);
    this.#records.forgetEarlier();
    this.#index = index;
    return index;
  }

  #add(index: PoolIndex, node: Node): void {
    const ownership = index.ownership(node);
    this.#ownerships.set(node.name, ownership);
    for (const pool of poolsOf(ownership)) {
      const names = this.#concerned.get(pool);
      if (names === undefined) this.#concerned.set(pool, new Set([node.name]));
      else names.add(node.name);
    }
  }
}

/** Each pool once. An array, as a Set for every node costs memory that is not freed before the command ends. */
function poolsOf({ owner, conflicting, record }: Ownership): string[] {
  const names = owner === undefined ? [...conflicting] : [owner, ...conflicting];
  if (record !== undefined && !names.includes(record.pool)) names.push(record.pool);
  return names;
}
