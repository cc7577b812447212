/** The pictures of the documentation exist, are safe to open, and name the command they show. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { basename, dirname, join, normalize } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { commands } from '../../src/commands/index.ts';

const FOLDER = 'docs/pictures';
const MAX_BYTES = 40_000;
/** Drawn by hand, with the title; the others show a command and are drawn by scripts/pictures.ts. */
const DIAGRAMS: Readonly<Record<string, string>> = { 'node-life': 'The life of a node in a pool' };

const read = (path: string) => readFileSync(join(ROOT, path), 'utf8');
const pictures = globSync(`${FOLDER}/*.svg`, { cwd: ROOT }).sort();
const shown = ['README.md', ...globSync('docs/**/*.md', { cwd: ROOT })].flatMap(page =>
  [...read(page).matchAll(/!\[([^\]]*)\]\(([^)\s]+)\)/g)].map(([, alt = '', link = '']) => {
    return { page, alt, path: normalize(join(dirname(page), link)) };
  }),
);

const titleOf = (path: string) => {
  const name = basename(path, '.svg');
  return DIAGRAMS[name] ?? `kubectl nodepool ${name}`;
};

test('every picture in a page exists, and its alt text has its title', () => {
  const ours = shown.filter(({ path }) => path.startsWith(FOLDER));
  assert.notEqual(ours.length, 0);
  for (const { page, alt, path } of ours) {
    assert.ok(pictures.includes(path), `${page} shows ${path}, which is not there`);
    assert.ok(alt.includes(titleOf(path)), `${page}: the text of ${path} is "${alt}"`);
  }
});

test('every picture has a title, named in its file name, and a description', () => {
  assert.notEqual(pictures.length, 0);
  for (const path of pictures) {
    const command = basename(path, '.svg');
    const svg = read(path);
    assert.match(svg, new RegExp(`<title id="title">${titleOf(path)}\\b`), path);
    assert.match(svg, /<desc id="description">[^<]{30,}<\/desc>/, path);
    assert.match(svg, /aria-labelledby="title description"/, path);
    if (command in DIAGRAMS) continue;
    assert.ok(command in commands, path);
    assert.ok(svg.includes(`>$ kubectl nodepool ${command}`), path);
  }
});

test('a diagram is readable on a light and a dark page', () => {
  for (const name of Object.keys(DIAGRAMS)) {
    const svg = read(`${FOLDER}/${name}.svg`);
    const [light = '', dark = ''] = (/<style>([^<]*)<\/style>/.exec(svg)?.[1] ?? '').split(
      '@media (prefers-color-scheme: dark)',
    );
    const colours = (css: string) =>
      new Map(
        [...css.matchAll(/([^{}]+) \{ ([^{}]*#[0-9a-f]{6}[^{}]*) \}/g)].map(([, of = '', to = '']) => [of.trim(), to]),
      );
    assert.ok(colours(light).has('.ground'), name);
    assert.deepEqual([...colours(dark).keys()].sort(), [...colours(light).keys()].sort());
  }
});

test('every picture is small well-formed XML without scripts and external references', () => {
  for (const path of pictures) {
    const svg = read(path);
    assert.ok(svg.length < MAX_BYTES, `${path} has ${svg.length} bytes`);
    assert.deepEqual(problemOf(svg), undefined, path);
    assert.doesNotMatch(svg, /<script|<foreignObject|<!|\son\w+=|href|url\(|@import/i, path);
    assert.doesNotMatch(svg, /NaN|undefined/, path);
  }
});

test('the XML checker finds errors', () => {
  const broken = ['<a>', '<a></b>', '<a b=c/>', '<a b="<"/>', '<a>&nbsp;</a>', '<a/><b/>', 'text', '<a b="1" b="2"/>'];
  for (const text of broken) assert.notEqual(problemOf(text), undefined, text);
  assert.equal(problemOf('<a b="1 &amp; 2"><c/>&lt;\n</a>\n'), undefined);
});

/** The position of an XML error; does not read declarations, comments and CDATA, which pictures do not need. */
function problemOf(xml: string): string | undefined {
  const TOKEN =
    /<\/([a-z]+)>|<([a-z]+)((?: [\w:-]+="(?:[^"<&]|&(?:amp|lt|gt|quot);)*")*)(\/?)>|((?:[^<&]|&(?:amp|lt|gt);)+)/giy;
  const open: string[] = [];
  let roots = 0;
  while (TOKEN.lastIndex < xml.length) {
    const at = TOKEN.lastIndex;
    const [whole, closed, opened, attributes = '', isEmpty, text] = TOKEN.exec(xml) ?? [];
    const here = `at ${at}: ${xml.slice(at, at + 40)}`;
    if (whole === undefined) return here;
    if (closed !== undefined && open.pop() !== closed) return here;
    if (text !== undefined && open.length === 0 && text.trim() !== '') return here;
    if (opened === undefined) continue;
    const names = [...attributes.matchAll(/ ([\w:-]+)=/g)].map(([, name]) => name);
    if (new Set(names).size < names.length) return here;
    if (open.length === 0) roots += 1;
    if (isEmpty === '') open.push(opened);
  }
  return open.length > 0 || roots !== 1 ? `${roots} roots, open: ${open.join(' ')}` : undefined;
}
