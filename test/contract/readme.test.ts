/** Checks the README and the page of options, except the output of commands, which test/e2e/readme.test.ts compares. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import manifest from '../../oclif.manifest.json' with { type: 'json' };
import { DIFF_EXIT_STATUS, EXIT, EXIT_STATUS } from '../../src/cli/errors.ts';
import { globalFlags } from '../../src/cli/flags.ts';

const read = (page: string) => readFileSync(new URL(`../../${page}`, import.meta.url), 'utf8');
const readme = read('README.md');
const options = read('docs/commands/options.md');

test('the README fits three screens', () => {
  assert.ok(readme.split('\n').length <= 200);
});

/**
 * `console` blocks are run. `yaml` blocks are files that those commands use. `sh` blocks are not run, since they set up
 * this machine or another (packages, an image, a push to a registry), and so they may show commands and no output.
 */
test('a test runs every block that shows output', () => {
  const kinds = [...readme.matchAll(/^```(\w*)\n(.*?)^```$/gms)].map(([, kind = '', text = '']) => ({ kind, text }));
  assert.deepEqual([...new Set(kinds.map(({ kind }) => kind))].sort(), ['console', 'sh', 'yaml']);
  for (const { kind, text } of kinds) {
    if (kind === 'yaml') assert.match(text, /^# \S+\.yaml\n/);
    if (kind === 'sh')
      for (const line of text.trim().split('\n')) assert.match(line, /^(npm|mkdir|ln|kubectl|docker) /);
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
  const [, diff = ''] = DIFF_EXIT_STATUS.split('as of ');
  assert.ok(diff !== '' && options.includes(`\`diff\` ends as ${diff}`), diff);
});

test('the page of options describes -v as --help does', () => {
  const [, levels = 'none'] = (globalFlags.verbosity.summary ?? '').split(/: |\.$/);
  assert.match(levels, /^\d .*, \d /);
  assert.ok(options.includes(`log to stderr: ${levels} |`), levels);
});
