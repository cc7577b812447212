/** The clock of one process among several on a fake clock: with an origin, a speed and a time of day of its own. */
import type { Clock } from '../../../src/controller/clock.ts';
import type { FakeClock } from './fake-clock.ts';

export interface Skew {
  /** What now() is when the fake clock says 0. */
  origin?: number;
  /** How far the time of day is ahead; behind when below 0. */
  aheadMs?: number;
  /** Of its milliseconds, in one of the fake clock's. */
  speed?: number;
}

export class ProcessClock implements Clock {
  readonly #base: FakeClock;
  readonly #origin: number;
  readonly #speed: number;
  #aheadMs: number;
  #halted = false;
  /** What came due while the process was halted. */
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

  /** Whole milliseconds of the fake clock, so that it always gets on. */
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

  /** Somebody sets the time of day. */
  setAhead(ms: number): void {
    this.#aheadMs = ms;
  }

  /** The process runs no more, as after SIGSTOP; time goes on. */
  halt(): void {
    this.#halted = true;
  }

  /** It goes on; what came due meanwhile is called now. */
  resume(): void {
    this.#halted = false;
    const late = [...this.#late];
    this.#late.clear();
    for (const callback of late) callback();
  }
}
