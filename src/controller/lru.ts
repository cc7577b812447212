/** A map that evicts the least recently used entry when it has more than `most` entries. */
export class Lru<K, V> {
  readonly #most: number;
  /** Least recently used first. */
  readonly #entries = new Map<K, V>();

  constructor(most: number) {
    this.#most = most;
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) this.set(key, value);
    return value;
  }

  delete(key: K): void {
    this.#entries.delete(key);
  }

  /** Least recently used first; does not count as a use. */
  entries(): MapIterator<[K, V]> {
    return this.#entries.entries();
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#most) return;
    for (const oldest of this.#entries.keys()) {
      this.#entries.delete(oldest);
      return;
    }
  }
}
