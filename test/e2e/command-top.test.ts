/** `top` compared with `kubectl describe node` of the same nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demandSums, type WirePod } from '../../src/kube/resources/pod-demand.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { container, createHeavyRuntime, createPods, deletePods, RESIZED, STEADY } from './many-pods.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok, refused, unchanged } = commandsOf(cluster);
const GPU_NODE = { cpu: '16', memory: '64Gi', pods: '50', 'nvidia.com/gpu': '8', 'hugepages-2Mi': '1Gi' };

/** Not in a hook: hooks may run at the same time as those of the test environment. */
async function fresh(): Promise<void> {
  await deletePods(cluster());
  await createHeavyRuntime(cluster());
}

interface Figure {
  quantity: string;
  value: number;
}
interface Figures extends Record<'allocatable' | 'requested' | 'limits' | 'used' | 'free', Figure> {
  requestedPercent?: number;
  limitsPercent?: number;
}
interface Shown {
  name: string;
  pool?: string;
  resources: Record<string, Figures>;
}

async function topNodes(...args: string[]): Promise<Map<string, Shown>> {
  const { nodes } = JSON.parse(await ok(['top', '--nodes', '--resources', 'all', '-o', 'json', ...args]));
  return new Map(nodes.map((node: Shown) => [node.name, node]));
}

async function describeNode(name: string): Promise<string> {
  const { code, stdout, stderr } = await kubectl(cluster(), ['describe', 'node', name]);
  assert.equal(code, 0, stderr);
  return stdout;
}

/** `850m 21%` of each, as in the table "Allocated resources"; a percentage only where it has one. */
function allocated(described: string): Record<string, { requests: string; limits: string }> {
  const table = described.split('Allocated resources:')[1]?.split('Events:')[0] ?? '';
  const row = /^ {2}([a-z][\w./-]+) +(\S+)(?: \((\d+)%\))? +(\S+)(?: \((\d+)%\))? *$/gm;
  const said = (quantity = '', percent?: string) => (percent === undefined ? quantity : `${quantity} ${percent}%`);
  const rows = [...table.matchAll(row)].map(([, name = '', requests, requestsPercent, limits, limitsPercent]) => {
    return [name, { requests: said(requests, requestsPercent), limits: said(limits, limitsPercent) }] as const;
  });
  return Object.fromEntries(rows);
}

test('shows for each node the figures of kubectl describe node', async () => {
  await fresh();
  await testEnv.nodes(
    { name: 'a', labels: role('gpu'), allocatable: GPU_NODE },
    { name: 'b', labels: role('gpu'), allocatable: GPU_NODE, unschedulable: true },
    { name: 'c', ready: false },
  );
  await testEnv.pool('gpu');
  await createPods(cluster(), 'a', STEADY);
  for (const pod of STEADY.slice(0, 5)) await createPods(cluster(), 'b', [pod]);
  const shown = await topNodes();
  assert.deepEqual(
    [...shown.values()].map(({ name, pool = '' }) => `${name}:${pool}`),
    ['a:gpu', 'b:gpu', 'c:'],
  );
  let compared = 0;
  for (const [name, { resources }] of shown) {
    const described = await describeNode(name);
    const pods = /Non-terminated Pods: +\((\d+) in total\)/.exec(described)?.[1];
    assert.equal(resources.pods?.requested.quantity, pods);
    for (const [resource, { requests, limits }] of Object.entries(allocated(described))) {
      const ours = resources[resource];
      // kubectl also shows cpu, memory, storage and resources that a node does not have.
      if (ours === undefined) {
        assert.match(`${requests} ${limits}`, /^0( 0%)? 0( 0%)?$/, `${name} ${resource}`);
        continue;
      }
      const percent = (value: number | undefined) => (requests.includes('%') ? ` ${Math.trunc(value ?? 0)}%` : '');
      assert.equal(ours.requested.quantity + percent(ours.requestedPercent), requests, `${name} ${resource} requests`);
      assert.equal(ours.limits.quantity + percent(ours.limitsPercent), limits, `${name} ${resource} limits`);
      compared += 1;
    }
  }
  assert.ok(compared >= 14, `${compared} resources compared`);
});

test('counts pods in a resize as kubectl describe node and the scheduler do', async () => {
  await fresh();
  await testEnv.nodes({ name: 'a', allocatable: GPU_NODE });
  for (const pod of RESIZED) {
    await deletePods(cluster());
    await createPods(cluster(), 'a', [pod]);
    const described = await describeNode('a');
    const line = new RegExp(
      `^ +default +a-${pod.name} +(\\S+) \\(\\d+%\\) +(\\S+) \\(\\d+%\\) +(\\S+) .*? +(\\S+) \\(`,
      'm',
    );
    const [, cpuRequests, cpuLimits, memoryRequests, memoryLimits] = line.exec(described) ?? [];
    const { cpu, memory } = (await topNodes()).get('a')?.resources ?? {};
    const ours = [cpu?.requested, cpu?.limits, memory?.requested, memory?.limits].map(figure => figure?.quantity);
    assert.deepEqual(ours, [cpuRequests, cpuLimits, memoryRequests, memoryLimits], pod.name);
  }
});

