import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { top } from '../../../../../src/commands/shared/top/top.ts';
import { ForbiddenError, NodepoolError } from '../../../../../src/nodepool/errors.ts';
import { formatQuantity } from '../../../../../src/nodepool/quantity/quantity.ts';
import type { ResourceFigures, ResourceTotals } from '../../../../../src/nodepool/quantity/resource-usage.ts';
import { FakeClock } from '../../../controller/fake-clock.ts';
import { aNode } from '../../../nodepool/fixtures.ts';
import { demandOf, depsOf, PLAIN, topCluster, topOf } from './top-cluster.ts';

/** `allocatable requested limits used free`, `-` for unknown. */
function said({ figures }: ResourceTotals, resource: string): string {
  const its = figures.get(resource);
  const all: (keyof ResourceFigures)[] = ['allocatable', 'requested', 'limits', 'used', 'free'];
  return all.map(measure => (its?.[measure] === undefined ? '-' : formatQuantity(its[measure]))).join(' ');
}

const names = (rows: readonly { pool: string | undefined }[]) => rows.map(({ pool }) => pool ?? '<none>').join(' ');

describe('sums', () => {
  test('sums each pool, nodes without pool, and all', async () => {
    const { pools, total, nodes } = await topOf(topCluster());
    assert.equal(names(pools), 'empty gpu worker <none>');
    const [empty, gpu, worker, rest] = pools.map(({ tally }) => tally);
    assert.ok(empty && gpu && worker && rest);
    // w1 has 100m free, w2 nothing; w3 is unschedulable.
    assert.equal(said(worker, 'cpu'), '12 9900m 6 - 100m');
    assert.equal(said(worker, 'memory'), '9193560Ki 1124Mi 2Gi - 4978064Ki');
    assert.equal(said(worker, 'pods'), '330 16 - - 205');
    assert.equal(said(gpu, 'nvidia.com/gpu'), '8 3 3 - 1');
    assert.equal(said(gpu, 'cpu'), '31640m 8 0 - 7820m');
    assert.equal(said(empty, 'cpu'), '0 0 0 - 0');
    assert.equal(said(rest, 'pods'), '110 0 - - 110');
    assert.equal(said(total, 'cpu'), '47640m 17900m 6 - 11920m');
    assert.deepEqual([worker.schedulable, worker.nodes, total.schedulable, total.nodes], [2, 3, 4, 6]);
    assert.deepEqual(nodes, []);
  });

  test('without pods, reads no pods and shows only allocatable', async () => {
    const deps = depsOf(topCluster());
    const never = () => Promise.reject(new Error('asked'));
    const found = await top(
      { ...PLAIN, pods: false },
      { ...deps, pods: { demand: never }, nodeUsage: never, podUsage: never },
    );
    assert.equal(said(found.total, 'cpu'), '47640m - - - -');
    assert.equal(found.usage, undefined);
  });

  test('computes the largest free amount from nodes with room for another pod', async () => {
    const cluster = topCluster();
    const largest = async (pool: string, resource: string) => {
      const { pools } = await topOf(cluster, { names: [pool] });
      const quantity = pools[0]?.tally.figures.get(resource)?.maxFree;
      return quantity && formatQuantity(quantity);
    };
    assert.deepEqual([await largest('worker', 'memory'), await largest('empty', 'cpu')], ['2962120Ki', '0']);
    assert.equal(await largest('gpu', 'cpu'), '7820m');
    const full = cluster.demand.g1;
    if (full !== undefined) full.pods = 110;
    assert.equal(await largest('gpu', 'cpu'), '0');
  });

  test('lists nodes by pool and name, with the same total', async () => {
    const { nodes, total } = await topOf(topCluster(), { nodes: true });
    assert.equal(
      nodes.map(({ node, pool }) => `${pool ?? '<none>'}/${node.name}`).join(' '),
      'gpu/g1 gpu/g2 worker/w1 worker/w2 worker/w3 <none>/cp',
    );
    const [g1, g2, w1, w2, w3] = nodes.map(({ tally }) => tally);
    assert.ok(g1 && g2 && w1 && w2 && w3);
    assert.equal(said(w1, 'cpu'), '4 3900m 6 - 100m');
    assert.equal(said(w2, 'cpu'), '4 5 0 - 0');
    assert.equal(said(w3, 'cpu'), '4 1 0 - 0');
    assert.equal(said(g2, 'nvidia.com/gpu'), '4 0 0 - 0');
    assert.equal(said(w1, 'nvidia.com/gpu'), '0 0 0 - 0');
    assert.equal(said(total, 'cpu'), said((await topOf(topCluster())).total, 'cpu'));
  });

  test('sums usage of measured nodes', async () => {
    const byNode = new Map([
      ['w1', { cpu: '123456789n', memory: '500Mi' }],
      ['w2', { cpu: '1' }],
    ]);
    const { nodes, pools } = await topOf(topCluster({ usage: { kind: 'served', byNode } }), { nodes: true });
    const worker = pools.find(({ pool }) => pool === 'worker');
    assert.ok(worker);
    assert.equal(said(worker.tally, 'cpu').split(' ')[3], '1123456789n');
    assert.equal(said(worker.tally, 'memory').split(' ')[3], '500Mi');
    assert.equal(said(worker.tally, 'pods').split(' ')[3], '-');
    assert.equal(nodes.map(({ tally }) => said(tally, 'cpu').split(' ')[3]).join(' '), '- - 123456789n 1 - -');
  });

  test('counts an invalid quantity as zero, and warns', async () => {
    const cluster = topCluster({ demand: {} });
    const bad = aNode({ name: 'bad', allocatable: { cpu: '1e99999', memory: '1Gi', 'not/shown': '1e99999' } });
    const nodes = [bad, aNode({ name: 'ok', allocatable: { cpu: '2' } })];
    for (const pods of [true, false]) {
      const { total, warnings } = await topOf({ ...cluster, pools: [], nodes }, { pods });
      assert.equal(said(total, 'cpu'), pods ? '2 0 0 - 2' : '2 - - - -');
      const problem = 'quantities have at most 500 digits before the point';
      assert.deepEqual(warnings, [`node bad: allocatable cpu "1e99999": ${problem}`]);
    }
  });

  test('without pods returns the same sums for pools and single nodes', async () => {
    const [atOnce, oneByOne] = [false, true].map(nodes => topOf(topCluster(), { pods: false, nodes }));
    assert.deepEqual((await atOnce)?.total, (await oneByOne)?.total);
    assert.deepEqual((await atOnce)?.pools, (await oneByOne)?.pools);
  });
});

