import assert from 'node:assert/strict';
import { test } from 'node:test';
import { healthAnswer } from '../../../src/controller/health.ts';
import { Registry } from '../../../src/controller/metrics.ts';
import { standardMetrics } from '../../../src/controller/standard-metrics.ts';

test('counters and gauges, with labels escaped', () => {
  const registry = new Registry();
  const counter = registry.counter('requests_total', 'All\nrequests \\ of all.');
  counter.inc({ path: 'a"b\\c\nd' });
  counter.inc({ path: 'a"b\\c\nd' });
  counter.inc();
  registry.gauge('depth', 'How deep.').set(-1.5);
  assert.equal(
    registry.text(),
    [
      '# HELP requests_total All\\nrequests \\\\ of all.',
      '# TYPE requests_total counter',
      'requests_total{path="a\\"b\\\\c\\nd"} 2',
      'requests_total 1',
      '# HELP depth How deep.',
      '# TYPE depth gauge',
      'depth -1.5',
      '',
    ].join('\n'),
  );
});

test('a histogram counts cumulatively, its bounds included', () => {
  const registry = new Registry();
  const histogram = registry.histogram('seconds', 'Time.', [0.5, 1]);
  for (const value of [0.25, 0.5, 0.75, 3]) histogram.observe(value, { of: 'x' });
  assert.deepEqual(registry.text().split('\n').slice(2, -1), [
    'seconds_bucket{of="x",le="0.5"} 2',
    'seconds_bucket{of="x",le="1"} 3',
    'seconds_bucket{of="x",le="+Inf"} 4',
    'seconds_sum{of="x"} 4.5',
    'seconds_count{of="x"} 4',
  ]);
});

test('one name twice is a mistake', () => {
  const registry = new Registry();
  registry.counter('a', '');
  assert.throws(() => registry.gauge('a', ''), /is there already/);
});

test("the standard metrics have controller-runtime's names and results", () => {
  const registry = new Registry();
  const metrics = standardMetrics(registry);
  const controller = metrics.controller('pools');
  controller.workers(16);
  controller.active(3);
  for (const result of ['done', 'requeueAfter', 'error', 'terminalError'] as const) controller.reconciled(result, 0.02);
  const queue = metrics.queue('pools');
  queue.depth(3);
  queue.added();
  queue.retried();
  queue.waited(0.5);
  queue.worked(2);
  metrics.leads('nodepool', true);
  metrics.request('200', 'GET', 'localhost');
  const text = registry.text();
  for (const line of [
    'controller_runtime_reconcile_total{controller="pools",result="success"} 1',
    'controller_runtime_reconcile_total{controller="pools",result="requeue_after"} 1',
    'controller_runtime_reconcile_total{controller="pools",result="error"} 2',
    'controller_runtime_reconcile_errors_total{controller="pools"} 2',
    'controller_runtime_terminal_reconcile_errors_total{controller="pools"} 1',
    'controller_runtime_active_workers{controller="pools"} 3',
    'controller_runtime_max_concurrent_reconciles{controller="pools"} 16',
    'controller_runtime_reconcile_time_seconds_bucket{controller="pools",le="0.01"} 0',
    'controller_runtime_reconcile_time_seconds_bucket{controller="pools",le="0.025"} 4',
    'workqueue_depth{name="pools"} 3',
    'workqueue_adds_total{name="pools"} 1',
    'workqueue_retries_total{name="pools"} 1',
    'workqueue_queue_duration_seconds_sum{name="pools"} 0.5',
    'workqueue_work_duration_seconds_count{name="pools"} 1',
    'leader_election_master_status{name="nodepool"} 1',
    'rest_client_requests_total{code="200",method="GET",host="localhost"} 1',
  ]) {
    assert.ok(text.includes(`${line}\n`), line);
  }
});

test('health is ok when every check is, and names those that are not', () => {
  assert.deepEqual(healthAnswer({}), { status: 200, body: 'ok' });
  assert.deepEqual(healthAnswer({ ping: () => true }), { status: 200, body: 'ok' });
  assert.deepEqual(healthAnswer({ ping: () => true, caches: () => false }), {
    status: 500,
    body: '[+]ping ok\n[-]caches failed\n',
  });
});
