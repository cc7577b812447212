import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { Command } from '@oclif/core';
import { globalFlags } from '../../src/cli/flags.ts';
import { commands } from '../../src/commands/index.ts';

const SNAPSHOT = new URL('./command-surface.txt', import.meta.url);

/** Commands, arguments and flags, one per line, that users' scripts rely on. */
async function surface(): Promise<string> {
  const blocks: string[] = [];
  for (const [id, { load }] of Object.entries(commands)) {
    const command = (await load()).default;
    blocks.push([id, ...args(command), ...flags(command.flags ?? {})].join('\n  '));
  }
  blocks.push(['(every verb)', ...flags(globalFlags)].join('\n  '));
  return `${blocks.join('\n\n')}\n`;
}

function args(command: Command.Class): string[] {
  return Object.entries(command.args).map(([name, { required, multiple }]) => {
    const shown = `${name.toUpperCase()}${multiple ? '...' : ''}`;
    return required ? shown : `[${shown}]`;
  });
}

function flags(all: Command.Class['flags']): string[] {
  return Object.entries(all).map(([name, flag]) => {
    const short = flag.char === undefined ? '' : `-${flag.char}, `;
    const needed = flag.required ? ' (required)' : '';
    if (flag.type === 'boolean') return `${short}--${name}${needed}`;
    const value = flag.options?.join('|') ?? flag.helpValue ?? 'VALUE';
    const fallback = flag.default === undefined ? '' : ` (default ${flag.default})`;
    return `${short}--${name}=${value}${flag.multiple ? ' (repeatable)' : ''}${fallback}${needed}`;
  });
}

// After an intended change: UPDATE_SURFACE=1 node --test test/contract/command-surface.test.ts
test('the command surface equals the checked-in snapshot', async () => {
  const actual = await surface();
  if (process.env.UPDATE_SURFACE) writeFileSync(SNAPSHOT, actual);
  assert.equal(actual, readFileSync(SNAPSHOT, 'utf8'));
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
