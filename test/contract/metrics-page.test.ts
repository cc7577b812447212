/** The tables of docs/metrics.md are those of the code and of the chart: UPDATE_PAGES=1 npm test -- contract/metrics writes them. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { load } from 'js-yaml';
import { ROOT } from '../../scripts/root.ts';
import { PoolMetrics } from '../../src/commands/reconcile/pool-metrics.ts';
import { Registry } from '../../src/controller/metrics.ts';
import { standardMetrics } from '../../src/controller/standard-metrics.ts';

const PAGE = join(ROOT, 'docs/metrics.md');
const ALERTS = join(ROOT, 'charts/kubectl-nodepool/files/alerts.yaml');

interface Rule {
  alert: string;
  expr: string;
  for?: string;
  labels: { severity: string };
  annotations: { summary: string; runbook_url: string };
}

function metricsTable(): string[] {
  const registry = new Registry();
  standardMetrics(registry);
  new PoolMetrics(registry, { now: () => new Date(), version: '0.0.0' });
  const rows = registry.list().map(({ name, type, labels, help }) => {
    return `| \`${name}\` | ${type} | ${labels.map(label => `\`${label}\``).join(', ')} | ${help} |`;
  });
  return ['| metric | type | labels | what it is |', '| --- | --- | --- | --- |', ...rows.sort()];
}

function alerts(): Rule[] {
  const { groups } = load(readFileSync(ALERTS, 'utf8')) as { groups: { rules: Rule[] }[] };
  return groups.flatMap(({ rules }) => rules);
}

function alertsTable(): string[] {
  const rows = alerts().map(rule => {
    const text = rule.annotations.summary.replaceAll('{{ $labels.pool }}', 'P').replaceAll('{{ $value }}', 'N');
    const when = `\`${rule.expr}\`${rule.for === undefined ? '' : ` for ${rule.for}`}`;
    return `| ${rule.alert} | ${rule.labels.severity} | ${when} | ${text} |`;
  });
  return ['| alert | severity | when | what it says |', '| --- | --- | --- | --- |', ...rows];
}

test('docs/metrics.md lists every metric and every alert', () => {
  const page = readFileSync(PAGE, 'utf8');
  const tables = { metrics: metricsTable(), alerts: alertsTable() };
  const expected = page.replaceAll(
    /<!-- (metrics|alerts) -->\n[\s\S]*?<!-- end -->\n/g,
    (_, name: keyof typeof tables) => [`<!-- ${name} -->`, ...tables[name], '<!-- end -->', ''].join('\n'),
  );
  if (process.env.UPDATE_PAGES) writeFileSync(PAGE, expected);
  else assert.equal(page, expected);
});

test('the runbook_url of each alert leads to its entry in docs/metrics.md', () => {
  const entries = readFileSync(PAGE, 'utf8').matchAll(/^### (NodePool\w+)$/gm);
  assert.deepEqual(
    [...entries].map(([, name]) => name),
    alerts().map(({ alert }) => alert),
  );
  for (const { alert, annotations } of alerts()) {
    const url = `https://github.com/lailin-xyz/kubectl-nodepool/blob/main/docs/metrics.md#${alert.toLowerCase()}`;
    assert.equal(annotations.runbook_url, url);
  }
});
