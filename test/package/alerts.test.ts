/** Each alert fires under the fault that it names, and clears afterwards: by promtool, and in Prometheus on a real watch. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { nodeRefusal, whileRefusing } from '../e2e/refusal.ts';
import { role, useTestEnv } from '../e2e/test-env.ts';
import { eventually, startWatching } from '../e2e/watching.ts';
import { temporaryFolder } from './copy.ts';
import { ALERTS, DASHBOARD, type Prometheus, promtool, readRules, startPrometheus } from './prometheus.ts';

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
  NodePoolNotReconciled: { series: 'nodepool_observed_generation{pool="web"}', values: `${good('2')} 1x19 2x30` },
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

/** The second series of a rule that has an `or`. */
const ALSO: Record<string, { series: string; values: string }> = {
  NodePoolConflict: { series: 'nodepool_status_code{pool="class"}', values: `${good('200')} 409x19 200x30` },
};

const testEnv = useTestEnv();
const folder = await temporaryFolder({ after });

test('promtool: each alert fires under its fault, and neither before nor after it', async () => {
  await promtool('check', 'rules', '--lint-fatal', ALERTS);
  const [group] = (await readRules()).groups;
  assert.deepEqual(
    Object.keys(FAULTS),
    group?.rules.map(({ alert }) => alert),
  );
  const tests = Object.entries(FAULTS).map(([alert, { series, values }]) => ({
    name: alert,
    interval: '1m',
    input_series: [
      { series, values },
      ...(ALSO[alert] === undefined ? [] : [ALSO[alert]]),
      // What the rules compare with, and the sign of life.
      ...(alert === 'NodePoolControllerDown' ? [] : [{ series: 'nodepool_pools', values: '2x180' }]),
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
  const file = join(folder, 'tests.json');
  await writeFile(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }));
  await promtool('test', 'rules', file);
});

test('Prometheus: alerts of real faults, and every query of the dashboard has series', {
  timeout: 240_000,
}, async t => {
  const rules = await readRules();
  for (const rule of rules.groups.flatMap(group => group.rules)) {
    if (rule.for !== undefined) rule.for = '2s';
    if (rule.alert === 'NodePoolReconcileStale') rule.expr = rule.expr.replace('3600', '10');
  }
  await testEnv.nodes(
    { name: 'a', labels: role('web') },
    { name: 'b', labels: { ...role('web'), ...role('late') } },
    { name: 'c', labels: role('idle'), ready: false },
  );
  await testEnv.pool('web', { labels: { tier: 'gold' } });
  // The jobs of the dashboard's queries and its lease: as the Deployment starts it.
  const flags = ['--leader-elect', '--metrics-bind-address', '127.0.0.1:0', '--resync', '2s'];
  const watching = await startWatching(t, testEnv.cluster(), ...flags);
  const [, target = ''] = /metrics on http:\/\/(\S+)/.exec(watching.log()) ?? [];
  const prometheus = await startPrometheus(t, folder, { target, rules });
  const firing = () => firingIn(prometheus);
  await eventually('nothing fires', async () => {
    const isSeen = (await prometheus.query('nodepool_nodes_updated{pool="web"} == 2')).length > 0;
    return isSeen && (await firing()).length === 0;
  });

  await testEnv.pool('late', {}, { younger: true });
  await testEnv.pool('idle');
  await eventually('conflict, no ready node', async () =>
    same(await firing(), ['NodePoolConflict late', 'NodePoolNoReadyNode idle']),
  );
  await testEnv.patchNode('b', { metadata: { labels: { 'node-role.kubernetes.io/late': null } } });
  await testEnv.patchNode('c', { metadata: { labels: { 'node-role.kubernetes.io/idle': null } } });
  await eventually('both clear', async () => (await firing()).length === 0);

  await whileRefusing(testEnv.cluster(), nodeRefusal('a', { key: 'tier', value: 'silver' }), async () => {
    await testEnv.edit('web', { spec: { labels: { tier: 'silver' } } });
    const expected = ['NodePoolDrift web', 'NodePoolReconcileStale web', 'NodePoolWritesFail web'];
    await eventually('writes fail', async () => same(await firing(), expected), 90_000);
  });
  await eventually('they clear', async () => (await firing()).length === 0, 90_000);

  await testEnv.patchNode('a', { metadata: { annotations: { [RECORD_ANNOTATION]: 'garbage' } } });
  await eventually('the record is reported', async () => same(await firing(), ['NodePoolInvalidRecords web']));

  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const series = await prometheus.query(expr.replaceAll('$pool', '.*'));
      assert.ok(series.length > 0, `${title}: ${expr}`);
    }
  }

  assert.equal(await watching.end('SIGTERM'), 0);
  await eventually('the controller is missed', async () => (await firing()).includes('NodePoolControllerDown '));
});

/** `ALERT POOL` of each, sorted. */
async function firingIn(prometheus: Prometheus): Promise<string[]> {
  const found = await prometheus.query('ALERTS{alertstate="firing"}');
  return found.map(({ metric }) => `${metric.alertname} ${metric.pool ?? ''}`).sort();
}

function same(found: string[], expected: string[]): boolean {
  return found.join() === expected.join();
}
