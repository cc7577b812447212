/** Checks both READMEs and the page of options, except the output of commands, which test/e2e/readme.test.ts compares. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path/posix';
import { test } from 'node:test';
import manifest from '../../oclif.manifest.json' with { type: 'json' };
import { DIFF_EXIT_STATUS, EXIT, EXIT_STATUS } from '../../src/cli/errors.ts';
import { globalFlags } from '../../src/cli/flags.ts';

const read = (page: string) => readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
const readme = read('README.md');
const chinese = read('docs/zh/README.md');
const options = read('docs/commands/options.md');

/** The fenced blocks of a page. */
const blocks = (page: string) =>
  [...page.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, kind = '', text = '']) => ({ kind, text }));

test('the README fits 120 lines', () => {
  assert.ok(readme.trimEnd().split('\n').length <= 120);
});

test('the Chinese README has the same commands, outputs, files and links as the English one', () => {
  const same = (page: string) =>
    blocks(page).map(({ kind, text }) => ({ kind, text: kind === 'sh' ? text.replace(/ +#.*$/gm, '') : text }));
  assert.deepEqual(same(chinese), same(readme));
  const links = (page: string, folder: string) =>
    [...page.matchAll(/\]\(([^)]+)\)/g)].map(([, link = '']) => (link.includes('://') ? link : join(folder, link)));
  const other = (link: string) => !link.endsWith('README.md');
  assert.deepEqual(links(chinese, 'docs/zh').filter(other), links(readme, '').filter(other));
});

/**
 * `console` blocks are run. `yaml` blocks are files that those commands use. `sh` blocks are not run, since they set up
 * this machine or another (packages, an image, a push to a registry), and so they may show commands and no output.
 */
test('a test runs every block that shows output', () => {
  const kinds = blocks(readme);
  assert.deepEqual([...new Set(kinds.map(({ kind }) => kind))].sort(), ['console', 'sh', 'yaml']);
  for (const { kind, text } of kinds) {
    if (kind === 'yaml') assert.match(text, /^# \S+\.yaml\n/);
    if (kind === 'sh') for (const line of text.trim().split('\n')) assert.match(line, /^(git|npm|mkdir|kubectl) /);
  }
});

test('the page of options lists the exit codes as --help does', () => {
  assert.match(manifest.commands.drain.description, /, 130 interrupted\.$/);
  const codes = [...EXIT_STATUS.matchAll(/(\d+) ([^,.]+)/g)].map(([, code, words]) => `| ${code} | ${words}`);
  assert.deepEqual(
    codes.map(row => Number(row.split(' ')[1])),
    Object.values(EXIT),
  );
  for (const row of codes) assert.ok(options.includes(`\n${row}`), row);
  const [, diff = ''] = DIFF_EXIT_STATUS.split('as for ');
  assert.ok(diff !== '' && options.includes(`of \`diff\` are as for ${diff}`), diff);
});

test('the page of options describes -v as --help does', () => {
  const [, levels = 'none'] = (globalFlags.verbosity.summary ?? '').split(/: |\.$/);
  assert.match(levels, /^\d .*, \d /);
  assert.ok(options.includes(`log to stderr: ${levels} |`), levels);
});
