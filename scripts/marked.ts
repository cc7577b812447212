/** Pages of docs/ with a part that a run writes, between two comments. */
import { readFileSync, writeFileSync } from 'node:fs';

/** Puts the text between `<!-- NAME: begin -->` and `<!-- NAME: end -->` of the page. Throws when it has no such part. */
export function rewriteMarked(path: string, name: string, text: string): void {
  const [begin, end] = [`<!-- ${name}: begin -->`, `<!-- ${name}: end -->`];
  const [before, rest] = readFileSync(path, 'utf8').split(begin);
  const after = rest?.split(end)[1];
  if (before === undefined || after === undefined) throw new Error(`${path} has no part ${name}`);
  writeFileSync(path, `${before}${begin}\n\n${text}\n\n${end}${after}`);
}
