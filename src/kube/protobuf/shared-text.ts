/**
 * Interns strings: objects of a list repeat label keys, zones, quantities. Comparing with a known string is faster than
 * creating one, and it is in memory once.
 */

/** Longer strings rarely repeat. */
const MAX_LENGTH = 64;
/** A power of two. Each slot has the last string with its hash. */
const SLOTS = 1024;
const remembered = new Array<string | undefined>(SLOTS).fill(undefined);

/** The UTF-8 text from start to end. */
export function sharedText(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length > MAX_LENGTH) return bytes.toString('utf8', start, end);
  const slot = slotOf(bytes, start, end);
  const known = remembered[slot];
  if (known !== undefined && known.length === length && isAt(known, bytes, start)) return known;
  const text = bytes.toString('utf8', start, end);
  // As many characters as bytes: ASCII, as isAt() requires.
  if (text.length === length) remembered[slot] = text;
  return text;
}

/** A hash of its length and four bytes: keys differ at the ends and in the middle. */
function slotOf(bytes: Buffer, start: number, end: number): number {
  const at = (place: number) => bytes[place] ?? 0;
  return (
    (end - start + at(start) * 7 + at((start + end) >> 1) * 31 + at(end - 2) * 127 + at(end - 1) * 61) & (SLOTS - 1)
  );
}

function isAt(text: string, bytes: Buffer, start: number): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) !== bytes[start + i]) return false;
  return true;
}
