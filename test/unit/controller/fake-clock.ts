/** A clock that stands still until it is told to go on. */
import type { Clock } from '../../../src/controller/clock.ts';

export class FakeClock implements Clock {
  #now = 0;
  readonly #timers = new Set<{ at: number; callback: () => void }>();

  now(): number {
    return this.#now;
  }

  /** The time of day that goes with it. */
  readonly wall = (): Date => new Date(Date.UTC(2026, 0, 1) + this.#now);

  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + ms, callback };
    this.#timers.add(timer);
    return () => this.#timers.delete(timer);
  }

  /** Timers that wait. */
  get pending(): number {
    return this.#timers.size;
  }

  /** Lets `ms` pass: every timer due is called at its time, and all that follows from it happens before the next. */
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

  /** Time passes, and nothing runs: as in a process that is halted. */
  freeze(ms: number): void {
    this.#now += ms;
  }

  #next(end: number) {
    const due = [...this.#timers].filter(({ at }) => at <= end);
    return due.sort((a, b) => a.at - b.at)[0];
  }
}

/** Resolves when all promises that can go on have. */
export function flushPromises(): Promise<void> {
  return new Promise(resolve => {
    setImmediate(resolve);
  });
}
