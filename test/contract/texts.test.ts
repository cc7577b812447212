import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { projectFiles, ROOT } from '../../scripts/root.ts';
import { sentencesOf, type Text, textsIn, textsInYaml, textsOf, wordsOf } from '../../scripts/texts.ts';

/** All texts in one list, to be read together. */
const FIXTURE = join(ROOT, 'test/contract/texts.txt');
const MAX_WORDS = 20;
/** Scripts, pages and lists of field names: their lines are no sentences. */
const NOT_PROSE = ['src/commands/completion/scripts.ts', 'src/commands/report/', 'src/kube/api/shape.ts'];
/** They make a reader stop: pronouns without a noun, trailing prepositions, words that nobody expects in a tool. */
const PHRASES: RegExp[] = [
  /\banew\b/,
  /\bby then\b/,
  /\bsays otherwise\b/,
  /\bagain and again\b/,
  /\bmend (it|that|them|this|the)\b/,
  /\bas of (kubectl|the start|the last)\b/,
  /\bis of one\b/,
  /\bannotation of one\b/,
  /\bin maintenance of\b/,
  /\bspec of before\b/,
  /\bnodes of before\b/,
  /\bwhat it is for\b/,
  /\bif that is meant\b/,
  /\blook(ed)? at (selects|what)\b/,
  /\bobject that was looked at\b/,
  /\bgains anything\b/,
  /\bare not as their\b/,
  /\bdoes not get them\b/,
  /\basks no budget\b/,
  /\bwould not come back to (its|their)\b/,
  /\btake the place of others\b/,
  /\bin place of others\b/,
  /\bhas no valid record\b/,
  /\bhas to settle first\b/,
  /\bno news for\b/,
  /\bstep after step\b/,
  /\bfails where that\b/,
  /\bis its member, and not\b/,
  /\bselects nodes that other pools select\b/,
  /\bjudged as if\b/,
  /\bnot begun\b/i,
  /\bunder way\b/i,
  /\bto be one of: /,
  /\bwrite it as in\b/,
  /\bno nodepool is specified\b/,
  /\blacks the permission\b/,
  /\bis named like\b/,
  /\btime of the server\b/i,
  /\bnodes in drift\b/i,
  /\bnodes of no pool\b/i,
  /\bwhich a kubelet may set\b/,
  /\bdoes not get \S+ nodes\b/,
  /\bwere looked at\b/,
  /\bname others with\b/,
  /\), with it\b/,
  /\bthat it would evict are evicted\b/,
  /\bout of date: it says\b/,
  /\bsets spec\S+ back\b/,
  /\bEvents that have expired\b/,
  /\bearlier writes of a field manager\b/,
  /\bof the pool were created\b/,
  /\bmanages spec\b/,
  /\brid of\b/,
  /\bgets its revision when\b/,
  /\bas they were given\b/,
  /\bfrom coming back\b/,
  /\bhas not the form\b/,
  /\bnext: for example: /,
  /\bis for tables, and\b/,
  /\bexclude each other\b/,
];

describe('the texts of the program', () => {
  const texts = textsOf();

  test('are those of test/contract/texts.txt', () => {
    const list = listOf(texts);
    if (process.env.UPDATE_TEXTS !== undefined) writeFileSync(FIXTURE, list);
    assert.equal(
      list,
      readFileSync(FIXTURE, 'utf8'),
      'after an intended change: UPDATE_TEXTS=1, and read the diff aloud',
    );
  });

  test(`have no sentence of more than ${MAX_WORDS} words`, () => {
    const prose = texts.filter(({ file }) => !NOT_PROSE.some(each => file.startsWith(each)));
    const long = prose.flatMap(({ file, text }) =>
      sentencesOf(text)
        .filter(sentence => wordsOf(sentence) > MAX_WORDS)
        .map(sentence => `${file}: ${sentence}`),
    );
    assert.deepEqual(long, []);
  });

  test('have no phrase that has to be read twice', () => {
    assert.deepEqual(
      texts.flatMap(({ file, text }) => phrasesIn(text).map(phrase => `${file}: ${phrase} in: ${text}`)),
      [],
    );
  });
});

test('pages have no phrase that has to be read twice', () => {
  const found = projectFiles(['*.md', 'docs/**/*.md', 'charts/**/*.md', 'examples/**/*.md', 'site/start.md']).flatMap(
    file => {
      const text = readFileSync(join(ROOT, file), 'utf8').replace(/\s+/g, ' ');
      return phrasesIn(text).map(phrase => `${file}: ${phrase}`);
    },
  );
  assert.deepEqual(found, []);
});

describe('textsIn()', () => {
  test('finds strings and templates of two words or more, in the order of lines', () => {
    // biome-ignore lint/suspicious/noTemplateCurlyInString: it is the source of a template.
    const source = "const a = `node ${b} is gone`;\nconst c = ['pods', 'no pods', 'spec.labels'];";
    assert.deepEqual(textsIn('src/a.ts', source), [
      { file: 'src/a.ts', line: 1, text: 'node {} is gone' },
      { file: 'src/a.ts', line: 2, text: 'no pods' },
    ]);
  });

  test('finds the text of JSX', () => {
    assert.deepEqual(textsIn('src/a.tsx', 'const a = <Text>No pods</Text>;'), [
      { file: 'src/a.tsx', line: 1, text: 'No pods' },
    ]);
  });
});

test('textsInYaml() finds descriptions and messages', () => {
  const source = 'description: A pool.\nrules:\n- rule: self > 0\n  message: must be positive\n---\nsummary: No pool\n';
  assert.deepEqual(
    textsInYaml('a.yaml', source).map(({ text }) => text),
    ['A pool.', 'must be positive', 'No pool'],
  );
});

test('sentencesOf() splits at full stops, colons, semicolons and lines; wordsOf() counts words', () => {
  assert.deepEqual(sentencesOf('One two; three: four.\nFive'), ['One two;', 'three:', 'four.', 'Five']);
  assert.equal(wordsOf('See node {} - 3 of {}.'), 5);
});

/** The texts of a file below its name. Without line numbers, so that a line that moves changes nothing. */
function listOf(texts: Text[]): string {
  const lines: string[] = [];
  let file: string | undefined;
  for (const text of texts) {
    if (text.file !== file) lines.push(...(file === undefined ? [] : ['']), `# ${text.file}`);
    file = text.file;
    lines.push(JSON.stringify(text.text).slice(1, -1).replaceAll('\\"', '"'));
  }
  return `${lines.join('\n')}\n`;
}

function phrasesIn(text: string): string[] {
  return PHRASES.flatMap(phrase => phrase.exec(text)?.[0] ?? []);
}
