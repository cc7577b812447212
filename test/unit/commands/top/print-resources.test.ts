import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { renderNodeResources, renderPoolResources } from '../../../../src/commands/top/print-resources.ts';
import { ASCII, BLOCKS } from '../../../../src/print/bar.ts';
import { widthOf } from '../../../../src/print/width.ts';
import { aNode } from '../../nodepool/fixtures.ts';
import { colored, plain } from '../../print/fixtures.ts';
import { topCluster, topOf } from '../shared/top/top-cluster.ts';
import { MEASURED, SHOWN } from './print-fixtures.ts';

test('prints pools, nodes without pool, and the total', async () => {
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

test('draws bars of at most 20 cells, and no line wider than the terminal', async () => {
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
    renderNodeResources(top, { ...SHOWN, terminal: { columns: 100, glyphs: ASCII } }, plain),
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

test('prints as many words in every line, and escapes names of the cluster', async () => {
  const cluster = topCluster();
  cluster.nodes.push(aNode({ name: 'x', allocatable: { 'evil\u001b[2J gpu/gpu': '1' } }));
  const text = renderPoolResources(await topOf(cluster, { resources: ['cpu', 'evil\u001b[2J'] }), SHOWN, plain);
  for (const line of text.split('\n')) assert.equal(line.split(/ +/).length, 9, line);
  assert.ok(!text.includes('\u001b'));
});
