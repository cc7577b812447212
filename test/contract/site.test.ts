/** The navigation of the site. Its links are checked by test/contract/pages.test.ts and by its build. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { projectFiles, ROOT } from '../../scripts/root.ts';
import { anchor } from '../../site/anchor.ts';
import { DECISIONS, HOME, OVERVIEW, SECTIONS } from '../../site/navigation.ts';

test('every page is in the navigation once', () => {
  const listed = SECTIONS.flatMap(({ pages }) => Object.keys(pages)).sort();
  assert.deepEqual(listed, [...new Set(listed)]);
  assert.deepEqual(
    listed,
    projectFiles(['*.md', 'docs/**/*.md']).filter(file => !file.startsWith(`${DECISIONS}/`)),
  );
  assert.ok(globSync(`${DECISIONS}/*.md`, { cwd: ROOT }).length > 30);
});

test('navigation begins with the README, and titles fit the sidebar', () => {
  assert.equal(Object.keys(SECTIONS[0]?.pages ?? {})[0], HOME);
  for (const title of SECTIONS.flatMap(({ pages }) => Object.values(pages))) assert.ok(title.length <= 27, title);
});

test('the start page links to existing pages and headings', () => {
  const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');
  const links = [...read('site/start.md').matchAll(/link: \/([^#\s]+)(?:#(\S+))?$/gm)];
  assert.ok(links.length >= 6);
  for (const [text, path = '', hash] of links) {
    const page = path === OVERVIEW ? HOME : `${path}.md`;
    assert.ok(
      SECTIONS.some(({ pages }) => page in pages),
      text,
    );
    const headings = (read(page).match(/^#+ .*$/gm) ?? []).map(line => anchor(line.replace(/^#+ /, '')));
    assert.ok(hash === undefined || headings.includes(hash), text);
  }
});
