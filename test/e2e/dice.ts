/** Random choices, with the method names of a generator. */
import { pick, seeded } from '../fault/random.ts';

export class Dice {
  readonly #random: () => number;

  constructor(seed: number) {
    this.#random = seeded(seed);
  }

  /** @param probability from 0 to 1 */
  chance(probability: number): boolean {
    return this.#random() < probability;
  }

  /** A whole number, both ends included. */
  between(from: number, to: number): number {
    return from + Math.floor(this.#random() * (to - from + 1));
  }

  /** From 0 up to, not including, the limit. */
  upTo(limit: number): number {
    return this.#random() * limit;
  }

  pick<T>(from: readonly T[]): T {
    return pick(this.#random, from);
  }
}
