/** Random choices that a seed repeats. */

/** From 0 up to, not including, 1; the same for the same seed. */
export type Random = () => number;

/** Mulberry32: small, and good enough to choose by. */
export function seeded(seed: number): Random {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** Throws when there is nothing to choose from. */
export function pick<T>(random: Random, from: readonly T[]): T {
  const index = Math.floor(random() * from.length);
  if (index >= from.length) throw new Error('nothing to choose from');
  return from[index] as T;
}

/** One of the choices, as often as its weight says. */
export function weighted<T>(random: Random, choices: readonly (readonly [weight: number, choice: T])[]): T {
  return pick(
    random,
    choices.flatMap(([weight, choice]) => new Array<T>(weight).fill(choice)),
  );
}
