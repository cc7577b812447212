/** The alerts and the dashboard, by promtool: the rules on series of this file, and every query on the metrics of the program. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load } from 'js-yaml';
import { PoolMetrics } from '../../src/commands/reconcile/pool-metrics.ts';
import { Registry } from '../../src/controller/metrics.ts';
import { standardMetrics } from '../../src/controller/standard-metrics.ts';
import { temporaryFolder } from './copy.ts';
import { ALERTS, DASHBOARD, promtool } from './promtool.ts';

/** Minutes. The fault lasts for long enough for any `for:`. */
const [BEFORE, DURING, AFTER] = [9, 28, 45];
const good = (value: string) => `${value}x9`;

/** Series in steps of a minute: normal, then the fault from minute 10 to 29, then normal. */
const FAULTS: Record<string, { series: string; values: string }> = {
  NodePoolControllerDown: { series: 'nodepool_pools', values: '2x9 stale _x18 2x30' },
  NodePoolSpecInvalid: { series: 'nodepool_status_code{pool="web"}', values: `${good('200')} 422x19 200x30` },
  NodePoolWritesFail: { series: 'nodepool_status_code{pool="web"}', values: `${good('200')} 500x19 200x30` },
  NodePoolConflict: { series: 'nodepool_nodes_conflicting{pool="web"}', values: `${good('0')} 3x19 0x30` },
  NodePoolNoReadyNode: { series: 'nodepool_status_code{pool="web"}', values: `${good('200')} 503x19 200x30` },
  NodePoolDrift: { series: 'nodepool_nodes_drifted{pool="web"}', values: `${good('0')} 2x19 0x30` },
  NodePoolContested: { series: 'nodepool_contested{pool="web"}', values: `${good('0')} 1x19 0x30` },
  NodePoolStartupTaintsStuck: {
    series: 'nodepool_startup_taints_stuck{pool="web"}',
    values: `${good('0')} 1x19 0x30`,
  },
  NodePoolNotReconciled: { series: 'nodepool_observed_generation{pool="web"}', values: `${good('2')} 1x19 2x30` },
  NodePoolReconcileErrors: {
    series: 'nodepool_last_success_timestamp_seconds{pool="web"}',
    values: '0+60x9 540x19 1800+60x30',
  },
  NodePoolReconcileStale: {
    series: 'nodepool_last_success_timestamp_seconds{pool="web"}',
    values: '0+60x9 -4000x19 1800+60x30',
  },
  NodePoolInvalidRecords: { series: 'nodepool_invalid_records_total{pool="web"}', values: '0x9 0+1x19 19x60' },
  NodePoolReconcilesStuck: {
    series: 'workqueue_longest_running_processor_seconds{name="nodepool-controller"}',
    values: `${good('1')} 700x19 0x30`,
  },
  NodePoolSeriesOmitted: { series: 'nodepool_omitted_series', values: `${good('0')} 2x19 0x30` },
};

const LAST_SUCCESS = 'nodepool_last_success_timestamp_seconds{pool="web"}';
/** The values of a pool that only resyncs reconcile. */
const EVERY_10M = '0x9 600x9 1200x9 1800x9 2400x9 3000x9';
const FORBIDDEN = 'rest_client_requests_total{code="403"}';
const BUILD = 'nodepool_build_info';
const ERRORS = 'controller_runtime_reconcile_errors_total{controller="nodepool-controller"}';

/** The second series of a rule that has an `or`. */
const ALSO: Record<string, { series: string; values: string }> = {
  NodePoolConflict: { series: 'nodepool_status_code{pool="class"}', values: `${good('200')} 409x19 200x30` },
  // Counted before the first scrape.
  NodePoolInvalidRecords: { series: 'nodepool_invalid_records_total{pool="forged"}', values: '_x10 1x170' },
};

const folder = await temporaryFolder({ after });
const { groups } = load(await readFile(ALERTS, 'utf8')) as { groups: { rules: { alert: string; expr: string }[] }[] };
const rules = groups.flatMap(group => group.rules);

