/** Statistics of samples. */

const RESAMPLES = 2_000;
/** Of the resamples' medians, this share lies below and above the interval: 95 % are in it. */
const TAIL = 0.025;

export function median(samples: readonly number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2;
}

/** Ratios of rounds that both ran, so that changes of the machine between rounds cancel out. */
export function ratios(samples: readonly number[], peer: readonly number[]): number[] {
  const rounds = Math.min(samples.length, peer.length);
  return samples.slice(0, rounds).map((sample, round) => sample / (peer[round] ?? Number.NaN));
}

export interface Interval {
  low: number;
  high: number;
}

/**
 * The 95 % confidence interval of the median, by the percentile bootstrap. Samples are rounds, so ratios of a round stay
 * paired. The same samples have the same interval; no sample has NaN.
 */
export function interval(samples: readonly number[]): Interval {
  const random = randomNumbers();
  const pick = () => samples[Math.floor(random() * samples.length)] ?? Number.NaN;
  const medians = Array.from({ length: RESAMPLES }, () => median(samples.map(pick))).sort((a, b) => a - b);
  const at = (index: number) => medians[index] ?? Number.NaN;
  const below = Math.floor(RESAMPLES * TAIL);
  return { low: at(below), high: at(RESAMPLES - 1 - below) };
}

export function quantile(samples: readonly number[], share: number): number {
  const sorted = samples.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** From 0 to 1, always the same: mulberry32 (Tommy Ettinger, public domain). */
function randomNumbers(): () => number {
  let state = 1;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
