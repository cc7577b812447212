/** `top` with metrics.k8s.io served by an extension API server behind the aggregation layer. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
import { container, createPods, preparePods } from './many-pods.ts';
import { type MetricsServer, startMetricsServer } from './metrics-server.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok } = commandsOf(cluster);
let metrics: MetricsServer | undefined;

async function served(): Promise<MetricsServer> {
  metrics ??= await startMetricsServer(cluster(), {
    w1: { cpu: '1500123456n', memory: '1048576Ki' },
    w2: { cpu: '250m', memory: '512Mi' },
  });
  metrics.mood = 'answers';
  return metrics;
}

after(() => metrics?.stop());

async function twoNodes(): Promise<void> {
  await testEnv.nodes({ name: 'w1', labels: role('worker') }, { name: 'w2', labels: role('worker') });
  await testEnv.pool('worker');
}

test('omits usage columns without metrics-server', async () => {
  await twoNodes();
  assert.doesNotMatch(await ok(['top']), /USED/);
});

test('shows the same usage as kubectl top', async () => {
  await twoNodes();
  await served();
  assert.equal(
    await ok(['top', '--by', 'resource', '--resources', 'cpu,memory']),
    `
POOL    NODES  RESOURCE  ALLOC  REQUESTED  REQ%  LIMITS  USED   USED%  FREE   FIT
worker  2/2    cpu       8      0          0%    0       1.75   21%    8      4
worker  2/2    memory    5.8Gi  0          0%    0       1.5Gi  25%    5.8Gi  2.9Gi
`.slice(1),
  );
  const { nodes } = JSON.parse(await ok(['top', '--nodes', '-o', 'json', '--sort-by', 'cpu.used']));
  const { code, stdout, stderr } = await kubectl(cluster(), ['top', 'nodes', '--no-headers', '--sort-by', 'cpu']);
  assert.equal(code, 0, stderr);
  type Used = { name: string; resources: Record<string, { used: { value: number }; usedPercent: number }> };
  const ours = (nodes as Used[]).map(({ name, resources: { cpu, memory } }) => [
    name,
    `${Math.ceil((cpu?.used.value ?? 0) * 1000)}m`,
    `${Math.trunc(cpu?.usedPercent ?? 0)}%`,
    `${Math.trunc((memory?.used.value ?? 0) / 2 ** 20)}Mi`,
    `${Math.trunc(memory?.usedPercent ?? 0)}%`,
  ]);
  assert.deepEqual(
    ours,
    stdout
      .trim()
      .split('\n')
      .map(line => line.trim().split(/ +/)),
  );
});

test('shows the usage of pods', async () => {
  await preparePods(cluster());
  await twoNodes();
  const usage = { cpu: '150m', memory: '64Mi' };
  (await served()).podUsage = { 'default/w1-app': usage, 'default/gone': { cpu: '7' } };
  const pod = { name: 'app', spec: { containers: [container('main', { cpu: '1', memory: '128Mi' })] } };
  await createPods(cluster(), 'w1', [pod]);
  assert.equal(
    await ok(['top', '--pods', '--resources', 'cpu,memory']),
    `
POOL    NODE  NAMESPACE  POD     CPU-REQ  CPU-REQ%  CPU-USED  CPU-USED%  MEM-REQ  MEM-REQ%  MEM-USED  MEM-USED%
worker  w1    default    w1-app  1        25%       0.15      3%         128Mi    4%        64Mi      2%
`.slice(1),
  );
});

test('warns when the metrics API fails or hangs, and shows everything else', { timeout: 60_000 }, async () => {
  await twoNodes();
  const server = await served();
  server.mood = 'fails';
  const failing = await cliHere(cluster(), ['top']);
  assert.deepEqual([failing.code, failing.stderr], [0, 'warning: no usage: metrics.k8s.io: no scrape yet\n']);
  assert.match(failing.stdout, /^worker +2\/2 +\S+ +\d+% +\d+ +4 +/m);
  server.mood = 'hangs';
  const start = performance.now();
  const hanging = await cliHere(cluster(), ['top']);
  assert.deepEqual([hanging.code, hanging.stderr], [0, 'warning: no usage: metrics.k8s.io: no answer in time\n']);
  assert.equal(hanging.stdout, failing.stdout);
  assert.ok(performance.now() - start < 15_000);
});
