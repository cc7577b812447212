/** Length of an object name; the time grows with the square of it. */
const MAX_LENGTH = 253;

/** The known word that an unknown one probably means: one that it is a prefix of, or a similar one. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  // A single letter is similar to every short word.
  if (word.length < 2 || word.length > MAX_LENGTH) return undefined;
  const lower = word.toLowerCase();
  // Of several, the shortest: `--node` means --nodes, not --node-selector.
  const [begun] = known
    .filter(candidate => candidate.toLowerCase().startsWith(lower))
    .sort((a, b) => a.length - b.length);
  if (begun !== undefined) return begun;
  // A third of the letters may differ: one typing error in short words, two or three in long ones.
  const most = Math.max(1, Math.floor(word.length / 3));
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of known) {
    if (Math.abs(candidate.length - word.length) > most) continue;
    const distance = editDistance(lower, candidate.toLowerCase());
    if (distance <= most && (best === undefined || distance < best.distance)) best = { candidate, distance };
  }
  return best?.candidate;
}

/** The number of insertions, deletions, substitutions and swaps of neighbours that turn one word into the other. */
export function editDistance(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const substitution = a[row - 1] === b[column - 1] ? 0 : 1;
      const swapped = a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      current[column] = Math.min(
        (last[column] ?? 0) + 1,
        (current[column - 1] ?? 0) + 1,
        (last[column - 1] ?? 0) + substitution,
        swapped ? (beforeLast[column - 2] ?? 0) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return last[b.length] ?? 0;
}
