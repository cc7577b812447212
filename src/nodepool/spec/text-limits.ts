/** Limits for a YAML or JSON text of unknown origin, before and after its aliases are expanded. */

/** In characters; enough for 15,000 pools. Three million brackets cost a parser half a gigabyte. */
export const MAX_TEXT_LENGTH = 4 * 1024 * 1024;
/** Parsers allow 100 levels; an alias to an alias adds more. */
const MAX_DEPTH = 200;

/** The text is valid but exceeds the limits. */
export class TooLargeError extends Error {
  override readonly name = 'TooLargeError';
}

/** @throws TooLargeError */
export function checkLength(text: string): void {
  if (text.length <= MAX_TEXT_LENGTH) return;
  throw new TooLargeError(`${text.length} characters; the limit is ${MAX_TEXT_LENGTH}`);
}

/** Checks the size with all aliases expanded: ten lines can represent billions of values. @throws TooLargeError */
export function checkExpanded(values: readonly unknown[]): void {
  const known = new Map<object, TextSize>();
  let length = 0;
  for (const value of values) {
    length += measure(value, 0, known).length;
    if (length > MAX_TEXT_LENGTH) {
      throw new TooLargeError(`more than ${MAX_TEXT_LENGTH} characters with expanded aliases`);
    }
  }
}

interface TextSize {
  length: number;
  depth: number;
}

function measure(value: unknown, level: number, known: Map<object, TextSize>): TextSize {
  if (typeof value === 'string') return { length: value.length + 1, depth: 0 };
  if (typeof value !== 'object' || value === null) return { length: 1, depth: 0 };
  const before = known.get(value);
  if (before !== undefined && level + before.depth <= MAX_DEPTH) return before;
  if (level >= MAX_DEPTH || before !== undefined) {
    throw new TooLargeError(`more than ${MAX_DEPTH} levels with expanded aliases`);
  }
  const found: TextSize = { length: 1, depth: 0 };
  for (const [key, member] of Object.entries(value)) {
    const inner = measure(member, level + 1, known);
    found.length += key.length + inner.length;
    found.depth = Math.max(found.depth, inner.depth + 1);
  }
  known.set(value, found);
  return found;
}