test('promtool: each alert fires exactly while its series meet the condition', async () => {
  await promtool(['check', 'rules', '--lint-fatal', ALERTS]);
  assert.deepEqual(
    Object.keys(FAULTS),
    rules.map(({ alert }) => alert),
  );
  const tests = Object.entries(FAULTS).map(([alert, { series, values }]) => ({
    name: alert,
    interval: '1m',
    input_series: [
      { series, values },
      ...(ALSO[alert] === undefined ? [] : [ALSO[alert]]),
      // What the rules compare with, and the sign of life.
      ...(alert === 'NodePoolControllerDown' ? [] : [{ series: 'nodepool_pools', values: '2x180' }]),
      ...(alert === 'NodePoolReconcileErrors' ? [{ series: ERRORS, values: '0x9 1+1x19 20x60' }] : []),
      ...(alert === 'NodePoolNotReconciled' ? [{ series: 'nodepool_generation{pool="web"}', values: '2x60' }] : []),
    ],
    promql_expr_test: [
      [BEFORE, 0],
      [DURING, 1],
      // An increase within an hour ends an hour later.
      [alert === 'NodePoolInvalidRecords' ? AFTER + 60 : AFTER, 0],
    ].map(([minute, firing]) => ({
      expr: 'count by (alertname) (ALERTS{alertstate="firing"}) or vector(0) unless count(ALERTS{alertstate="firing"})',
      eval_time: `${minute}m`,
      exp_samples: [
        firing === 0
          ? { labels: '{}', value: 0 }
          : { labels: `{alertname="${alert}"}`, value: ALSO[alert] === undefined ? 1 : 2 },
      ],
    })),
  }));
  await testRules(tests);
});

test('promtool: refused requests count as errors, and retried errors fire no alert', async () => {
  const cases: [name: string, series: Record<string, string>, firing: number][] = [
    ['retried', { [LAST_SUCCESS]: EVERY_10M, [ERRORS]: '0x9 1x50' }, 0],
    ['retried repeatedly', { [LAST_SUCCESS]: EVERY_10M, [ERRORS]: '0+1x60' }, 0],
    ['no error, a long --resync', { [LAST_SUCCESS]: '0x60', [ERRORS]: '0x60' }, 0],
    ['refused once', { [LAST_SUCCESS]: EVERY_10M, [FORBIDDEN]: '0x9 3x50' }, 0],
    ['refused, with nothing to write', { [LAST_SUCCESS]: EVERY_10M, [FORBIDDEN]: '_x5 1+2x50', [BUILD]: '1x60' }, 1],
    // Other programs have the metric, too.
    ['a kubelet is refused', { [BUILD]: '1x60', [FORBIDDEN.replace('{', '{instance="kubelet",')]: '_x5 1+2x50' }, 0],
  ];
  const tests = cases.map(([name, series, firing]) => ({
    name,
    interval: '1m',
    input_series: Object.entries({ nodepool_pools: '2x60', ...series }).map(([series, values]) => ({ series, values })),
    promql_expr_test: [15, 21, 40].map(minute => ({
      expr: 'count(ALERTS{alertname="NodePoolReconcileErrors",alertstate="firing"}) or vector(0)',
      eval_time: `${minute}m`,
      exp_samples: [{ labels: '{}', value: minute > 17 ? firing : 0 }],
    })),
  }));
  await testRules(tests);
});

test('Prometheus can read the metrics, and every query of alerts and dashboard uses them', async () => {
  const registry = new Registry();
  standardMetrics(registry);
  new PoolMetrics(registry, { now: () => new Date(), version: '0.0.0' });
  await promtool(['check', 'metrics'], registry.text());
  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as { panels: { targets: { expr: string }[] }[] };
  const queries = panels.flatMap(({ targets }) => targets.map(({ expr }) => expr.replaceAll('$pool', '.*')));
  assert.ok(queries.length > 15);
  const file = join(folder, 'queries.json');
  const records = queries.map((expr, at) => ({ record: `dashboard:query_${at}`, expr }));
  await writeFile(file, JSON.stringify({ groups: [{ name: 'dashboard', rules: records }] }));
  await promtool(['check', 'rules', file]);

  const known = new Map(registry.list().map(({ name, labels }) => [name, labels]));
  for (const query of [...queries, ...rules.map(({ expr }) => expr)]) {
    const series = [...query.matchAll(/\b([a-z]+_[a-z_]+)\b(?!\()(?:\{(.*?)\})?/g)].filter(
      ([, name]) => name !== 'histogram_quantile',
    );
    assert.notEqual(series.length, 0, query);
    for (const [, name = '', matchers = ''] of series) {
      const labels = known.get(name.replace(/_bucket$/, ''));
      assert.ok(labels, `${name} of ${query}`);
      // What Prometheus adds.
      for (const [, label = ''] of matchers.matchAll(/(\w+)(?:=|!)/g))
        assert.ok([...labels, 'job', 'instance'].includes(label), `${name}{${label}} of ${query}`);
    }
  }
});

async function testRules(tests: { name: string }[]): Promise<void> {
  const file = join(folder, 'tests.json');
  await writeFile(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }));
  await promtool(['test', 'rules', file]);
}
