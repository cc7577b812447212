/** Every command has a section in docs/commands, and a test compares the output in those pages. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { anchor } from '../../site/anchor.ts';
import { commands } from '../../src/commands/index.ts';

const read = (paths: string[]) => paths.map(path => ({ path, text: readFileSync(join(ROOT, path), 'utf8') }));
const pages = read(globSync('docs/commands/*.md', { cwd: ROOT }));
const readme = readFileSync(join(ROOT, 'README.md'), 'utf8');

/** The heading of a page or section names its commands: `# cordon, uncordon`, `## nodes [POOL...]`. */
test('the reference has a section for every command', () => {
  const headings = pages.flatMap(({ text }) => text.replace(/^```.*?^```$/gms, '').match(/^#+ .*$/gm) ?? []);
  const named = new Set(headings.flatMap(heading => heading.toLowerCase().match(/[a-z]+/g) ?? []));
  assert.deepEqual(
    Object.keys(commands).filter(command => !named.has(command)),
    [],
  );
});

test('a test runs every page that shows output', () => {
  const tests = read(globSync('test/e2e/{page-*,readme}.test.ts', { cwd: ROOT }));
  const isRun = (page: string) => tests.some(({ text }) => text.includes(page));
  const shown = read(globSync('docs/**/*.md', { cwd: ROOT })).filter(({ text }) => /^```(console|text)$/m.test(text));
  assert.ok(shown.length > 15, String(shown.length));
  assert.deepEqual(
    shown.map(({ path }) => path).filter(path => !isRun(path)),
    [],
  );
});

test('the README links to every page', () => {
  assert.deepEqual(
    pages.map(({ path }) => path).filter(path => !readme.includes(`(${path}`)),
    [],
  );
});

test('links between pages lead to existing files and headings', () => {
  const missing: string[] = [];
  for (const { path, text } of read(globSync('{*,docs/**/*,src/**/*,examples/**/*}.md', { cwd: ROOT }))) {
    for (const [, file = '', hash] of text.matchAll(/\]\((?!https?:)([^)#\s]*)(?:#([^)\s]+))?\)/g)) {
      const target = file === '' ? path : join(path, '..', file);
      const found = globSync(target, { cwd: ROOT })[0];
      const lines = found?.endsWith('.md') ? readFileSync(join(ROOT, found), 'utf8').match(/^#+ .*$/gm) : [];
      if (
        found === undefined ||
        (hash !== undefined && !lines?.some(line => anchor(line.replace(/^#+ /, '')) === hash))
      ) {
        missing.push(`${path}: ${file}#${hash ?? ''}`);
      }
    }
  }
  assert.deepEqual(missing, []);
});
