import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { printTop, topCsv } from '../../../../src/commands/shared/top/top-data.ts';
import { warningsIn } from '../../../../src/commands/top/command.ts';
import {
  renderNodeResources,
  renderPoolResources,
  renderTopNodes,
  renderTopPods,
  renderTopPools,
} from '../../../../src/commands/top/print.ts';
import { ASCII, BLOCKS } from '../../../../src/print/bar.ts';
import { widthOf } from '../../../../src/print/width.ts';
import { aNode } from '../../nodepool/fixtures.ts';
import { colored, plain } from '../../print/fixtures.ts';
import { demandOf, topCluster, topOf } from '../shared/top/top-cluster.ts';
import { MEASURED, SHOWN } from './print-fixtures.ts';

const terminal = (columns: number) => ({ ...SHOWN, terminal: { columns, glyphs: ASCII } });

test('prints a line for each pool', async () => {
  assert.equal(
    renderTopPools(await topOf(topCluster(MEASURED)), SHOWN, plain),
    `
POOL    NODES  CPU-REQ  CPU-REQ%  CPU-USED%  CPU-FREE  CPU-FIT  MEM-REQ  MEM-REQ%  MEM-USED%  MEM-FREE  MEM-FIT  PODS    GPU-REQ  GPU-REQ%  GPU-FREE  GPU-FIT
empty   0/0    0        <none>    <none>     0         0        0        <none>    <none>     0         0        0/0     0        <none>    0         0
gpu     1/2    8        25%       60%        7.82      7.82     60Gi     46%       48%        4Gi       4Gi      4/220   3        37%       1         1
worker  2/3    9.9      82%       3%         0.1       0.1      1.1Gi    12%       16%        4.7Gi     2.8Gi    16/330  0        <none>    0         0
<none>  1/1    0        0%        <none>     4         4        0        0%        <none>     2.9Gi     2.9Gi    0/110   0        <none>    0         0
TOTAL   4/6    17.9     37%       48%        11.92     7.82     61.1Gi   43%       47%        11.7Gi    4Gi      20/660  3        37%       1         1`.slice(
      1,
    ),
  );
});

test('warns about nodes without metrics, which USED% leaves out', async () => {
  const warned = async (more: object) => warningsIn(await topOf(topCluster(more)));
  assert.deepEqual(await warned(MEASURED), ['USED% leaves out 4 nodes (g2, w2, w3 and 1 more) without metrics']);
  assert.deepEqual(await warned({}), []);
});

test('fits terminals of all but the smallest widths by leaving out columns', async () => {
  const top = await topOf(topCluster());
  assert.equal(
    renderTopPools(top, terminal(80), plain),
    `
POOL    NODES  CPU-REQ%  CPU-FIT  MEM-REQ%  MEM-FIT  PODS    GPU-REQ%  GPU-FIT …
empty   0/0    <none>    0        <none>    0        0/0     <none>    0
gpu     1/2    25%       7.82     46%       4Gi      4/220   37%       1
worker  2/3    82%       0.1      12%       2.8Gi    16/330  <none>    0
<none>  1/1    0%        4        0%        2.9Gi    0/110   <none>    0
TOTAL   4/6    37%       7.82     43%       4Gi      20/660  37%       1`.slice(1),
  );
  for (let columns = 36; columns < 160; columns++) {
    const lines = renderTopPools(top, terminal(columns), plain).split('\n');
    assert.ok(
      lines.every(line => line.length <= columns),
      `${columns}:\n${lines.join('\n')}`,
    );
  }
});

test('keeps free resources and status of a node, then its pool, percentages, and its whole name', async () => {
  const top = await topOf(topCluster(), { nodes: true });
  const headers = (columns: number) => renderTopNodes(top, terminal(columns), plain).split('\n')[0];
  assert.match(
    headers(100) ?? '',
    /^NODE +POOL +STATUS +CPU-REQ% +CPU-FREE +MEM-REQ% +MEM-FREE +GPU-REQ% +GPU-FREE …$/,
  );
  assert.match(headers(80) ?? '', /^NODE +POOL +STATUS +CPU-FREE +MEM-FREE +GPU-FREE …$/);
  assert.match(headers(40) ?? '', /^NODE +CPU-FREE +MEM-FREE +GPU-FREE …$/);
});

