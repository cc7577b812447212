/** The table of docs/metrics.md is that of the code: UPDATE_PAGES=1 npm test -- contract/metrics writes it. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { ROOT } from '../../scripts/root.ts';
import { Registry } from '../../src/controller/metrics.ts';
import { standardMetrics } from '../../src/controller/standard-metrics.ts';
import { PoolMetrics } from '../../src/operations/pool-metrics.ts';

const PAGE = join(ROOT, 'docs/metrics.md');
const TABLE = /<!-- table -->\n[\s\S]*?<!-- end of table -->\n/;

test('docs/metrics.md lists every metric with its type, its labels and its help', () => {
  const registry = new Registry();
  standardMetrics(registry);
  new PoolMetrics(registry, { now: () => new Date(), version: '0.0.0' });
  const rows = registry
    .list()
    .map(
      ({ name, type, labels, help }) =>
        `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${help} |`,
    );
  const table = ['| metric | type | labels | what it is |', '| --- | --- | --- | --- |', ...rows.sort()].join('\n');
  const page = readFileSync(PAGE, 'utf8');
  const expected = page.replace(TABLE, () => `<!-- table -->\n${table}\n<!-- end of table -->\n`);
  if (process.env.UPDATE_PAGES) writeFileSync(PAGE, expected);
  else assert.equal(page, expected);
});
