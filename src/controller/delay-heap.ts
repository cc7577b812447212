/** Keys with a due time, earliest first. Each key is in it once, with its earliest time, as in client-go. */
interface Waiting<K> {
  key: K;
  /** Clock time. */
  at: number;
}

export class DelayHeap<K extends string> {
  /** A binary heap by `at`. An entry is outdated when its time differs from the key's time in #times. */
  readonly #heap: Waiting<K>[] = [];
  readonly #times = new Map<K, number>();

  get size(): number {
    return this.#times.size;
  }

  push(key: K, at: number): void {
    const before = this.#times.get(key);
    if (before !== undefined && before <= at) return;
    this.#times.set(key, at);
    let index = this.#heap.push({ key, at }) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if (this.#at(parent) <= at) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  /** When the next key is due; undefined when there is none. */
  next(): number | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (this.#times.get(top.key) === top.at) return top.at;
      this.#removeTop();
    }
    return undefined;
  }

  /** Removes the keys that are due and returns them in the order of their times. */
  takeDue(now: number): K[] {
    const due: K[] = [];
    for (let at = this.next(); at !== undefined && at <= now; at = this.next()) {
      const top = this.#removeTop();
      if (top === undefined) break;
      this.#times.delete(top.key);
      due.push(top.key);
    }
    return due;
  }

  #removeTop(): Waiting<K> | undefined {
    const top = this.#heap[0];
    const last = this.#heap.pop();
    if (last === undefined || last === top) return top;
    this.#heap[0] = last;
    for (let index = 0; ; ) {
      const left = 2 * index + 1;
      const least = this.#at(left + 1) < this.#at(left) ? left + 1 : left;
      if (this.#at(least) >= last.at) break;
      this.#swap(index, least);
      index = least;
    }
    return top;
  }

  /** Infinity beyond the end. */
  #at(index: number): number {
    return this.#heap[index]?.at ?? Number.POSITIVE_INFINITY;
  }

  #swap(a: number, b: number): void {
    const [first, second] = [this.#heap[a], this.#heap[b]];
    if (first === undefined || second === undefined) return;
    this.#heap[a] = second;
    this.#heap[b] = first;
  }
}
