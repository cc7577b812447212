/** `top` compared with `kubectl describe node` of the same nodes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { demandSums, type WirePod } from '../../src/kube/resources/pod-demand.ts';
import { kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { createPods, deletePods, preparePods, RESIZED, STEADY } from './many-pods.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { ok } = commandsOf(cluster);
const GPU_NODE = { cpu: '16', memory: '64Gi', pods: '50', 'nvidia.com/gpu': '8', 'hugepages-2Mi': '1Gi' };

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

test('shows for each node the same requests as kubectl describe node', async () => {
  await preparePods(cluster());
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
  await preparePods(cluster());
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
  await preparePods(cluster());
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
