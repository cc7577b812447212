import assert from 'node:assert/strict';
import { test } from 'node:test';
import { PoolMetrics } from '../../../../src/commands/reconcile/pool-metrics.ts';
import { Registry } from '../../../../src/controller/metrics.ts';
import type { NodePool, NodePoolStatus } from '../../../../src/nodepool/types.ts';
import { ClusterState } from '../../../../src/reconciler/state/cluster-state.ts';
import { aNode, aPool } from '../../nodepool/fixtures.ts';

const STATUS: NodePoolStatus = {
  status: 200,
  nodeCount: 5,
  readyNodeCount: 4,
  updatedNodeCount: 3,
  unschedulableNodeCount: 1,
  observedGeneration: 2,
  allocatable: { cpu: '7910m', memory: '1Gi', 'nvidia.com/gpu': '8' },
};

function poolNamed(name: string, status?: NodePoolStatus, more: object = {}): NodePool {
  const pool = aPool(more, status === undefined ? {} : { status });
  return { ...pool, metadata: { ...pool.metadata, name, uid: name, generation: 2 } };
}

const clock = { now: Date.parse('2026-01-01T00:00:00Z') };

/** The metrics of a process that reconciles these pools, and their series as an object. */
function metricsOf(pools: NodePool[], nodes = [aNode()], isLeader = () => true) {
  const registry = new Registry();
  const metrics = new PoolMetrics(registry, { now: () => new Date(clock.now), version: '1.2.3' });
  const state = new ClusterState(pools, nodes, []);
  metrics.observe(state, isLeader);
  metrics.started();
  const series = () => {
    const lines = registry
      .text()
      .split('\n')
      .filter(line => line !== '' && !line.startsWith('#'));
    return Object.fromEntries(
      lines.map(line => [line.slice(0, line.lastIndexOf(' ')), Number(line.split(' ').at(-1))]),
    );
  };
  return { metrics, state, series };
}

test('exposes the numbers of the status in base units', () => {
  const { series } = metricsOf([poolNamed('web', STATUS)], []);
  assert.deepEqual(series(), {
    'nodepool_build_info{version="1.2.3"}': 1,
    'nodepool_nodes{pool="web"}': 5,
    'nodepool_nodes_ready{pool="web"}': 4,
    'nodepool_nodes_unschedulable{pool="web"}': 1,
    'nodepool_nodes_updated{pool="web"}': 3,
    'nodepool_nodes_drifted{pool="web"}': 2,
    'nodepool_nodes_conflicting{pool="web"}': 0,
    'nodepool_status_code{pool="web"}': 200,
    'nodepool_contested{pool="web"}': 0,
    'nodepool_startup_taints_stuck{pool="web"}': 0,
    'nodepool_generation{pool="web"}': 2,
    'nodepool_observed_generation{pool="web"}': 2,
    'nodepool_last_success_timestamp_seconds{pool="web"}': clock.now / 1000,
    'nodepool_invalid_records_total{pool="web"}': 0,
    'nodepool_allocatable{pool="web",resource="cpu"}': 7.91,
    'nodepool_allocatable{pool="web",resource="memory"}': 1024 ** 3,
    'nodepool_allocatable{pool="web",resource="nvidia.com/gpu"}': 8,
    nodepool_pools: 1,
    nodepool_omitted_series: 0,
  });
});

test('a pool that was never reconciled has an observed generation of 0 and no numbers', () => {
  const { series } = metricsOf([poolNamed('web')], []);
  assert.deepEqual(
    Object.keys(series()).filter(name => name.includes('pool=')),
    [
      'nodepool_nodes_conflicting{pool="web"}',
      'nodepool_generation{pool="web"}',
      'nodepool_observed_generation{pool="web"}',
      'nodepool_last_success_timestamp_seconds{pool="web"}',
      'nodepool_invalid_records_total{pool="web"}',
    ],
  );
  assert.equal(series()['nodepool_observed_generation{pool="web"}'], 0);
});

test('counts nodes that another pool owns', () => {
  const labels = { 'node-role.kubernetes.io/a': '', 'node-role.kubernetes.io/b': '' };
  const { series } = metricsOf([poolNamed('a', STATUS), poolNamed('b', STATUS)], [aNode({ labels })]);
  assert.equal(series()['nodepool_nodes_conflicting{pool="a"}'], 0);
  assert.equal(series()['nodepool_nodes_conflicting{pool="b"}'], 1);
});

test('a candidate that waits for the lease exposes no pool metrics', () => {
  let leads = false;
  const { series } = metricsOf([poolNamed('web', STATUS)], [], () => leads);
  assert.deepEqual(Object.keys(series()), ['nodepool_build_info{version="1.2.3"}']);
  leads = true;
  assert.ok('nodepool_nodes{pool="web"}' in series());
});

test('exposes the last success and invalid records, and drops deleted pools', () => {
  const { metrics, state, series } = metricsOf([poolNamed('web', STATUS)], []);
  const startedAt = clock.now / 1000;
  clock.now += 60_000;
  metrics.reconcileSucceeded('web');
  metrics.reconcileSucceeded('gone');
  metrics.nodesWritten([
    { node: 'c', from: 'forged', to: undefined, changes: [], invalidRecord: 'not JSON' },
    { node: 'a', from: undefined, to: 'web', changes: [], invalidRecord: 'not JSON' },
    { node: 'b', from: undefined, to: 'web', changes: [] },
  ]);
  assert.equal(series()['nodepool_last_success_timestamp_seconds{pool="web"}'], startedAt + 60);
  assert.equal(series()['nodepool_invalid_records_total{pool="web"}'], 1);
  assert.doesNotMatch(JSON.stringify(series()), /gone|forged/);
  state.removePool('web', 'web');
  assert.doesNotMatch(JSON.stringify(series()), /web/);
  // A later pool of the same name starts at zero.
  metrics.reconcileSucceeded('web');
  state.setPool({ ...poolNamed('web', STATUS), metadata: { ...poolNamed('web').metadata, uid: 'later' } });
  assert.equal(series()['nodepool_last_success_timestamp_seconds{pool="web"}'], startedAt);
});

test('limits the number of series, and exposes how many are omitted', () => {
  const allocatable = Object.fromEntries(Array.from({ length: 20 }, (_, at) => [`example.com/r${at}`, '1']));
  const pools = Array.from({ length: 1_003 }, (_, at) => poolNamed(`p${at}`, { ...STATUS, allocatable }));
  // A name that sorts first displaces no older pool.
  const late = poolNamed('a-late', STATUS);
  pools[1_002] = { ...late, metadata: { ...late.metadata, creationTimestamp: '2026-02-01T00:00:00Z' } };
  const { series } = metricsOf(pools, []);
  const found = series();
  const names = Object.keys(found);
  assert.equal(names.filter(name => name.startsWith('nodepool_nodes{')).length, 1_000);
  assert.equal(names.filter(name => name.startsWith('nodepool_allocatable{')).length, 10_000);
  assert.ok(!('nodepool_nodes{pool="a-late"}' in found));
  assert.equal(found.nodepool_pools, 1_003);
  assert.equal(found.nodepool_omitted_series, 3 + 10_000);
});

test('tolerates a status that somebody else wrote', () => {
  const allocatable = { cpu: 'many', 'a"b\\c\nd': '1' };
  const { series } = metricsOf([poolNamed('web', { ...STATUS, allocatable })], []);
  assert.equal(series()['nodepool_allocatable{pool="web",resource="cpu"}'], Number.NaN);
  assert.equal(series()['nodepool_allocatable{pool="web",resource="a\\"b\\\\c\\nd"}'], 1);
});
