/** How many nodes of a pool are drained at a time, and in which order. */
export type DrainPace =
  | { kind: 'parallel'; nodes: number }
  /** Members that may be unavailable; a node that was not Ready when the drain began takes a place until it is drained. */
  | { kind: 'max unavailable'; nodes: number };

/** The order: with a budget those first that are unavailable already, as draining them costs none of it; then by name. */
export function drainOrder<T extends { name: string; ready: boolean }>(nodes: readonly T[], pace: DrainPace): T[] {
  const rank = ({ ready }: T) => (pace.kind === 'max unavailable' && !ready ? 0 : 1);
  return nodes.toSorted((a, b) => rank(a) - rank(b) || (a.name < b.name ? -1 : 1));
}

/** Who may begin. Draining a node takes a place; drained, it gives it back. */
export class DrainPlaces {
  readonly #pace: DrainPace;
  readonly #underWay = new Set<string>();
  /** Nodes that take a place of --max-unavailable: those under way, and those that do not serve, whatever the reason. */
  readonly #unavailable: Set<string>;

  constructor(pace: DrainPace, nodes: readonly { name: string; ready: boolean }[]) {
    this.#pace = pace;
    const down = pace.kind === 'max unavailable' ? nodes.filter(({ ready }) => !ready) : [];
    this.#unavailable = new Set(down.map(({ name }) => name));
  }

  /** Takes a place for the node, if there is one. */
  take(name: string): boolean {
    const taken = this.#unavailable.has(name) ? this.#underWay.size : this.#unavailable.size;
    if (taken >= this.#pace.nodes) return false;
    this.#underWay.add(name);
    this.#unavailable.add(name);
    return true;
  }

  /** @param drained one that could not be drained keeps its place of --max-unavailable */
  give(name: string, drained: boolean): void {
    this.#underWay.delete(name);
    if (drained || this.#pace.kind === 'parallel') this.#unavailable.delete(name);
  }
}