test('fits 80 and 60 columns with long names, and shows as much as fits', async () => {
  const top = await topOf(topCluster(), { nodes: true });
  const pools = top.pools.map((row, i) => ({ ...row, pool: `team-payments-batch-spot-large-${i}` }));
  const nodes = top.nodes.map((row, i) => {
    return { ...row, node: { ...row.node, name: `ip-10-0-123-4${i}.eu-central-1.compute.internal` } };
  });
  for (const columns of [80, 60]) {
    const shown = [
      renderTopPools({ ...top, pools }, terminal(columns), plain),
      renderTopNodes({ ...top, nodes }, terminal(columns), plain),
    ];
    assert.match(shown[0] ?? '', / CPU-FIT .* MEM-FIT .*GPU-FIT …$/m);
    assert.match(shown[1] ?? '', / CPU-FREE .* MEM-FREE .*GPU-FREE …$/m);
    for (const text of shown) {
      const lines = text.split('\n');
      assert.ok(
        lines.every(line => line.length <= columns),
        text,
      );
      const names = lines.map(line => line.split(' ')[0]);
      assert.equal(new Set(names).size, names.length, text);
    }
  }
});

test('keeps NODES and percentages beside label columns, and cuts those', async () => {
  const cluster = topCluster();
  const labels = { zone: 'europe-west4a-with-a-long-name' };
  const nodes = cluster.nodes.map(node => ({ ...node, labels: { ...node.labels, ...labels } }));
  const found = await topOf({ ...cluster, nodes });
  const [header] = renderTopPools(found, { ...terminal(80), labelColumns: ['zone'] }, plain).split('\n');
  assert.match(header ?? '', /^POOL +NODES +CPU-REQ% +MEM-REQ% +GPU-REQ% +ZONE …$/);
});

test('prints a line for each node, without the largest free amount', async () => {
  const top = await topOf(topCluster(), { nodes: true, names: ['worker'], resources: ['cpu', 'pods'] });
  assert.equal(
    renderTopNodes(top, SHOWN, plain),
    `
NODE   POOL    STATUS                    CPU-REQ  CPU-REQ%  CPU-FREE  PODS
w1     worker  Ready                     3.9      97%       0.1       12/110
w2     worker  Ready                     5        125%      0         3/110
w3     worker  Ready,SchedulingDisabled  1        25%       0         1/110
TOTAL  <none>  2/3                       9.9      82%       0.1       16/330`.slice(1),
  );
});

test('without pods prints what is allocatable', async () => {
  const top = await topOf(topCluster(), { pods: false, names: ['gpu'] });
  assert.equal(
    renderTopPools(top, SHOWN, plain),
    'POOL  NODES  CPU    MEM    PODS  GPU\ngpu   1/2    31.64  128Gi  220   8',
  );
});

test('prints the whole name of a resource where two would have the same header', async () => {
  const resources = ['nvidia.com/gpu', 'amd.com/gpu', 'ephemeral-storage'];
  const [header] = renderTopPools(await topOf(topCluster(), { pods: false, resources }), SHOWN, plain).split('\n');
  assert.deepEqual(header?.split(/ +/).slice(2), ['NVIDIA.COM/GPU', 'AMD.COM/GPU', 'STORAGE']);
});

test('prints a line for each pod with usage, by node and name or the largest first', async () => {
  const load = (namespace: string, name: string, node: string, cpu: string) => {
    const { requests, limits } = demandOf(1, { cpu, memory: '1Gi' });
    return { namespace, name, node, requests, limits };
  };
  const pods = [
    load('b', 'x', 'w1', '1'),
    load('a', 'y', 'w1', '200m'),
    load('a', 'z', 'cp', '2'),
    load('a', 'o', 'gone', '9'),
  ];
  const podUsage = { kind: 'served' as const, byPod: new Map([['b/x', demandOf(1, { cpu: '500m' }).requests]]) };
  const podsOf = (options: object) => topOf(topCluster({ pods, podUsage }), { eachPod: true, ...options });
  assert.equal(
    renderTopPods(await podsOf({}), SHOWN, plain),
    `
POOL    NODE  NAMESPACE  POD  CPU-REQ  CPU-REQ%  CPU-USED  CPU-USED%  MEM-REQ  MEM-REQ%  MEM-USED  MEM-USED%  GPU-REQ  GPU-REQ%
worker  w1    a          y    0.2      5%        <none>    <none>     1Gi      34%       <none>    <none>     0        <none>
worker  w1    b          x    1        25%       0.5       12%        1Gi      34%       <none>    <none>     0        <none>
<none>  cp    a          z    2        50%       <none>    <none>     1Gi      34%       <none>    <none>     0        <none>`.slice(
      1,
    ),
  );
  const sorted = await podsOf({ names: ['worker'], sortBy: 'cpu.requested' });
  assert.deepEqual(
    sorted.pods.map(({ pod }) => pod.name),
    ['x', 'y'],
  );
  const csv = topCsv(await podsOf({ resources: ['cpu'] }), { rows: 'pods', headers: true }).split('\n');
  assert.match(csv[0] ?? '', /^namespace,pod,node,pool,resource,allocatable,/);
  assert.match(csv[2] ?? '', /^b,x,w1,worker,cpu,4,4,1,1,0,0,500m,0\.5,/);
  const json = JSON.parse(printTop(await podsOf({ resources: ['cpu'] }), 'pods', 'json'));
  assert.deepEqual([json.pods[2].name, json.pods[2].pool, json.nodes], ['z', undefined, undefined]);
});

