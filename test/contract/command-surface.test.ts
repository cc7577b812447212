import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { MANIFEST, manifestText } from '../../scripts/manifest.ts';
import { commands } from '../../src/commands/index.ts';

test('the commands equal those of oclif.manifest.json', async () => {
  assert.equal(readFileSync(MANIFEST, 'utf8'), await manifestText(), 'after an intended change: npm run manifest');
});

test('every command has a one-line summary and examples that begin with the program name', async () => {
  for (const [id, { load }] of Object.entries(commands)) {
    const { summary, examples } = (await load()).default;
    assert.match(summary ?? '', /^[A-Z][^\n]{10,80}\.$/, id);
    assert.ok(examples.length > 0, `${id} has no example`);
    for (const example of examples) {
      assert.ok(typeof example === 'object' && example.command.startsWith(`<%= config.bin %> ${id}`), id);
    }
  }
});

/** Whose meaning depends on the command. */
const VARY = [
  'all',
  'annotation',
  'controller',
  'for',
  'handler',
  'label',
  'node-selector',
  'nodes',
  'output',
  'pod-counts',
  'resources',
  'selector',
  'startup-taint',
  'sort-by',
  'taint',
  'timeout',
  'wait',
  'watch',
  'yes',
];
/** Their dry runs do more than others: `edit` in an editor has none. */
const OWN_DRY_RUN = ['edit', 'install', 'reconcile'];

test('a flag has one short form and one text in all commands', async () => {
  const [chars, texts] = [new Map<string, Set<unknown>>(), new Map<string, Set<unknown>>()];
  const note = (map: Map<string, Set<unknown>>, name: string, value: unknown) =>
    map.set(name, (map.get(name) ?? new Set()).add(value));
  for (const [id, { load }] of Object.entries(commands)) {
    for (const [name, flag] of Object.entries((await load()).default.flags ?? {})) {
      note(chars, name, flag.char);
      if (VARY.includes(name) || (name === 'dry-run' && OWN_DRY_RUN.includes(id))) continue;
      note(texts, name, `${flag.type === 'option' ? flag.helpValue : ''} ${flag.summary}`);
    }
  }
  for (const map of [chars, texts]) {
    assert.deepEqual(
      [...map].filter(([, values]) => values.size > 1),
      [],
    );
  }
});