describe('choosing pools and resources', () => {
  test('pools by name, in the given order, without unassigned nodes', async () => {
    const { pools, total } = await topOf(topCluster(), { names: ['worker', 'gpu', 'worker'] });
    assert.equal(names(pools), 'gpu worker');
    assert.equal(total.nodes, 5);
  });

  test('pools by label', async () => {
    assert.equal(names((await topOf(topCluster(), { selector: 'team in (worker, empty)' })).pools), 'empty worker');
    await assert.rejects(topOf(topCluster(), { selector: 'a b' }), { kind: 'usage', message: /^-l "a b": / });
    await assert.rejects(
      topOf(topCluster(), { selector: 'a=b', names: ['gpu'] }),
      /names and -l cannot be used together/,
    );
  });

  test('reports a pool that does not exist', async () => {
    const problem = topOf(topCluster(), { names: ['gpu', 'gqu'] });
    await assert.rejects(
      problem,
      (error: NodepoolError) => error.message === 'nodepool "gqu" not found; did you mean "gpu"?',
    );
  });

  test('resources: default, all existing, or named', async () => {
    const cluster = topCluster();
    const resources = async (choice: readonly string[] | 'all' | 'usual') =>
      (await topOf(cluster, { resources: choice })).resources.join(' ');
    assert.equal(await resources('usual'), 'cpu memory pods nvidia.com/gpu');
    cluster.nodes.push(aNode({ name: 'x', allocatable: { 'example.com/fuse': '9', 'ephemeral-storage': '1Gi' } }));
    assert.equal(await resources('usual'), 'cpu memory pods nvidia.com/gpu');
    assert.equal(await resources('all'), 'cpu memory pods ephemeral-storage example.com/fuse nvidia.com/gpu');
    cluster.nodes.push(aNode({ name: 'y', allocatable: { 'amd.com/gpu': '0', 'example.com/none': '0' } }));
    assert.equal(await resources('usual'), 'cpu memory pods nvidia.com/gpu');
    // The device plugin is gone, and a pod still holds devices.
    cluster.demand.y = demandOf(1, { 'amd.com/gpu': '1', 'example.com/none': '1' });
    assert.equal(await resources('usual'), 'cpu memory pods amd.com/gpu nvidia.com/gpu');
    const all = 'cpu memory pods amd.com/gpu ephemeral-storage example.com/fuse example.com/none nvidia.com/gpu';
    assert.equal(await resources('all'), all);
    assert.deepEqual((await topOf(cluster, { sortBy: 'amd.com/gpu' })).resources, [
      'cpu',
      'memory',
      'pods',
      'amd.com/gpu',
      'nvidia.com/gpu',
    ]);
    assert.equal(await resources(['hugepages-1Gi', 'cpu', 'cpu']), 'hugepages-1Gi cpu');
  });

  test('`all` shows the 128 most common resources, and counts the others', async () => {
    const cluster = topCluster();
    const invented = (of: string, many: number) =>
      Object.fromEntries(Array.from({ length: many }, (_, at) => [`a.example.com/gpu-${of}-${at}`, '1']));
    const shared = { 'z.example.com/fuse': '1', 'ephemeral-storage': '1Gi', pods: '1' };
    for (const name of ['x', 'y', 'z']) {
      cluster.nodes.push(aNode({ name, allocatable: { ...shared, ...invented(name, 100) } }));
    }
    cluster.demand.x = demandOf(1, invented('asked', 100));
    for (const choice of ['all', 'usual'] as const) {
      const { resources, warnings, total } = await topOf(cluster, { resources: choice });
      assert.equal(resources.length, 128);
      assert.equal(total.figures.size, 128);
      assert.deepEqual(resources.slice(0, 3), ['cpu', 'memory', 'pods']);
      assert.equal(resources.includes('z.example.com/fuse'), choice === 'all');
      assert.match(
        warnings[0] ?? '',
        /^27\d more resources of nodes and pods are not shown; use --resources NAME,NAME$/,
      );
    }
    const named = ['a.example.com/gpu-z-99', ...Object.keys(invented('x', 100)), ...Object.keys(invented('y', 100))];
    const { resources, warnings } = await topOf(cluster, { resources: named });
    assert.deepEqual([resources.length, warnings], [201, []]);
  });

  test('shows an unknown resource as 0, with a warning', async () => {
    for (const pods of [true, false]) {
      const resources = ['nvidia.com/gpus', 'constructor', 'nvidia.com/gpu'];
      const { total, warnings } = await topOf(topCluster(), { resources, pods });
      const none = pods ? '0 0 0 - 0' : '0 - - - -';
      assert.deepEqual([said(total, 'nvidia.com/gpus'), said(total, 'constructor')], [none, none]);
      assert.deepEqual(warnings, [
        'no node has the resource "nvidia.com/gpus"; did you mean "nvidia.com/gpu"?',
        'no node has the resource "constructor"',
      ]);
    }
  });
});

