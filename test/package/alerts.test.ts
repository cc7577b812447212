/** Each alert fires under the fault that it names, and clears afterwards: by promtool, and in Prometheus on a real watch. */
import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from '../e2e/commands.ts';
import { IMAGE, NAME, startController } from '../e2e/in-cluster.ts';
import { nodeRefusal, whileRefusing } from '../e2e/refusal.ts';
import { role, useTestEnv } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
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

const BINDING = `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${NAME}`;
const testEnv = useTestEnv();
const { ok } = commandsOf(testEnv.cluster);
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

test('promtool: refused requests count as errors; an error whose retry succeeds is no alert', async () => {
  const cases: [name: string, series: Record<string, string>, firing: number][] = [
    ['retried', { [LAST_SUCCESS]: EVERY_10M, [ERRORS]: '0x9 1x50' }, 0],
    ['retried again and again', { [LAST_SUCCESS]: EVERY_10M, [ERRORS]: '0+1x60' }, 0],
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

async function testRules(tests: { name: string }[]): Promise<void> {
  const file = join(folder, 'tests.json');
  await writeFile(file, JSON.stringify({ rule_files: [ALERTS], evaluation_interval: '1m', tests }));
  await promtool('test', 'rules', file);
}

test('Prometheus: alerts of real faults, and every query of the dashboard has series', {
  timeout: 240_000,
}, async t => {
  const rules = await readRules();
  for (const rule of rules.groups.flatMap(group => group.rules)) {
    if (rule.for !== undefined) rule.for = '2s';
    rule.expr = rule.expr.replace('> 3600', '> 10').replace('> 300', '> 8').replace('[5m]', '[10s]');
  }
  await testEnv.nodes(
    { name: 'a', labels: role('web') },
    { name: 'b', labels: { ...role('web'), ...role('late') } },
    { name: 'c', labels: role('idle'), ready: false },
  );
  await testEnv.pool('web', { labels: { tier: 'gold' } });
  // The jobs of the dashboard's queries and its lease: as the Deployment starts it.
  await ok(['install', '--controller', '--image', IMAGE]);
  const watching = await startController(t, testEnv.cluster(), '--resync', '2s');
  const [, target = ''] = /metrics on http:\/\/([0-9.:]+)/.exec(watching.log()) ?? [];
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
    const ofPool = ['NodePoolDrift web', 'NodePoolReconcileStale web', 'NodePoolWritesFail web'];
    const expected = [...ofPool, 'NodePoolReconcileErrors '].sort();
    await eventually('writes fail', async () => same(await firing(), expected), 90_000);
  });
  await eventually('they clear', async () => (await firing()).length === 0, 90_000);

  const api = raw(testEnv.cluster());
  const { metadata: _, ...binding } = (await api.expect('GET', BINDING)) as { metadata: object };
  await api.expect('DELETE', BINDING);
  await eventually(
    'the permissions are missed',
    async () => (await firing()).includes('NodePoolReconcileErrors '),
    90_000,
  );
  assert.equal((await prometheus.query('nodepool_status_code != 200')).length, 0, 'the status cannot say it');
  await api.expect('POST', BINDING.slice(0, BINDING.lastIndexOf('/')), { ...binding, metadata: { name: NAME } });
  await eventually('it clears', async () => (await firing()).length === 0, 90_000);

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
