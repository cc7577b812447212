/**
 * The reconciler's read store: pools, nodes and RuntimeClasses as last seen, and which nodes concern which pool.
 *
 * Not guaranteed: that it is current. Every node write is guarded by the node's resourceVersion, so a stale node costs a
 * retry, never somebody's taint; a pool that was deleted or replaced meanwhile is noticed after its nodes were written.
 */
import { type Claim, PoolIndex, sameClaims } from '../nodepool/membership.ts';
import { matchesLabels, membershipSelector } from '../nodepool/selector.ts';
import type { Node, NodePool, RuntimeClass } from '../nodepool/types.ts';

export class View {
  readonly #pools = new Map<string, NodePool>();
  readonly #nodes = new Map<string, Node>();
  readonly #runtimeClasses = new Map<string, RuntimeClass>();
  /** Undefined while a pool has changed since it was made; then the claims are stale as well. */
  #index: PoolIndex | undefined;
  readonly #claims = new Map<string, Claim>();
  /** Pool name to the nodes it owns, holds a record on, or lost to another pool. Names without a pool: orphans. */
  readonly #concerned = new Map<string, Set<string>>();

  constructor(pools: Iterable<NodePool>, nodes: Iterable<Node>, runtimeClasses: Iterable<RuntimeClass>) {
    for (const pool of pools) this.#pools.set(pool.metadata.name, pool);
    for (const node of nodes) this.#nodes.set(node.name, node);
    for (const runtimeClass of runtimeClasses) this.#runtimeClasses.set(runtimeClass.metadata.name, runtimeClass);
  }

  pool(name: string): NodePool | undefined {
    return this.#pools.get(name);
  }

  /** What is wrong with the pool's spec. */
  specErrors(name: string) {
    return this.#fresh().errors(name);
  }

  /** The pools, and the names of pools that are gone but left records on nodes. */
  poolNames(): string[] {
    this.#fresh();
    return [...new Set([...this.#pools.keys(), ...this.#concerned.keys()])].sort();
  }

  node(name: string): Node | undefined {
    return this.#nodes.get(name);
  }

  claim(node: string): Claim | undefined {
    this.#fresh();
    return this.#claims.get(node);
  }

  /** The pool's members. */
  members(pool: string): Node[] {
    return this.#select(pool, claim => claim.owner === pool);
  }

  /** Nodes whose labels and taints are the pool's to write: its members, and those that still carry its record. */
  held(pool: string): Node[] {
    return this.#select(pool, claim => claim.owner === pool || claim.record?.pool === pool);
  }

  /** Nodes that the pool matches and another pool owns. */
  lost(pool: string): { node: Node; owner: NodePool }[] {
    return this.#select(pool, claim => claim.losers.includes(pool)).flatMap(node => {
      const owner = this.#pools.get(this.#claims.get(node.name)?.owner ?? '');
      return owner === undefined ? [] : [{ node, owner }];
    });
  }

  /** The pools that the node concerns: its owner, the holder of its record, and those that lost it. */
  poolsOf(node: string): Set<string> {
    this.#fresh();
    const claim = this.#claims.get(node);
    return claim === undefined ? new Set() : poolsOf(claim);
  }

  /** The pool, and those that share a node with it. */
  neighbours(pool: string): Set<string> {
    this.#fresh();
    const names = new Set([pool]);
    for (const node of this.#concerned.get(pool) ?? []) for (const name of this.poolsOf(node)) names.add(name);
    return names;
  }

  /** Nodes that carry the pool's membership labels, whoever owns them. */
  matching(pool: NodePool): Node[] {
    const selector = membershipSelector(pool);
    return [...this.#nodes.values()].filter(node => matchesLabels(selector, node.labels));
  }

  runtimeClass(name: string): RuntimeClass | undefined {
    return this.#runtimeClasses.get(name);
  }

  setPool(pool: NodePool): void {
    const before = this.#pools.get(pool.metadata.name);
    this.#pools.set(pool.metadata.name, pool);
    // A new status or finalizer moves no node: without this, every pool's status write would claim all nodes anew.
    if (before === undefined || !sameClaims(before, pool)) this.#index = undefined;
  }

  removePool(name: string): void {
    this.#pools.delete(name);
    this.#index = undefined;
  }

  setNode(node: Node): void {
    this.#forgetClaim(node.name);
    this.#nodes.set(node.name, node);
    if (this.#index !== undefined) this.#makeClaim(this.#index, node);
  }

  removeNode(name: string): void {
    this.#forgetClaim(name);
    this.#nodes.delete(name);
  }

  setRuntimeClass(runtimeClass: RuntimeClass): void {
    this.#runtimeClasses.set(runtimeClass.metadata.name, runtimeClass);
  }

  removeRuntimeClass(name: string): void {
    this.#runtimeClasses.delete(name);
  }

  #select(pool: string, wanted: (claim: Claim) => boolean): Node[] {
    this.#fresh();
    const nodes: Node[] = [];
    for (const name of this.#concerned.get(pool) ?? []) {
      const [node, claim] = [this.#nodes.get(name), this.#claims.get(name)];
      if (node !== undefined && claim !== undefined && wanted(claim)) nodes.push(node);
    }
    return nodes;
  }

  #fresh(): PoolIndex {
    if (this.#index !== undefined) return this.#index;
    const index = new PoolIndex(this.#pools.values());
    this.#claims.clear();
    this.#concerned.clear();
    for (const node of this.#nodes.values()) this.#makeClaim(index, node);
    this.#index = index;
    return index;
  }

  #makeClaim(index: PoolIndex, node: Node): void {
    const claim = index.claim(node);
    this.#claims.set(node.name, claim);
    for (const pool of poolsOf(claim)) {
      const names = this.#concerned.get(pool);
      if (names === undefined) this.#concerned.set(pool, new Set([node.name]));
      else names.add(node.name);
    }
  }

  #forgetClaim(node: string): void {
    const claim = this.#claims.get(node);
    if (claim === undefined) return;
    this.#claims.delete(node);
    for (const pool of poolsOf(claim)) {
      const names = this.#concerned.get(pool);
      names?.delete(node);
      if (names?.size === 0) this.#concerned.delete(pool);
    }
  }
}

function poolsOf({ owner, losers, record }: Claim): Set<string> {
  return new Set([...losers, ...(owner === undefined ? [] : [owner]), ...(record === undefined ? [] : [record.pool])]);
}
