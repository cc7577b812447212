/** The regular expressions in src/, and texts that make them backtrack. */
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Found {
  file: string;
  regex: RegExp;
}

/** A regex literal after a token that a value can follow. */
const LITERAL =
  /(?<=(?:^|[=(,[:?!&|]|return|=>)\s*)\/(?![*/])((?:[^/\\[\n]|\\.|\[(?:[^\]\\\n]|\\.)*\])+)\/([dgimsuvy]*)/g;
const COMMENT = /^\s*(?:\/\/|\/?\*)/;

export function regexesIn(root: string): Found[] {
  return globSync('src/**/*.ts', { cwd: root }).flatMap(file =>
    readFileSync(join(root, file), 'utf8')
      .split('\n')
      .filter(line => !COMMENT.test(line))
      .flatMap(line =>
        [...line.matchAll(LITERAL)].map(([, source = '', flags = '']) => ({ file, regex: new RegExp(source, flags) })),
      ),
  );
}

/** One of each class of characters, and each of the expression's own characters. */
const UNITS = [
  ...'0aA \t\n.-:/_"\'\\=[]{}(),;@#%!<>*+',
  '\u0301',
  '\u{1f600}',
  '1.',
  '1s',
  'a-',
  'a.',
  '"\\',
  'a/',
  ':1',
];
const ENDS = ['\u0000', '\n'];

/** Texts of that length that begin like a match of the expression. */
export function* attacksOn({ source }: RegExp, length: number): Generator<string> {
  const [start = ''] = /^\^?((?:[A-Za-z0-9 "=_-]|\\[./-])*)/.exec(source) ?? [];
  const begin = start.replaceAll(/[\\^]/g, '');
  const own = [...new Set(source.replaceAll(/\\[a-zA-Z]|[\\^$]/g, ''))].filter(character => !UNITS.includes(character));
  for (const unit of [...UNITS, ...own.slice(0, 20)]) {
    for (const end of ENDS) {
      for (const before of new Set(['', begin])) yield before + unit.repeat(Math.ceil(length / unit.length)) + end;
    }
  }
}