test('prints pools, unassigned nodes, and the total', async () => {
  assert.equal(
    renderPoolResources(await topOf(topCluster()), SHOWN, plain),
    `
POOL    NODES  RESOURCE        ALLOC    REQUESTED  REQ%    LIMITS  FREE    FIT
empty   0/0    cpu             0        0          <none>  0       0       0
empty   0/0    memory          0        0          <none>  0       0       0
empty   0/0    pods            0        0          <none>  <none>  0       0
gpu     1/2    cpu             31.64    8          25%     0       7.82    7.82
gpu     1/2    memory          128Gi    60Gi       46%     0       4Gi     4Gi
gpu     1/2    pods            220      4          1%      <none>  106     106
gpu     1/2    nvidia.com/gpu  8        3          37%     3       1       1
worker  2/3    cpu             12       9.9        82%     6       0.1     0.1
worker  2/3    memory          8.8Gi    1.1Gi      12%     2Gi     4.7Gi   2.8Gi
worker  2/3    pods            330      16         4%      <none>  205     107
<none>  1/1    cpu             4        0          0%      0       4       4
<none>  1/1    memory          2.9Gi    0          0%      0       2.9Gi   2.9Gi
<none>  1/1    pods            110      0          0%      <none>  110     110
TOTAL   4/6    cpu             47.64    17.9       37%     6       11.92   7.82
TOTAL   4/6    memory          139.7Gi  61.1Gi     43%     2Gi     11.7Gi  4Gi
TOTAL   4/6    pods            660      20         3%      <none>  421     110
TOTAL   4/6    nvidia.com/gpu  8        3          37%     3       1       1`.slice(1),
  );
});

test('draws bars in the remaining width, and omits the total of one pool', async () => {
  const top = await topOf(topCluster(), { names: ['gpu'] });
  assert.equal(
    renderPoolResources(top, { ...SHOWN, terminal: { columns: 90, glyphs: BLOCKS } }, plain),
    `
POOL  NODES  RESOURCE        ALLOC  REQUESTED  REQ%  LIMITS  FREE  FIT
gpu   1/2    cpu             31.64  8          25%   0       7.82  7.82  ████▎░░░░░░░░░░░░
gpu   1/2    memory          128Gi  60Gi       46%   0       4Gi   4Gi   ████████░░░░░░░░░
gpu   1/2    pods            220    4          1%    <none>  106   106   ▎░░░░░░░░░░░░░░░░
gpu   1/2    nvidia.com/gpu  8      3          37%   3       1     1     ██████▍░░░░░░░░░░`.slice(1),
  );
});

test('prints a resource as one short word', async () => {
  const allocatable = { 'example.com/a b': '1', ['r'.repeat(9_000)]: '1' };
  const top = await topOf(topCluster({ nodes: [aNode({ allocatable })] }), { nodes: true, resources: 'all' });
  const names = renderNodeResources(top, SHOWN, plain)
    .split('\n')
    .map(line => line.split(/ +/)[3]);
  assert.ok(names.includes('example.com/a_b'), names.join());
  assert.ok(names.includes(`${'r'.repeat(127)}…`), names.join());
});

test('draws bars of at most 20 cells, within the width of the terminal', async () => {
  const top = await topOf(topCluster());
  const widest = (text: string) => Math.max(...text.split('\n').map(line => widthOf(stripVTControlCharacters(line))));
  const bare = widest(renderPoolResources(top, SHOWN, plain));
  for (let columns = bare - 5; columns < bare + 40; columns++) {
    const text = renderPoolResources(top, { ...SHOWN, terminal: { columns, glyphs: BLOCKS } }, colored);
    assert.ok(widest(text) <= Math.max(columns, bare), `${columns}`);
    assert.equal(text.includes('█'), columns >= bare + 7, `${columns}`);
    assert.ok(widest(text) <= bare + 22);
  }
});

