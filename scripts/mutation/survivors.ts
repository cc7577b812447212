/**
 * Mutants that stay alive for a reason: no test can tell them from the code (`equivalent`), or what they change is speed
 * alone. They count as survivors all the same; `npm run mutate` lists only the others.
 */

export interface Accepted {
  /** The mutated code, from the start of its first line to the end of its last, with single spaces. */
  code: string;
  why: string;
}

/** By path from the project's folder. */
export const ACCEPTED: Record<string, Accepted[]> = {};
