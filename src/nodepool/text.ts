import { ownValue } from './json.ts';

/** Irregular plurals of counted words, and of kinds whose resource name is derived from the kind. */
const IRREGULAR: Readonly<Record<string, string>> = {
  policy: 'policies',
  MutatingAdmissionPolicy: 'MutatingAdmissionPolicies',
  NetworkPolicy: 'NetworkPolicies',
  PriorityClass: 'PriorityClasses',
  RuntimeClass: 'RuntimeClasses',
  ValidatingAdmissionPolicy: 'ValidatingAdmissionPolicies',
};

/** `1 node`, `2 nodes`. */
export function plural(count: number, one: string): string {
  return `${count} ${noun(count, one)}`;
}

/** `node` for 1, otherwise `nodes`. */
export function noun(count: number, one: string): string {
  return count === 1 ? one : (ownValue(IRREGULAR, one) ?? `${one}s`);
}

/** `a, b and 3 more`: at most `most` names, then the number of the others. */
export function firstFew(names: readonly string[], most: number, separator = ', ', last = ' '): string {
  return names.slice(0, most).join(separator) + andMore(names.length - most, last);
}

/** `and 3 more`, between `before` and `after`; empty for 0 and less. */
export function andMore(count: number, before = '', after = ''): string {
  return count > 0 ? `${before}and ${count} more${after}` : '';
}

const MAX_WARNINGS = 10;

/** The first warnings, and how many more there are: thousands of pods can have the same error. */
export function firstWarnings(all: readonly string[]): string[] {
  const more = all.length - MAX_WARNINGS;
  return more > 0 ? [...all.slice(0, MAX_WARNINGS), andMore(more)] : [...all];
}

/** The resource of a kind, as in API paths and RBAC: `networkpolicies`. */
export function resourceOf(kind: string): string {
  return noun(2, kind).toLowerCase();
}

/** The longest prefix of the text with at most `limit` bytes of UTF-8. Does not split a character. */
export function cutBytes(text: string, limit: number): string {
  const bytes = new TextEncoder().encode(text).subarray(0, limit);
  return new TextDecoder('utf-8', { ignoreBOM: true }).decode(bytes, { stream: true });
}

/** Truncates the text to at most `limit` bytes of UTF-8; a truncated text ends with an ellipsis. */
export function ellipsize(text: string, limit: number): string {
  const fits = new TextEncoder().encode(text).length <= limit;
  return fits ? text : `${cutBytes(text, limit - new TextEncoder().encode('…').length)}…`;
}

/** Maximum length, that of an object name; the time is quadratic. */
const MAX_LENGTH = 253;

/** The known word that an unknown one probably means: one that starts with it, or a similar one. */
export function suggest(word: string, known: readonly string[]): string | undefined {
  // A single letter is similar to every short word.
  if (word.length < 2 || word.length > MAX_LENGTH) return undefined;
  const lower = word.toLowerCase();
  // If several match, the shortest: `--node` means --nodes, not --node-selector.
  const [begun] = known
    .filter(candidate => candidate.toLowerCase().startsWith(lower))
    .sort((a, b) => a.length - b.length);
  if (begun !== undefined) return begun;
  // A third of the letters may differ: one typo in short words, two or three in long ones.
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

/** Decodes a file as kubectl does: UTF-16 with a byte order mark (`>` of PowerShell writes it), else UTF-8. */
export function decodeText(bytes: Uint8Array): string {
  const mark = (bytes[0] ?? 0) * 256 + (bytes[1] ?? 0);
  const encoding = mark === 0xfffe ? 'utf-16le' : mark === 0xfeff ? 'utf-16be' : 'utf-8';
  return new TextDecoder(encoding).decode(bytes);
}

/** Quotes a word for a POSIX shell; any characters are allowed. */
export function singleQuoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** By UTF-16 code units, as Array.sort() without a function. */
export function compareTexts(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