test('prints each node with its state, and usage where known', async () => {
  const top = await topOf(topCluster(MEASURED), { nodes: true, names: ['worker'], resources: ['cpu', 'memory'] });
  assert.equal(
    renderNodeResources(top, { ...SHOWN, terminal: { columns: 106, glyphs: ASCII } }, plain),
    `
NODE   POOL    STATUS                    RESOURCE  ALLOC  REQUESTED  REQ%  LIMITS  USED    USED%   FREE
w1     worker  Ready                     cpu       4      3.9        97%   6       0.12    3%      0.1
w1     worker  Ready                     memory    2.9Gi  1Gi        34%   2Gi     500Mi   16%     1.9Gi
w2     worker  Ready                     cpu       4      5          125%  0       <none>  <none>  0
w2     worker  Ready                     memory    2.9Gi  100Mi      3%    0       <none>  <none>  2.8Gi
w3     worker  Ready,SchedulingDisabled  cpu       4      1          25%   0       <none>  <none>  0
w3     worker  Ready,SchedulingDisabled  memory    2.9Gi  0          0%    0       <none>  <none>  0
TOTAL  <none>  2/3                       cpu       12     9.9        82%   6       0.12    3%      0.1
TOTAL  <none>  2/3                       memory    8.8Gi  1.1Gi      12%   2Gi     500Mi   16%     4.7Gi`.slice(1),
  );
});

test('leaves out columns of resource lines that do not fit, and breaks no number', async () => {
  const top = await topOf(topCluster(MEASURED), { nodes: true });
  for (const columns of [60, 70, 80]) {
    for (const render of [renderPoolResources, renderNodeResources]) {
      const lines = render(top, terminal(columns), plain).split('\n');
      assert.match(lines[0] ?? '', / RESOURCE +ALLOC .*REQ% .*FREE/);
      assert.ok(
        lines.every(line => line.length <= columns),
        lines.join('\n'),
      );
    }
  }
});

test('leaves out columns of zeros, and a pool and status that all nodes have, first', async () => {
  const headers = async (name: string) => {
    const top = await topOf(topCluster(), { nodes: true, names: [name] });
    return renderTopNodes(top, terminal(70), plain).split('\n')[0] ?? '';
  };
  assert.match(await headers('worker'), /^NODE +STATUS +CPU-REQ% +CPU-FREE +MEM-REQ% +MEM-FREE …$/);
});

test('prints the table without pods', async () => {
  const top = await topOf(topCluster(), { pods: false, names: ['gpu', 'empty'] });
  assert.equal(
    renderPoolResources(top, { ...SHOWN, headers: false, terminal: { columns: 200, glyphs: BLOCKS } }, plain),
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
  const text = renderPoolResources(top, { ...SHOWN, everyResource: true }, plain);
  assert.match(text, /^worker +2\/3 +nvidia\.com\/gpu +0 +0 +<none> +0 +0 +0$/m);
});

test('colours nearly full and full values', async () => {
  const text = renderNodeResources(await topOf(topCluster(), { nodes: true }), SHOWN, colored);
  assert.ok(text.includes(colored.red('97%')));
  assert.ok(text.includes(colored.green('25%')));
  assert.ok(text.includes(colored.red('NotReady')));
  assert.ok(text.includes(colored.yellow('Ready,SchedulingDisabled')));
  assert.ok(renderPoolResources(await topOf(topCluster()), SHOWN, colored).includes(colored.yellow('82%')));
  assert.ok(text.includes(colored.bold('TOTAL')));
});

test('prints the same number of words in every line, and escapes cluster names', async () => {
  const cluster = topCluster();
  cluster.nodes.push(aNode({ name: 'x', allocatable: { 'evil\u001b[2J gpu/gpu': '1' } }));
  const text = renderPoolResources(await topOf(cluster, { resources: ['cpu', 'evil\u001b[2J'] }), SHOWN, plain);
  for (const line of text.split('\n')) assert.equal(line.split(/ +/).length, 9, line);
  assert.ok(!text.includes('\u001b'));
});

test('shows node labels in columns, each value of a pool once', async () => {
  const cluster = topCluster();
  const nodes = cluster.nodes.map((node, at) => ({
    ...node,
    labels: { ...node.labels, 'example.com/zone': `z${at % 2}` },
  }));
  const found = await topOf({ ...cluster, nodes });
  const lines = renderTopPools(found, { ...SHOWN, labelColumns: ['example.com/zone'] }, plain).split('\n');
  assert.match(lines[0] ?? '', / ZONE$/);
  assert.ok(lines.some(line => line.endsWith(' z0,z1')));
  assert.match(lines.at(-1) ?? '', /^TOTAL .* <none>$/);
});
