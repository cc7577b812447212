/**
 * The turn of a node in the rollout of its pool, while it is written: from the first admits() that lets it through until end().
 * Whoever begins one ends it, so that no node counts as under way for ever.
 */
import { NodepoolError } from '../../nodepool/errors.ts';
import type { RolloutStamp } from '../../nodepool/plan/record.ts';
import type { Node } from '../../nodepool/types.ts';
import type { RolloutGates } from './rollout-gates.ts';

export class RolloutTurn {
  readonly #gates: RolloutGates;
  readonly #node: string;
  /** The pool that let the node through. */
  #pool: string | undefined;

  constructor(gates: RolloutGates, node: string) {
    this.#gates = gates;
    this.#node = node;
  }

  /** The stamp for the record of the node; undefined where it has to wait. */
  admits(pool: string): RolloutStamp | undefined {
    const stamp = this.#gates.admits(pool, this.#node);
    if (stamp === undefined) return undefined;
    // Since the last attempt the node may have got into another pool.
    if (this.#pool !== pool) this.end();
    this.#pool = pool;
    return stamp;
  }

  /**
   * Of a write without an answer nobody knows whether it was done, or still will be: the node keeps its place until it is seen in
   * another version, by `read` or by anybody. @param resourceVersion that guards the write
   */
  async during<T>(write: Promise<T>, resourceVersion: string, read: () => Promise<Node | undefined>): Promise<T> {
    try {
      return await write;
    } catch (error) {
      if (this.#pool === undefined) throw error;
      const isOpen = !(error instanceof NodepoolError) || error.isGeneral || error.isTransient;
      const node = await read().catch(() => 'unknown' as const);
      if (node === 'unknown' || (isOpen && node?.resourceVersion === resourceVersion)) this.#keep(resourceVersion);
      throw error;
    }
  }

  #keep(resourceVersion: string): void {
    if (this.#pool !== undefined) this.#gates.keep(this.#pool, this.#node, resourceVersion);
    this.#pool = undefined;
  }

  /** The node says what it is from now on, and a node may have failed during the write: what follows needs a turn of its own. */
  giveBack(): void {
    const pool = this.#pool;
    this.end();
    if (pool !== undefined) this.#gates.begin(pool);
  }

  end(): void {
    if (this.#pool !== undefined) this.#gates.end(this.#pool, this.#node);
    this.#pool = undefined;
  }
}
