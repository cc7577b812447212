/** The tables of docs/reference.md are those of the code: UPDATE_PAGES=1 npm test -- contract/transient writes them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { PURPOSES, TRANSIENT_STATES } from '../../src/nodepool/plan/transient-states.ts';

const PAGE = join(ROOT, 'docs/reference.md');

function tables(): string[] {
  const groups = Map.groupBy(TRANSIENT_STATES, ({ what, phase }) => `${what} ${PURPOSES[phase]}`);
  return [...groups].flatMap(([group, states]) => {
    const projects = Map.groupBy(states, ({ project }) => project);
    const rows = [...projects].map(
      ([project, keys]) => `| ${project} | ${keys.map(({ key }) => `\`${key}\``).join(', ')} |`,
    );
    const title = group.replace(/^taint/, 'Taints').replace(/^label/, 'Labels');
    return [`**${title}**`, '', '| set by | keys |', '| --- | --- |', ...rows, ''];
  });
}

test('docs/reference.md lists every transient state', () => {
  const page = readFileSync(PAGE, 'utf8');
  const text = ['<!-- states -->', ...tables(), '<!-- end -->', ''].join('\n');
  const expected = page.replace(/<!-- states -->\n[\s\S]*?<!-- end -->\n/, () => text);
  if (process.env.UPDATE_PAGES) writeFileSync(PAGE, expected);
  else assert.equal(page, expected);
});
