/** docs/commands/view.md has the keys of the help, and the help those of the page. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { helpLines } from '../../../src/view/contents.ts';

const root = join(import.meta.dirname, '../../..');

test('the page lists exactly the keys of the help', async () => {
  const page = await readFile(join(root, 'docs/commands/view.md'), 'utf8');
  const [, section = ''] = /^## Keys\n([\s\S]*?)^## /m.exec(page) ?? [];
  const onPage = [...section.matchAll(/^\| (?!key|---)(.*?) \|/gm)].flatMap(([, keys = '']) =>
    keys.replace('page up', 'pgup').replace('page down', 'pgdn').replaceAll('`', '').split(/[, ]+/),
  );
  const glyphs = ['█', '▒', '░'];
  const inHelp = helpLines(100)
    .flatMap(line => line.slice(0, 18).trim().split(/ +/))
    .filter(key => !glyphs.includes(key));
  // The help has these in the text of the first line.
  assert.deepEqual(onPage.toSorted(), [...inHelp, 'pgup', 'pgdn', 'space'].toSorted());
});
