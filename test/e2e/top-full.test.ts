/**
 * The free resources that `top` shows are those that kube-scheduler assigns, with kube-controller-manager, and kwok as
 * the kubelets.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { container, createHeavyRuntime } from './many-pods.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const TEST_MS = 120_000;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const MI = 2 ** 20;

/** Sidecars, an init container that requests more than the containers, and overhead. */
const BASE = {
  runtimeClassName: 'heavy',
  initContainers: [
    container('side', { cpu: '50m', memory: '10Mi' }, {}, { restartPolicy: 'Always' }),
    container('init', { cpu: '300m' }),
  ],
  containers: [container('main', { cpu: '100m', memory: '60Mi' })],
};
/** The requests of each further pod, in millicores and bytes. */
const [CPU, MEMORY] = [130, 100 * MI];
const FILL = { containers: [container('main', { cpu: `${CPU}m`, memory: `${MEMORY}` })] };

interface Pod {
  spec: { nodeName?: string };
  status: { phase: string; conditions?: { reason?: string }[] };
}
type Free = Record<'cpu' | 'memory' | 'pods', { free: { value: number } }>;

describe('top on a full cluster', () => {
  const testEnv = useFullTestEnv();
  const { ok } = commandsOf(testEnv.cluster);
  const api = () => raw(testEnv.cluster());

  async function deploy(app: string, replicas: number, spec: object): Promise<void> {
    const labels = { app };
    const template = { metadata: { labels }, spec };
    await api().expect('POST', DEPLOYMENTS, {
      metadata: { name: app },
      spec: { replicas, selector: { matchLabels: labels }, template },
    });
  }

  /** The node of each pod that runs, `none` for an unschedulable one, `?` while pending. */
  async function places(app: string): Promise<string[]> {
    const { items } = (await api().expect('GET', `${PODS}?labelSelector=app=${app}`)) as { items: Pod[] };
    const found = items.map(({ spec, status }) => {
      if (status.phase === 'Running') return spec.nodeName ?? '?';
      return status.conditions?.some(({ reason }) => reason === 'Unschedulable') ? 'none' : '?';
    });
    return found.sort();
  }

  async function settled(app: string, replicas: number): Promise<string[]> {
    let found: string[] = [];
    await eventually(`${app} is placed`, async () => {
      found = await places(app);
      return found.length === replicas && !found.includes('?');
    });
    return found;
  }

  test('as many pods fit as top shows room for', { timeout: TEST_MS }, async () => {
    // Each lacks something else: cpu, memory, pod capacity; the last one is cordoned.
    await testEnv.nodes(
      { name: 'f-1', labels: role('full'), allocatable: { cpu: '2', memory: '8Gi' } },
      { name: 'f-2', labels: role('full'), allocatable: { cpu: '8', memory: '1200Mi' } },
      { name: 'f-3', labels: role('full'), allocatable: { cpu: '8', memory: '8Gi', pods: '7' } },
      { name: 'f-4', labels: role('full'), unschedulable: true },
    );
    await testEnv.pool('full');
    await createHeavyRuntime(testEnv.cluster());
    await deploy('base', 6, BASE);
    const base = await settled('base', 6);
    assert.ok(!base.includes('none') && !base.includes('f-4'), base.join());

    const { nodes } = JSON.parse(await ok(['top', 'full', '--nodes', '-o', 'json']));
    const fits = (nodes as { name: string; resources: Free }[]).flatMap(({ name, resources }) => {
      const { cpu, memory, pods } = resources;
      const room = [Math.round(cpu.free.value * 1000) / CPU, memory.free.value / MEMORY, pods.free.value];
      return Array.from({ length: Math.floor(Math.min(...room)) }, () => name);
    });
    assert.deepEqual([...new Set(fits)], ['f-1', 'f-2', 'f-3']);
    const replicas = fits.length + 2;
    await deploy('fill', replicas, FILL);
    assert.deepEqual(await settled('fill', replicas), [...fits, 'none', 'none']);
  });
});
