/** The table of docs/reference.md is that of the code: UPDATE_PAGES=1 npm test -- contract/transient writes it. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { PURPOSES, TRANSIENT_STATES } from '../../src/nodepool/plan/transient-states.ts';

const PAGE = join(ROOT, 'docs/reference.md');

function table(): string[] {
  const groups = Map.groupBy(
    TRANSIENT_STATES,
    ({ what, project, phase }) => `${what} | ${project} | ${PURPOSES[phase]}`,
  );
  const rows = [...groups].map(([group, states]) => {
    const [what, project, purpose] = group.split(' | ');
    return `| ${what} | ${states.map(({ key }) => `\`${key}\``).join(', ')} | ${project} | ${purpose} |`;
  });
  return ['| what | keys | who sets it | when |', '| --- | --- | --- | --- |', ...rows];
}

test('docs/reference.md lists every state that passes', () => {
  const page = readFileSync(PAGE, 'utf8');
  const text = ['<!-- states -->', ...table(), '<!-- end -->', ''].join('\n');
  const expected = page.replace(/<!-- states -->\n[\s\S]*?<!-- end -->\n/, () => text);
  if (process.env.UPDATE_PAGES) writeFileSync(PAGE, expected);
  else assert.equal(page, expected);
});
