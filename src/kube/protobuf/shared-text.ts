/**
 * Objects of a list say the same again and again: keys of labels, zones, quantities. What was just read is compared
 * faster than it is made anew, and stands in memory once.
 */

/** Longer ones are hardly ever the same. */
const LONGEST = 64;
/** A power of two. The last text of each slot is remembered. */
const SLOTS = 1024;
const remembered = new Array<string | undefined>(SLOTS).fill(undefined);

/** The UTF-8 text from start to end. */
export function sharedText(bytes: Buffer, start: number, end: number): string {
  const length = end - start;
  if (length > LONGEST) return bytes.toString('utf8', start, end);
  const slot = slotOf(bytes, start, end);
  const known = remembered[slot];
  if (known !== undefined && known.length === length && isAt(known, bytes, start)) return known;
  const text = bytes.toString('utf8', start, end);
  // As many characters as bytes: ASCII, which isAt() can compare.
  if (text.length === length) remembered[slot] = text;
  return text;
}

/** By its length and four of its bytes: keys differ at their ends and in the middle. */
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
