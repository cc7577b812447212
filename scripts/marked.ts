/** Reads and replaces the generated part of a page in docs/, which is between two comments. */
import { readFileSync, writeFileSync } from 'node:fs';

/** The text between `<!-- NAME: begin -->` and `<!-- NAME: end -->`. Throws when the page has no such part. */
export function readMarked(path: string, name: string): string {
  return partsOf(path, name).text.trim();
}

/** Replaces that text. Throws when the page has no such part. */
export function rewriteMarked(path: string, name: string, text: string): void {
  const { before, after } = partsOf(path, name);
  writeFileSync(path, `${before}\n\n${text}\n\n${after}`);
}

/** @returns `before` and `after` include the comments */
function partsOf(path: string, name: string): { before: string; text: string; after: string } {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [before, rest] = readFileSync(path, 'utf8').split(begin);
  const [text, after] = rest?.split(end) ?? [];
  if (before === undefined || text === undefined || after === undefined) throw new Error(`${path} has no part ${name}`);
  return { before: before + begin, text, after: end + after };
}
