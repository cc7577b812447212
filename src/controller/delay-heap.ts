/** Keys that wait for their time, the earliest on top. A key waits once: its earliest time wins, as in client-go. */
interface Waiting<K> {
  key: K;
  /** By the clock. */
  at: number;
}

export class DelayHeap<K extends string> {
  /** A binary heap by `at`. An entry whose time is not the key's in #times was overtaken by an earlier one. */
  readonly #heap: Waiting<K>[] = [];
  readonly #times = new Map<K, number>();

  /** Keys that wait. */
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

  /** When the next key is due; undefined when none waits. */
  next(): number | undefined {
    for (let top = this.#heap[0]; top !== undefined; top = this.#heap[0]) {
      if (this.#times.get(top.key) === top.at) return top.at;
      this.#removeTop();
    }
    return undefined;
  }

  /** Takes out the keys whose time has come, in the order of their times. */
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

  /** Infinite beyond the end. */
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
