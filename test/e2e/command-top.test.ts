/** `top`: its output. Its figures: command-top-figures.test.ts. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { stripVTControlCharacters } from 'node:util';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { container, createPods, preparePods } from './many-pods.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);
const GPU_NODE = { cpu: '16', memory: '64Gi', pods: '50', 'nvidia.com/gpu': '8', 'hugepages-2Mi': '1Gi' };

/** Two pools with four nodes, three of them schedulable, and a node of no pool. */
async function createSmallCluster(): Promise<void> {
  await preparePods(cluster());
  await testEnv.nodes(
    { name: 'g1', labels: role('gpu'), allocatable: GPU_NODE },
    { name: 'w1', labels: role('worker') },
    { name: 'w2', labels: role('worker') },
    { name: 'w3', labels: role('worker'), unschedulable: true },
    { name: 'x' },
  );
  await testEnv.pool('gpu', {}, { metadata: { labels: { team: 'ml' } } });
  await testEnv.pool('worker');
  const pod = (cpu: string, memory: string) => [
    { name: 'p', spec: { containers: [container('a', { cpu, memory }, { memory })] } },
  ];
  await createPods(cluster(), 'w1', pod('3', '1Gi'));
  await createPods(cluster(), 'w3', pod('1', '1Gi'));
  const gpus = { 'nvidia.com/gpu': '6' };
  await createPods(cluster(), 'g1', [{ name: 'p', spec: { containers: [container('a', gpus, gpus)] } }]);
}

test('shows pools in a table, without pods, by node, selected and sorted', async () => {
  await createSmallCluster();
  const { code, stdout, stderr } = await kubectl(cluster(), ['nodepool', 'top']);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  assert.equal(
    stdout,
    `
POOL    NODES  CPU-REQ  CPU-REQ%  CPU-FREE  CPU-FIT  MEM-REQ  MEM-REQ%  MEM-FREE  MEM-FIT  PODS   GPU-REQ  GPU-REQ%  GPU-FREE  GPU-FIT
gpu     1/1    0        0%        16        16       0        0%        64Gi      64Gi     1/50   6        75%       2         2
worker  2/3    4        33%       5         4        2Gi      22%       4.8Gi     2.9Gi    2/330  0        <none>    0         0
<none>  1/1    0        0%        4         4        0        0%        2.9Gi     2.9Gi    0/110  0        <none>    0         0
TOTAL   4/5    4        12%       25        16       2Gi      2%        71.8Gi    64Gi     3/490  6        75%       2         2
`.slice(1),
  );
  assert.equal(
    await ok(['top', '--by', 'resource', '--resources', 'cpu,memory']),
    `
POOL    NODES  RESOURCE  ALLOC   REQUESTED  REQ%  LIMITS  FREE    FIT
gpu     1/1    cpu       16      0          0%    0       16      16
gpu     1/1    memory    64Gi    0          0%    0       64Gi    64Gi
worker  2/3    cpu       12      4          33%   0       5       4
worker  2/3    memory    8.8Gi   2Gi        22%   2Gi     4.8Gi   2.9Gi
<none>  1/1    cpu       4       0          0%    0       4       4
<none>  1/1    memory    2.9Gi   0          0%    0       2.9Gi   2.9Gi
TOTAL   4/5    cpu       32      4          12%   0       25      16
TOTAL   4/5    memory    75.7Gi  2Gi        2%    2Gi     71.8Gi  64Gi
`.slice(1),
  );
  assert.equal(
    await ok(['top', '--pods', '--sort-by', 'memory', '--resources', 'cpu,memory']),
    `
POOL    NODE  NAMESPACE  POD   CPU-REQ  CPU-REQ%  MEM-REQ  MEM-REQ%
worker  w1    default    w1-p  3        75%       1Gi      34%
worker  w3    default    w3-p  1        25%       1Gi      34%
gpu     g1    default    g1-p  0        0%        0        0%
`.slice(1),
  );
  assert.equal(
    await ok(['top', 'worker', '--by', 'resource', '--nodes', '--resources', 'cpu', '--sort-by', 'cpu.requested']),
    `
NODE   POOL    STATUS                    RESOURCE  ALLOC  REQUESTED  REQ%  LIMITS  FREE
w1     worker  Ready                     cpu       4      3          75%   0       1
w3     worker  Ready,SchedulingDisabled  cpu       4      1          25%   0       0
w2     worker  Ready                     cpu       4      0          0%    0       4
TOTAL  <none>  2/3                       cpu       12     4          33%   0       5
`.slice(1),
  );
  assert.equal(
    await ok(['top', '-l', 'team=ml', '--no-pods', '--no-headers', '--resources', 'nvidia.com/gpu,cpu']),
    'gpu  1/1  8  16\n',
  );
  const csv = await ok(['top', '-o', 'csv', '--resources', 'memory', '--no-headers']);
  assert.equal(
    csv.split('\n')[1],
    'worker,3,2,memory,9193560Ki,9414205440,2Gi,2147483648,2Gi,2147483648,,,5080464Ki,5202395136,22.81,22.81,,3064520Ki,3138068480',
  );
});

