/** Every command has a section in docs/commands, and a test compares the output in those pages. */
import assert from 'node:assert/strict';
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { brokenLinks } from '../../site/links.ts';
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
  assert.deepEqual(brokenLinks(ROOT), []);
});

test('a link to a missing file or heading is found', t => {
  const folder = mkdtempSync(join(tmpdir(), 'nodepool-links-'));
  t.after(() => rmSync(folder, { recursive: true }));
  writeFileSync(join(folder, 'a.md'), '# One `-o` two\n[x](#one--o-two) [x](b.md) [x](#two) [x](a.md#three)\n');
  assert.deepEqual(brokenLinks(folder), ['a.md: b.md', 'a.md: #two', 'a.md: a.md#three']);
});