test('computes the same sums from protobuf and JSON', async () => {
  await fresh();
  await testEnv.nodes({ name: 'a' }, { name: 'b' });
  await createPods(cluster(), 'a', [...STEADY, ...RESIZED]);
  await createPods(cluster(), 'b', RESIZED);
  const { items } = (await raw(cluster()).expect('GET', '/api/v1/pods')) as { items: WirePod[] };
  const fromJson = demandSums();
  for (const pod of items) if (!/Succeeded|Failed/.test(pod.status?.phase ?? '')) fromJson.add(pod);
  const { byNode, problems } = await (await testEnv.connection()).pods.demand();
  assert.deepEqual(problems, []);
  assert.deepEqual(byNode, fromJson.byNode);
  assert.equal(byNode.get('a')?.pods, STEADY.length - 2 + RESIZED.length);
});

/** Two pools with four nodes, three of them schedulable, and a node of no pool. */
async function createSmallCluster(): Promise<void> {
  await fresh();
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
POOL    NODES  RESOURCE        ALLOC   REQUESTED  REQ%  LIMITS  FREE
gpu     1/1    cpu             16      0          0%    0       16
gpu     1/1    memory          64Gi    0          0%    0       64Gi
gpu     1/1    pods            50      1          2%    <none>  49
gpu     1/1    nvidia.com/gpu  8       6          75%   6       2
worker  2/3    cpu             12      4          33%   0       5
worker  2/3    memory          8.8Gi   2Gi        22%   2Gi     4.8Gi
worker  2/3    pods            330     2          0%    <none>  219
<none>  1/1    cpu             4       0          0%    0       4
<none>  1/1    memory          2.9Gi   0          0%    0       2.9Gi
<none>  1/1    pods            110     0          0%    <none>  110
TOTAL   4/5    cpu             32      4          12%   0       25
TOTAL   4/5    memory          75.7Gi  2Gi        2%    2Gi     71.8Gi
TOTAL   4/5    pods            490     3          0%    <none>  378
TOTAL   4/5    nvidia.com/gpu  8       6          75%   6       2
`.slice(1),
  );
  assert.equal(
    await ok(['top', 'worker', '--nodes', '--resources', 'cpu', '--sort-by', 'cpu.requested']),
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
    'gpu  1/1  nvidia.com/gpu  8\ngpu  1/1  cpu             16\n',
  );
  const csv = await ok(['top', '-o', 'csv', '--resources', 'memory', '--no-headers']);
  assert.equal(
    csv.split('\n')[1],
    'worker,3,2,memory,9193560Ki,9414205440,2Gi,2147483648,2Gi,2147483648,,,5080464Ki,5202395136,22.81,22.81,',
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
  await refused(
    ['top', 'gpu', 'gqu'],
    1,
    'error: nodepool "gqu" not found; next: list the pools with `kubectl nodepool get`',
  );
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
  await refused(['top', 'gpu', '-l', 'a=b'], 2, /^error: names and -l exclude each other/);
  await refused(['top', '-o', 'yaml'], 2, /^error: .*--output/);
  const odd = await unchanged(['top', 'gpu', '--resources', 'nvidia.com/gpus', '--no-headers']);
  assert.deepEqual(odd, {
    code: 0,
    stdout: 'gpu  1/1  nvidia.com/gpus  0  0  <none>  0  0\n',
    stderr: 'warning: no node has the resource "nvidia.com/gpus"; did you mean "nvidia.com/gpu"?\n',
  });
  await testEnv.clean();
  await refused(['top'], 0, 'No pools found.');
});

test('names the missing permission for pods and the flag that does without them', async () => {
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
  const { code, stderr } = await cli(cluster(), ['top'], { env });
  const text =
    'error: cannot list pods: user "looker" lacks the permission; next: ask for a role with verb list on pods';
  assert.deepEqual({ code, stderr: stderr.trimEnd() }, { code: 1, stderr: text });
  assert.match(await ok(['top', '--no-pods'], { env }), /^gpu +1\/1 +cpu +16$/m);
});

test('shows bars on a terminal', { skip: NO_TERMINAL }, async () => {
  await createSmallCluster();
  const { code, shown } = await inTerminal(cluster(), ['top', 'gpu'], '', 90);
  assert.equal(code, 0);
  const line = /^gpu +1\/1 +nvidia.com\/gpu +8 +6 +75% +6 +2 +(#+-+)$/m.exec(shown);
  assert.ok(line, shown);
  const [, bar = ''] = line;
  assert.ok(bar.length >= 10 && bar.length <= 20 && line[0].length <= 90, shown);
});
