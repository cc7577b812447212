/** A clock that the test advances. */
import type { Clock } from '../../../src/controller/clock.ts';

export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.#now;
  }

  /** The wall clock. */
  readonly wall = (): Date => new Date(Date.UTC(2026, 0, 1) + this.#now);

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** The number of pending timers. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Advances by `ms`: runs each due timer at its time, and all promises that follow before the next timer. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms;
    await flushPromises();
    for (let next = this.#next(end); next !== undefined; next = this.#next(end)) {
      this.#now = Math.max(this.#now, next.at);
      this.#timers.delete(next);
      next.callback();
      await flushPromises();
    }
    this.#now = end;
  }

  /** Advances without running timers, as in a halted process. */
  freeze(ms: number): void {
    this.#now += ms;
  }

  #next(end: number) {
    const due = [...this.#timers].filter(({ at }) => at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }
}

/** Resolves when all promises that can continue have done so. */
export function flushPromises(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve);
  });
}
