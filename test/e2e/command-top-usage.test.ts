/** `top` with metrics.k8s.io served by an extension API server behind the aggregation layer. */
import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { cli, kubectl } from '../cluster/harness.ts';
import { commandsOf } from './commands.ts';
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

test('shows the usage that kubectl top shows', async () => {
  await twoNodes();
  await served();
  assert.equal(
    await ok(['top', '--resources', 'cpu,memory']),
    `
POOL    NODES  RESOURCE  ALLOC  REQUESTED  REQ%  LIMITS  USED   USED%  FREE
worker  2/2    cpu       8      0          0%    0       1.75   21%    8
worker  2/2    memory    5.8Gi  0          0%    0       1.5Gi  25%    5.8Gi
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

test('warns when the metrics API fails or hangs, and shows the rest', { timeout: 60_000 }, async () => {
  await twoNodes();
  const server = await served();
  server.mood = 'fails';
  const failing = await cli(cluster(), ['top']);
  assert.deepEqual([failing.code, failing.stderr], [0, 'warning: no usage: metrics.k8s.io: no scrape yet\n']);
  assert.match(failing.stdout, /^worker +2\/2 +cpu +8 +0 +0% +0 +8$/m);
  server.mood = 'hangs';
  const start = performance.now();
  const hanging = await cli(cluster(), ['top']);
  assert.deepEqual(
    [hanging.code, hanging.stderr],
    [0, 'warning: no usage: metrics.k8s.io: it did not answer in time\n'],
  );
  assert.equal(hanging.stdout, failing.stdout);
  assert.ok(performance.now() - start < 15_000);
});
