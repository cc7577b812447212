/** Random numbers that a seed repeats (mulberry32). */
export class RandomSource {
  /** From 0 to below 1, as Math.random(). */
  readonly next: () => number;

  constructor(seed: number) {
    let state = seed >>> 0;
    this.next = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
    };
  }

  upTo(limit: number): number {
    return this.next() * limit;
  }

  /** A whole number below the limit. */
  below(limit: number): number {
    return Math.floor(this.upTo(limit));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<T>(choices: readonly [T, ...T[]]): T {
    return choices[this.below(choices.length)] ?? choices[0];
  }
}