test('reads neither pods nor usage with --no-pods', async () => {
  await createSmallCluster();
  const { stderr } = await unchanged(['top', '--no-pods', '-v', '6']);
  assert.match(stderr, /GET .*\/api\/v1\/nodes\?/);
  assert.doesNotMatch(stderr, /pods|metrics/);
});

test('refuses wrong command lines with the next step', async () => {
  await createSmallCluster();
  const see = "See 'kubectl nodepool top --help'.";
  await refused(['top', 'gpu', 'gqu'], 1, 'error: nodepool "gqu" not found; did you mean "gpu"?');
  await refused(
    ['top', '--sort-by', 'cpus'],
    2,
    /^error: --sort-by: "cpus" is not shown; did you mean "cpu"\?; next: /,
  );
  await refused(
    ['top', '--resources', 'cpu,'],
    2,
    `error: --resources: "cpu," has an empty name; next: write it like cpu,nvidia.com/gpu\n${see}`,
  );
  await refused(['top', '-l', 'a b'], 2, /^error: -l "a b": /);
  await refused(['top', 'gpu', '-l', 'a=b'], 2, /^error: names and -l cannot be used together/);
  await refused(['top', '-o', 'xml'], 2, /^error: unknown output format "xml"; next: use one of json, yaml, csv$/m);
  const odd = await unchanged(['top', 'gpu', '--resources', 'nvidia.com/gpus', '--no-headers']);
  assert.deepEqual(odd, {
    code: 0,
    stdout: 'gpu  1/1  0  <none>  0  0\n',
    stderr: 'warning: no node has the resource "nvidia.com/gpus"; did you mean "nvidia.com/gpu"?\n',
  });
  await testEnv.clean();
  await refused(['top'], 0, 'No pools found.');
});

test('names the missing permission for pods and suggests --no-pods', async () => {
  await createSmallCluster();
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const rules = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['list'] },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['list'] },
  ];
  await raw(cluster()).expect('POST', `${rbac}/clusterroles`, { metadata: { name: 'looker' }, rules });
  await raw(cluster()).expect('POST', `${rbac}/clusterrolebindings`, {
    metadata: { name: 'looker' },
    roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'looker' },
    subjects: [{ kind: 'User', name: 'looker', apiGroup: 'rbac.authorization.k8s.io' }],
  });
  const env = { KUBECONFIG: await kubeconfigFor(cluster(), 'looker') };
  const { code, stderr } = await cliHere(cluster(), ['top'], { env });
  const text =
    'error: user "looker" may not list pods; next: ask for a role with verb list on pods, verb list on nodes.metrics.k8s.io, or show allocatable only with --no-pods';
  assert.deepEqual({ code, stderr: stderr.trimEnd() }, { code: 1, stderr: text });
  assert.match(await ok(['top', '--no-pods'], { env }), /^gpu +1\/1 +16 +/m);
});

test('fits a terminal of 80 columns', { skip: NO_TERMINAL }, async () => {
  await createSmallCluster();
  const { shown: all } = await inTerminal(cluster(), ['top'], '', 80);
  // Behind the spinner.
  const shown = stripVTControlCharacters(all.slice(all.indexOf('POOL')));
  assert.ok(
    shown.split('\n').every(line => line.length <= 80),
    shown,
  );
  assert.match(shown, /^POOL +NODES +CPU-REQ% +CPU-FIT +MEM-REQ% +MEM-FIT +PODS +GPU-REQ% +GPU-FIT …$/m);
});

test('shows bars on a terminal', { skip: NO_TERMINAL }, async () => {
  await createSmallCluster();
  const { code, shown } = await inTerminal(cluster(), ['top', 'gpu', '--by', 'resource'], '', 90);
  assert.equal(code, 0);
  const line = /^gpu +1\/1 +nvidia.com\/gpu +8 +6 +75% +6 +2 +2 +(#+-+)$/m.exec(shown);
  assert.ok(line, shown);
  const [, bar = ''] = line;
  assert.ok(bar.length >= 5 && bar.length <= 20 && line[0].length <= 90, shown);
});