test('reports a missing pool without waiting for all pods', { timeout: 10_000 }, async () => {
  const deps = depsOf(topCluster());
  const endless = { demand: () => new Promise<never>(() => {}) };
  const found = top({ ...PLAIN, names: ['gqu'] }, { ...deps, pods: endless });
  await assert.rejects(found, { message: 'nodepool "gqu" not found; did you mean "gpu"?' });
});

test('warns about each of 200,000 unreadable pods', async () => {
  const { pods, ...deps } = depsOf(topCluster());
  const problems = Array.from({ length: 200_000 }, (_, index) => `pod ${index}`);
  const demand = async () => ({ ...(await pods.demand()), problems });
  const { warnings } = await top(PLAIN, { ...deps, pods: { demand } });
  assert.equal(warnings.length, problems.length);
});

test('waits for usage 5 s longer than for everything else', async () => {
  const clock = new FakeClock();
  const deps = depsOf(topCluster());
  let asked: AbortSignal | undefined;
  const nodeUsage = (signal: AbortSignal) => {
    asked = signal;
    return new Promise<{ kind: 'failed'; reason: string }>(resolve => {
      signal.addEventListener('abort', () => resolve({ kind: 'failed', reason: 'late' }));
    });
  };
  const found = top(PLAIN, { ...deps, clock, nodeUsage });
  await new Promise(resolve => setImmediate(resolve));
  await clock.advance(4_999);
  assert.equal(asked?.aborted, false);
  await clock.advance(1);
  assert.deepEqual((await found).usage, { kind: 'failed', reason: 'late' });
});

test('suggests --no-pods when the user may not list pods, unless pods are to be shown', async () => {
  const refused = (refusal: NodepoolError, eachPod = false) => {
    const deps = { ...depsOf(topCluster()), pods: { demand: () => Promise.reject(refusal) } };
    return top({ ...PLAIN, eachPod }, deps).catch((error: NodepoolError) => `${error.message}; ${error.next}`);
  };
  const forbidden = new ForbiddenError('cannot list pods', ['verb list on pods']);
  const asked = 'cannot list pods; ask for a role with verb list on pods';
  assert.equal(await refused(forbidden), `${asked}, or show allocatable only with --no-pods`);
  assert.equal(await refused(new NodepoolError('cluster', 'no', 'wait')), 'no; wait');
  assert.equal(await refused(forbidden, true), asked);
});
