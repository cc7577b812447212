/** The clock of one of several processes on a fake clock, with its own origin, speed and wall clock. */
import type { Clock } from '../../../src/controller/clock.ts';
import type { FakeClock } from './fake-clock.ts';

export interface Skew {
  /** What now() is when the fake clock says 0. */
  origin?: number;
  /** How far the wall clock is ahead; negative: behind. */
  aheadMs?: number;
  /** Its milliseconds per millisecond of the fake clock. */
  speed?: number;
}

export class ProcessClock implements Clock {
  readonly #base: FakeClock;
  readonly #origin: number;
  readonly #speed: number;
  #aheadMs: number;
  #halted = false;
  /** Timers that came due while the process was halted. */
  readonly #late = new Set<() => void>();

  constructor(base: FakeClock, { origin = 0, aheadMs = 0, speed = 1 }: Skew = {}) {
    this.#base = base;
    this.#origin = origin;
    this.#aheadMs = aheadMs;
    this.#speed = speed;
  }

  now(): number {
    return this.#origin + this.#base.now() * this.#speed;
  }

  readonly wall = (): Date => new Date(this.#base.wall().getTime() + this.#aheadMs);

  /** Whole milliseconds of the fake clock, so that it always advances. */
  after(ms: number, callback: () => void): () => void {
    const cancel = this.#base.after(Math.ceil(ms / this.#speed), () => {
      if (this.#halted) this.#late.add(callback);
      else callback();
    });
    return () => {
      cancel();
      this.#late.delete(callback);
    };
  }

  /** Sets the wall clock. */
  setAhead(ms: number): void {
    this.#aheadMs = ms;
  }

  /** Halts the process, as SIGSTOP does; time passes. */
  halt(): void {
    this.#halted = true;
  }

  /** Continues the process, and runs timers that came due meanwhile. */
  resume(): void {
    this.#halted = false;
    const late = [...this.#late];
    this.#late.clear();
    for (const callback of late) callback();
  }
}
