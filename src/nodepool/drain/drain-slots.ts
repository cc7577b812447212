/** How many nodes of a pool are drained at the same time, and in which order. */
export type DrainPace =
  | { kind: 'parallel'; nodes: number }
  /** Maximum number of members that are being drained, failed or NotReady; a drained member no longer counts. */
  | { kind: 'max unavailable'; nodes: number };

/** By name. With a maximum of unavailable nodes, unavailable nodes first: draining them does not use the budget. */
export function drainOrder<T extends { name: string; ready: boolean }>(nodes: readonly T[], pace: DrainPace): T[] {
  const rank = ({ ready }: T) => (pace.kind === 'max unavailable' && !ready ? 0 : 1);
  return nodes.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

/** Limits the number of nodes that are drained at the same time. A node occupies a slot while it is drained. */
export class DrainSlots {
  readonly #pace: DrainPace;
  readonly #underWay = new Set<string>();
  /** Nodes that are being drained, failed, or were not Ready at the start and are not drained. */
  readonly #unavailable: Set<string>;

  constructor(pace: DrainPace, nodes: readonly { name: string; ready: boolean }[]) {
    this.#pace = pace;
    const down = pace.kind === 'max unavailable' ? nodes.filter(({ ready }) => !ready) : [];
    this.#unavailable = new Set(down.map(({ name }) => name));
  }

  /** Whether the node got a slot, which it keeps until release(). */
  acquire(name: string): boolean {
    const taken = this.#unavailable.has(name) ? this.#underWay.size : this.#unavailable.size;
    if (taken >= this.#pace.nodes) return false;
    this.#underWay.add(name);
    this.#unavailable.add(name);
    return true;
  }

  /** @param drained if false, the node still counts as unavailable */
  release(name: string, drained: boolean): void {
    this.#underWay.delete(name);
    if (drained || this.#pace.kind === 'parallel') this.#unavailable.delete(name);
  }
}
