/**
 * Pages that say which test shows a sentence: the test exists, with the title that they quote.
 * Unit tests: the name of each says which module it tests. The list of quick tests names files that exist.
 */
import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, posix } from 'node:path';
import { test } from 'node:test';
import { quickFiles } from '../../scripts/quick-tests.ts';
import { projectFiles, ROOT } from '../../scripts/root.ts';

const BESIDE = 'docs/beside-others.md';
/** A test file, in the folder of the one before it where it has none, and the title that may follow it. */
const NAMED = /(?<!\S)[("`]*((?:test\/(?:[\w-]+\/)+)?[\w-]+\.test\.ts)`?(?:: "([^"]+)")?/g;

const read = (page: string) => readFileSync(join(ROOT, page), 'utf8');

function namedIn(text: string): { file: string; title: string | undefined }[] {
  let folder = '';
  return [...text.matchAll(NAMED)].map(([, name = '', title]) => {
    if (name.includes('/')) folder = dirname(name);
    return { file: name.includes('/') ? name : posix.join(folder, name), title };
  });
}

/** Why the test is not there; undefined: it is. */
function problemOf({ file, title }: { file: string; title: string | undefined }): string | undefined {
  if (!existsSync(join(ROOT, file))) return `${file} does not exist`;
  if (title === undefined) return undefined;
  const escaped = RegExp.escape(title);
  return new RegExp(`\\btest\\(\\s*(['"\`])${escaped}\\1`).test(read(file))
    ? undefined
    : `${file} has no test "${title}"`;
}

/** The cells of each row of the tables whose last column is named so. */
function rowsOf(page: string, last: string): string[][] {
  const rows: string[][] = [];
  let isMeant = false;
  for (const line of read(page).split('\n')) {
    const cells = line.split(/(?<!\\)\|/).slice(1, -1);
    if (cells.length === 0) isMeant = false;
    else if (cells.at(-1)?.trim() === last) isMeant = true;
    else if (isMeant && !/^\| ?-/.test(line)) rows.push(cells);
  }
  return rows;
}

test('every test that a page names exists', () => {
  const pages = projectFiles(['*.md', 'docs/**/*.md', 'src/**/*.md']);
  const named = pages.flatMap(page => namedIn(read(page)).map(each => ({ page, problem: problemOf(each) })));
  assert.ok(named.length > 150, String(named.length));
  assert.deepEqual(
    named.filter(({ problem }) => problem !== undefined),
    [],
  );
});

test('every threat, and every sentence on what a pool adds, names its test', () => {
  for (const page of ['SECURITY.md', BESIDE]) {
    const rows = rowsOf(page, 'test');
    assert.ok(rows.length > 10, page);
    for (const cells of rows) assert.notEqual(namedIn(cells.at(-1) ?? '').length, 0, `${page}: ${cells.join('|')}`);
  }
});

/** A unit test is MODULE.test.ts or MODULE-TOPIC.test.ts, at the path of the module in src/; README.md counts as one. */
function namesModule(test: string, modules: ReadonlySet<string>): boolean {
  const path = test.replace(/^test\/unit\//, 'src/').replace(/\.test\.ts$/, '');
  const words = posix.basename(path).split('-');
  return words.some((_, i) => modules.has(posix.join(dirname(path), words.slice(0, i + 1).join('-'))));
}

test('the name of each unit test begins with that of the tested module', () => {
  const modules = new Set(
    projectFiles(['src/**/*.ts', 'src/**/README.md']).map(file =>
      file.replace(/README\.md$/, 'readme').replace(/\.ts$/, ''),
    ),
  );
  const folders = new Set([...modules].map(file => file.split('/')[1]));
  // The others test scripts/, examples/, test/cluster and properties of several modules.
  const tests = projectFiles(['test/unit/**/*.test.ts']).filter(
    file => file.split('/').length === 3 || folders.has(file.split('/')[2]),
  );
  assert.ok(tests.length > 300, String(tests.length));
  assert.deepEqual(
    tests.filter(file => !namesModule(file, modules)),
    [],
  );
  assert.ok(!namesModule('test/unit/nodepool/plan/planner.test.ts', modules), 'no module is a part of a word');
});

test('a missing file and a missing title are found', () => {
  const named = namedIn('test/contract/named-tests.test.ts: "nothing", other.test.ts and `test/a/b.test.ts`');
  assert.deepEqual(named.map(problemOf), [
    'test/contract/named-tests.test.ts has no test "nothing"',
    'test/contract/other.test.ts does not exist',
    'test/a/b.test.ts does not exist',
  ]);
  assert.equal(
    problemOf({ file: 'test/contract/named-tests.test.ts', title: 'a missing file and a missing title are found' }),
    undefined,
  );
});

test('the quick test files exist, and need no specially built program', () => {
  for (const file of quickFiles) {
    assert.equal(problemOf({ file, title: undefined }), undefined);
    assert.doesNotMatch(read(file), /full-test-env|cluster\/controllers/, file);
  }
});
