import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { ASCII, BLOCKS } from '../../../src/render/bar.ts';
import { renderTopNodes, renderTopPools } from '../../../src/render/top.ts';
import { printTop, topCsv } from '../../../src/render/top-data.ts';
import { widthOf } from '../../../src/render/width.ts';
import { aNode } from '../nodepool/fixtures.ts';
import { demandOf, topCluster, topOf } from '../operations/top-cluster.ts';
import { colored, plain } from './fixtures.ts';

const SHOWN = { headers: true, everyResource: false, bars: undefined };
const byNode = new Map([
  ['w1', { cpu: '123456789n', memory: '500Mi' }],
  ['g1', { cpu: '9500m', memory: '31Gi' }],
]);
const MEASURED = { usage: { kind: 'served' as const, byNode } };

describe('the table', () => {
  test('prints pools, nodes without pool, and the total', async () => {
    assert.equal(
      renderTopPools(await topOf(topCluster()), SHOWN, plain),
      `
POOL    NODES  RESOURCE        ALLOC    REQUESTED  REQ%    LIMITS  FREE
empty   0/0    cpu             0        0          <none>  0       0
empty   0/0    memory          0        0          <none>  0       0
empty   0/0    pods            0        0          <none>  <none>  0
gpu     1/2    cpu             31.64    8          25%     0       7.82
gpu     1/2    memory          128Gi    60Gi       46%     0       4Gi
gpu     1/2    pods            220      4          1%      <none>  106
gpu     1/2    nvidia.com/gpu  8        3          37%     3       1
worker  2/3    cpu             12       9.9        82%     6       0.1
worker  2/3    memory          8.8Gi    1.1Gi      12%     2Gi     4.7Gi
worker  2/3    pods            330      16         4%      <none>  205
<none>  1/1    cpu             4        0          0%      0       4
<none>  1/1    memory          2.9Gi    0          0%      0       2.9Gi
<none>  1/1    pods            110      0          0%      <none>  110
TOTAL   4/6    cpu             47.64    17.9       37%     6       11.92
TOTAL   4/6    memory          139.7Gi  61.1Gi     43%     2Gi     11.7Gi
TOTAL   4/6    pods            660      20         3%      <none>  421
TOTAL   4/6    nvidia.com/gpu  8        3          37%     3       1`.slice(1),
    );
  });

  test('draws bars in the remaining width, and omits the total of one pool', async () => {
    const top = await topOf(topCluster(), { names: ['gpu'] });
    assert.equal(
      renderTopPools(top, { ...SHOWN, bars: { columns: 80, glyphs: BLOCKS } }, plain),
      `
POOL  NODES  RESOURCE        ALLOC  REQUESTED  REQ%  LIMITS  FREE
gpu   1/2    cpu             31.64  8          25%   0       7.82  ███▎░░░░░░░░░
gpu   1/2    memory          128Gi  60Gi       46%   0       4Gi   ██████▏░░░░░░
gpu   1/2    pods            220    4          1%    <none>  106   ▎░░░░░░░░░░░░
gpu   1/2    nvidia.com/gpu  8      3          37%   3       1     ████▉░░░░░░░░`.slice(1),
    );
  });

  test('prints a resource as one short word', async () => {
    const allocatable = { 'example.com/a b': '1', ['r'.repeat(9_000)]: '1' };
    const top = await topOf(topCluster({ nodes: [aNode({ allocatable })] }), { nodes: true, resources: 'all' });
    const names = renderTopNodes(top, SHOWN, plain)
      .split('\n')
      .map(line => line.split(/ +/)[3]);
    assert.ok(names.includes('example.com/a_b'), names.join());
    assert.ok(names.includes(`${'r'.repeat(127)}…`), names.join());
  });

  test('draws bars of at most 20 cells, and no line wider than the terminal', async () => {
    const top = await topOf(topCluster());
    const widest = (text: string) => Math.max(...text.split('\n').map(line => widthOf(stripVTControlCharacters(line))));
    const bare = widest(renderTopPools(top, SHOWN, plain));
    for (let columns = bare - 5; columns < bare + 40; columns++) {
      const text = renderTopPools(top, { ...SHOWN, bars: { columns, glyphs: BLOCKS } }, colored);
      assert.ok(widest(text) <= Math.max(columns, bare), `${columns}`);
      assert.equal(text.includes('█'), columns >= bare + 7, `${columns}`);
      assert.ok(widest(text) <= bare + 22);
    }
  });

  test('prints each node with its state, and usage where known', async () => {
    const top = await topOf(topCluster(MEASURED), { nodes: true, names: ['worker'], resources: ['cpu', 'memory'] });
    assert.equal(
      renderTopNodes(top, { ...SHOWN, bars: { columns: 100, glyphs: ASCII } }, plain),
      `
NODE   POOL    STATUS                    RESOURCE  ALLOC  REQUESTED  REQ%  LIMITS  USED    USED%   FREE
w1     worker  Ready                     cpu       4      3.9        97%   6       0.12    3%      0.1
w1     worker  Ready                     memory    2.9Gi  1Gi        34%   2Gi     500Mi   16%     1.9Gi
w2     worker  Ready                     cpu       4      5          125%  0       <none>  <none>  0
w2     worker  Ready                     memory    2.9Gi  100Mi      3%    0       <none>  <none>  2.8Gi
w3     worker  Ready,SchedulingDisabled  cpu       4      1          25%   0       <none>  <none>  0
w3     worker  Ready,SchedulingDisabled  memory    2.9Gi  0          0%    0       <none>  <none>  0
TOTAL  <none>  2/3                       cpu       12     9.9        82%   6       0.12    1%      0.1
TOTAL  <none>  2/3                       memory    8.8Gi  1.1Gi      12%   2Gi     500Mi   5%      4.7Gi`.slice(1),
    );
  });

  test('prints the table without pods', async () => {
    const top = await topOf(topCluster(), { pods: false, names: ['gpu', 'empty'] });
    assert.equal(
      renderTopPools(top, { ...SHOWN, headers: false, bars: { columns: 200, glyphs: BLOCKS } }, plain),
      `
empty  0/0  cpu             0
empty  0/0  memory          0
empty  0/0  pods            0
gpu    1/2  cpu             31.64
gpu    1/2  memory          128Gi
gpu    1/2  pods            220
gpu    1/2  nvidia.com/gpu  8
TOTAL  1/2  cpu             31.64
TOTAL  1/2  memory          128Gi
TOTAL  1/2  pods            220
TOTAL  1/2  nvidia.com/gpu  8`.slice(1),
    );
  });

  test('prints a requested resource that does not exist as 0', async () => {
    const top = await topOf(topCluster(), { names: ['gpu', 'worker'], resources: ['nvidia.com/gpu'] });
    const text = renderTopPools(top, { ...SHOWN, everyResource: true }, plain);
    assert.match(text, /^worker +2\/3 +nvidia\.com\/gpu +0 +0 +<none> +0 +0$/m);
  });

  test('colours nearly full and full values', async () => {
    const text = renderTopNodes(await topOf(topCluster(), { nodes: true }), SHOWN, colored);
    assert.ok(text.includes(colored.red('97%')));
    assert.ok(text.includes(colored.green('25%')));
    assert.ok(text.includes(colored.red('NotReady')));
    assert.ok(text.includes(colored.yellow('Ready,SchedulingDisabled')));
    assert.ok(renderTopPools(await topOf(topCluster()), SHOWN, colored).includes(colored.yellow('82%')));
    assert.ok(text.includes(colored.bold('TOTAL')));
  });

  test('prints as many words in every line, and escapes names of the cluster', async () => {
    const cluster = topCluster();
    cluster.nodes.push(aNode({ name: 'x', allocatable: { 'evil\u001b[2J gpu/gpu': '1' } }));
    const text = renderTopPools(await topOf(cluster, { resources: ['cpu', 'evil\u001b[2J'] }), SHOWN, plain);
    for (const line of text.split('\n')) assert.equal(line.split(/ +/).length, 8, line);
    assert.ok(!text.includes('\u001b'));
  });
});

