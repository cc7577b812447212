/** Statistics of samples. */

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
