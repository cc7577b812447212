import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { Registry } from '../../../src/controller/metrics.ts';
import { standardMetrics } from '../../../src/controller/standard-metrics.ts';
import { WorkQueue } from '../../../src/controller/work-queue.ts';
import { FakeClock } from './fake-clock.ts';

function create() {
  const registry = new Registry();
  const metrics = standardMetrics(registry);
  /** The sample of that name and labels, as `name{label="value"}`. */
  const value = (sample: string): string | undefined => {
    const line = registry
      .text()
      .split('\n')
      .find(each => each.startsWith(`${sample} `));
    return line?.slice(sample.length + 1);
  };
  return { registry, metrics, value };
}

describe('the standard metrics have the names and labels of controller-runtime', () => {
  test('exposes counters before the first increment', () => {
    const { metrics, value } = create();
    metrics.controller('pools');
    metrics.queue('pools');
    const results = ['success', 'requeue_after', 'error'].map(result => `controller="pools",result="${result}"`);
    const samples = [
      ...results.map(labels => `controller_runtime_reconcile_total{${labels}}`),
      'controller_runtime_reconcile_errors_total{controller="pools"}',
      'controller_runtime_active_workers{controller="pools"}',
      'workqueue_depth{name="pools"}',
      'workqueue_adds_total{name="pools"}',
      'workqueue_retries_total{name="pools"}',
    ];
    assert.deepEqual(samples.map(value), Array(samples.length).fill('0'));
  });

  test('counts reconciles by result, and errors once more', () => {
    const { metrics, value } = create();
    const controller = metrics.controller('pools');
    controller.reconciled('done', 0.02);
    controller.reconciled('done', 7);
    controller.reconciled('requeueAfter', 0.02);
    controller.reconciled('error', 0.02);
    const total = (result: string) =>
      value(`controller_runtime_reconcile_total{controller="pools",result="${result}"}`);
    assert.deepEqual(['success', 'requeue_after', 'error', 'requeue'].map(total), ['2', '1', '1', undefined]);
    assert.equal(value('controller_runtime_reconcile_errors_total{controller="pools"}'), '1');
    const bucket = (le: string) =>
      value(`controller_runtime_reconcile_time_seconds_bucket{controller="pools",le="${le}"}`);
    assert.deepEqual(['0.01', '0.025', '5', '10', '+Inf'].map(bucket), ['0', '3', '3', '4', '4']);
  });

  test('reports workers and active workers', () => {
    const { metrics, value } = create();
    const controller = metrics.controller('pools');
    controller.workers(16);
    controller.active(3);
    assert.equal(value('controller_runtime_max_concurrent_reconciles{controller="pools"}'), '16');
    assert.equal(value('controller_runtime_active_workers{controller="pools"}'), '3');
    controller.active(0);
    assert.equal(value('controller_runtime_active_workers{controller="pools"}'), '0');
  });

  test('reports leadership as 1 or 0, and counts requests by code, method and host', () => {
    const { metrics, value } = create();
    metrics.leader('nodepool', false);
    assert.equal(value('leader_election_master_status{name="nodepool"}'), '0');
    metrics.leader('nodepool', true);
    assert.equal(value('leader_election_master_status{name="nodepool"}'), '1');
    metrics.request('200', 'GET', 'a:6443');
    metrics.request('200', 'GET', 'a:6443');
    metrics.request('<error>', 'PATCH', 'a:6443');
    assert.equal(value('rest_client_requests_total{code="200",method="GET",host="a:6443"}'), '2');
    assert.equal(value('rest_client_requests_total{code="<error>",method="PATCH",host="a:6443"}'), '1');
  });

  test('declares counters, gauges and histograms', () => {
    const { registry, metrics } = create();
    metrics.queue('pools');
    const types = registry
      .text()
      .split('\n')
      .filter(line => line.startsWith('# TYPE '))
      .map(line => line.slice('# TYPE '.length));
    assert.deepEqual(types.sort(), [
      'controller_etcd_restores_total counter',
      'controller_runtime_active_workers gauge',
      'controller_runtime_max_concurrent_reconciles gauge',
      'controller_runtime_reconcile_errors_total counter',
      'controller_runtime_reconcile_time_seconds histogram',
      'controller_runtime_reconcile_total counter',
      'leader_election_master_status gauge',
      'rest_client_requests_total counter',
      'workqueue_adds_total counter',
      'workqueue_depth gauge',
      'workqueue_longest_running_processor_seconds gauge',
      'workqueue_queue_duration_seconds histogram',
      'workqueue_retries_total counter',
      'workqueue_unfinished_work_seconds gauge',
      'workqueue_work_duration_seconds histogram',
    ]);
  });
});

describe('the metrics of a real queue', () => {
  function createQueue(name = 'pools') {
    const { metrics, value } = create();
    const clock = new FakeClock();
    const queue = new WorkQueue({ clock, metrics: metrics.queue(name) });
    return { clock, queue, metrics, value: (metric: string) => value(`workqueue_${metric}{name="${name}"}`) };
  }

  test('reports depth, adds, retries, queue duration and work duration', async () => {
    const { clock, queue, value } = createQueue();
    for (const key of ['a', 'b', 'a']) queue.add(key);
    assert.deepEqual([value('depth'), value('adds_total')], ['2', '2']);
    clock.freeze(500);
    await queue.get();
    assert.deepEqual([value('depth'), value('queue_duration_seconds_sum')], ['1', '0.5']);
    clock.freeze(2000);
    queue.done('a');
    assert.deepEqual([value('work_duration_seconds_sum'), value('work_duration_seconds_count')], ['2', '1']);
    queue.addRateLimited('a');
    assert.equal(value('retries_total'), '1');
  });

  test('reports unfinished work as the sum over workers and the longest, and 0 when idle', async () => {
    const { clock, queue, value } = createQueue();
    const read = () => [value('unfinished_work_seconds'), value('longest_running_processor_seconds')];
    assert.deepEqual(read(), ['0', '0']);
    for (const key of ['a', 'b', 'waits']) queue.add(key);
    await queue.get();
    clock.freeze(1000);
    await queue.get();
    clock.freeze(500);
    assert.deepEqual(read(), ['2', '1.5']);
    clock.freeze(3_600_000);
    assert.deepEqual(read(), ['7202', '3601.5']);
    queue.done('a');
    assert.deepEqual(read(), ['3600.5', '3600.5']);
    queue.done('b');
    assert.deepEqual(read(), ['0', '0']);
  });

  test('keeps the metrics of two queues separate', async () => {
    const { metrics, value } = create();
    const clock = new FakeClock();
    const queues = ['one', 'two'].map(name => new WorkQueue({ clock, metrics: metrics.queue(name) }));
    queues[1]?.add('a');
    await queues[1]?.get();
    clock.freeze(1000);
    const longest = (name: string) => value(`workqueue_longest_running_processor_seconds{name="${name}"}`);
    assert.deepEqual([longest('one'), longest('two')], ['0', '1']);
  });
});