describe('JSON and CSV', () => {
  test('JSON: prints exact quantities, and numbers beside', async () => {
    const top = await topOf(topCluster(MEASURED), { resources: ['memory', 'pods'] });
    const { pools, unassigned, total, nodes } = JSON.parse(printTop(top, false, 'json'));
    assert.deepEqual(pools[2], {
      name: 'worker',
      nodeCount: 3,
      schedulableNodeCount: 2,
      resources: {
        memory: {
          allocatable: { quantity: '9193560Ki', value: 9_414_205_440 },
          requested: { quantity: '1124Mi', value: 1_178_599_424 },
          limits: { quantity: '2Gi', value: 2_147_483_648 },
          used: { quantity: '500Mi', value: 524_288_000 },
          free: { quantity: '4978064Ki', value: 5_097_537_536 },
          requestedPercent: 12.52,
          limitsPercent: 22.81,
          usedPercent: 5.57,
        },
        pods: {
          allocatable: { quantity: '330', value: 330 },
          requested: { quantity: '16', value: 16 },
          free: { quantity: '205', value: 205 },
          requestedPercent: 4.85,
        },
      },
    });
    assert.deepEqual([unassigned.nodeCount, total.nodeCount, nodes], [1, 6, undefined]);
  });

  test('JSON: prints nodes, without unknown values', async () => {
    const top = await topOf(topCluster(), { nodes: true, pods: false, resources: ['cpu'] });
    const { nodes } = JSON.parse(printTop(top, true, 'json'));
    assert.deepEqual(nodes[1], {
      name: 'g2',
      pool: 'gpu',
      ready: false,
      unschedulable: false,
      resources: { cpu: { allocatable: { quantity: '15820m', value: 15.82 } } },
    });
    assert.equal('pool' in nodes[5], false);
  });

  test('prints an amount beyond all numbers exactly in data, cut in the table, without number and percentage', async () => {
    const top = await topOf(topCluster({ demand: { w1: demandOf(1, { cpu: `1${'0'.repeat(400)}` }) } }), {
      names: ['worker'],
      resources: ['cpu'],
    });
    const { requested, requestedPercent } = JSON.parse(printTop(top, false, 'json')).pools[0].resources.cpu;
    assert.deepEqual([requested.value, requestedPercent], [undefined, undefined]);
    assert.equal(BigInt(requested.quantity.replace(/E$/, '0'.repeat(18))), 10n ** 400n);
    assert.match(renderTopPools(top, SHOWN, plain), /^worker {2}2\/3 {4}cpu {7}12 {5}10{22}… {2}<none> {2}0 {7}4$/m);
    assert.match(topCsv(top, { withNodes: false, headers: false }), /^worker,3,2,cpu,12,12,10{382}E,,0,0,/);
  });

  test('prints CSV of pools', async () => {
    const top = await topOf(topCluster(MEASURED), { resources: ['cpu'] });
    assert.equal(
      topCsv(top, { withNodes: false, headers: true }),
      `
pool,nodes,schedulableNodes,resource,allocatable,allocatableValue,requested,requestedValue,limits,limitsValue,used,usedValue,free,freeValue,requestedPercent,limitsPercent,usedPercent
empty,0,0,cpu,0,0,0,0,0,0,,,0,0,,,
gpu,2,1,cpu,31640m,31.64,8,8,0,0,9500m,9.5,7820m,7.82,25.28,0,30.03
worker,3,2,cpu,12,12,9900m,9.9,6,6,123456789n,0.123456789,100m,0.1,82.5,50,1.03
,1,1,cpu,4,4,0,0,0,0,,,4,4,0,0,`.slice(1),
    );
  });

  test('prints CSV of nodes', async () => {
    const top = await topOf(topCluster(), { nodes: true, names: ['worker'], resources: ['pods'] });
    assert.equal(
      topCsv(top, { withNodes: true, headers: false }),
      `
w1,worker,true,pods,110,110,12,12,,,,,98,98,10.91,,
w2,worker,true,pods,110,110,3,3,,,,,107,107,2.73,,
w3,worker,false,pods,110,110,1,1,,,,,0,0,0.91,,`.slice(1),
    );
  });
});
