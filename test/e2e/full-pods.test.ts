/**
 * Pods on a whole cluster, with controller manager, scheduler and kwok as the kubelets: what taints and labels of pools evict, counted
 * at each change as budgets count them; and the free resources that `top` shows are those that kube-scheduler assigns.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { kubectl } from '../cluster/harness.ts';
import { labelNode, setCondition } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { deleteWorkloads, useFullTestEnv } from './full-test-env.ts';
import { container, createHeavyRuntime } from './many-pods.ts';
import { samplePods } from './pod-samples.ts';
import { condition, role, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const TEST_MS = 300_000;
const REPLICAS = 6;
const MIN_AVAILABLE = 5;
/** On the list, and in the record of an earlier version. */
const LISTED = 'node.cilium.io/agent-not-ready';
const UNLISTED = 'agent.example.com/starting';
const NAMES = ['w-0', 'w-1', 'w-2'];
const STARTUP = 'agent:NoExecute';
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
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

describe('pods of a whole cluster', () => {
  const testEnv = useFullTestEnv();
  const { ok } = commandsOf(testEnv.cluster);
  const api = () => raw(testEnv.cluster());
  const stripped = [LISTED, UNLISTED].map(key => ({ key, effect: 'NoExecute' as const }));
  const records = async () =>
    (await Promise.all(NAMES.map(testEnv.node))).map(({ metadata }) => metadata.annotations?.[RECORD_ANNOTATION]);
  const areMembers = async () => (await records()).every(record => record !== undefined);
  const taints = async () => (await Promise.all(NAMES.map(testEnv.node))).flatMap(taintsOf);

  /** Its pods can run on the nodes of the pool, and on those with the label. */
  async function deployTo(pool: string): Promise<void> {
    const labels = { app: pool };
    const selector = { matchLabels: labels };
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    const nodeSelectorTerms = [`node-role.kubernetes.io/${pool}`, `spare.kubernetes.io/${pool}`].map(key => ({
      matchExpressions: [{ key, operator: 'Exists' }],
    }));
    const affinity = { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms } } };
    const template = { metadata: { labels }, spec: { affinity, terminationGracePeriodSeconds: 1, containers } };
    const spec = { replicas: REPLICAS, selector, template };
    await api().expect('POST', DEPLOYMENTS, { metadata: { name: pool }, spec });
    await api().expect('POST', BUDGETS, { metadata: { name: pool }, spec: { minAvailable: MIN_AVAILABLE, selector } });
  }

  const healthy = async (pool: string) => {
    const { status } = (await api().expect('GET', `${BUDGETS}/${pool}`)) as { status: { currentHealthy?: number } };
    return status.currentHealthy === REPLICAS;
  };

  test('restores a stripped NoExecute taint only after evictions within the budget', {
    timeout: TEST_MS,
  }, async t => {
    const pools = ['kept', 'gone', 'drained'];
    const nodes = (pool: string) => [1, 2, 3].map(at => `${pool}-${at}`);
    const onAll = <T>(pool: string, act: (node: string) => Promise<T>) => Promise.all(nodes(pool).map(act));
    const taintsOn = async (pool: string) =>
      (await onAll(pool, testEnv.node)).map(node => taintsOf(node).join(' ')).join(', ');
    const watching = await startWatching(t, testEnv.cluster());
    t.after(() => deleteWorkloads(testEnv.cluster()));
    for (const pool of pools) {
      await testEnv.pool(pool, { unmanaged: 'Remove', ...(pool === 'drained' ? { noExecute: 'Drain' } : {}) });
      await testEnv.nodes(...nodes(pool).map(name => ({ name, taints: stripped, labels: role(pool) })));
    }
    await eventually('the taint of no list is stripped', async () =>
      (await Promise.all(pools.map(taintsOn))).every(text => !text.includes(UNLISTED)),
    );
    // The agents are ready. Earlier versions stripped the other taint, too, and their records say so.
    for (const pool of pools) {
      await onAll(pool, async name => {
        const { metadata } = await testEnv.node(name);
        const record = JSON.parse(metadata.annotations?.[RECORD_ANNOTATION] ?? '{}');
        record.taints[`${LISTED}:NoExecute`] = null;
        record.displaced.taints[`${LISTED}:NoExecute`] = '';
        await testEnv.patchNode(name, {
          metadata: { annotations: { [RECORD_ANNOTATION]: JSON.stringify(record) } },
          spec: { taints: [] },
        });
      });
      await deployTo(pool);
    }
    await eventually('all pods run', async () => (await Promise.all(pools.map(healthy))).every(Boolean), 120_000);
    await testEnv.nodes(...[1, 2].map(at => ({ name: `spare-${at}`, labels: { 'spare.kubernetes.io/drained': '' } })));
    const samples = await samplePods(t, testEnv.cluster());

    for (const pool of ['kept', 'drained']) await testEnv.edit(pool, { spec: { unmanaged: 'Keep' } });
    const deleted = await kubectl(testEnv.cluster(), ['delete', 'npool', 'gone']);
    assert.equal(deleted.code, 0, deleted.stderr);
    await eventually('the record of a pool that keeps its nodes no longer has the taint', async () =>
      (await onAll('kept', testEnv.node)).every(
        ({ metadata }) => !metadata.annotations?.[RECORD_ANNOTATION]?.includes(UNLISTED),
      ),
    );
    await eventually(
      'a pool with noExecute: Drain has set it again',
      async () => (await taintsOn('drained')) === Array(3).fill(`${UNLISTED}:NoExecute`).join(', '),
      120_000,
    );
    await eventually('its pods run elsewhere', () => healthy('drained'));
    for (const pool of ['kept', 'gone']) {
      assert.equal(await taintsOn(pool), ', , ', pool);
      assert.equal(samples.fewest().get(pool), REPLICAS, `${pool}: no pod is evicted`);
      await eventually('an Event names taint, nodes and command', async () =>
        (await testEnv.events(pool)).some(
          ({ type, reason, note }) =>
            type === 'Warning' &&
            reason === 'TaintNotRestored' &&
            note.includes(`kubectl taint nodes NODE ${UNLISTED}:NoExecute`) &&
            note.includes(nodes(pool).join(', ')),
        ),
      );
    }
    const { message } = condition(await testEnv.getPool('kept'), 'TaintsNotRestored');
    for (const name of [...nodes('kept'), `${UNLISTED}:NoExecute`]) assert.ok(message?.includes(name), message);
    assert.ok((samples.fewest().get('drained') ?? 0) >= MIN_AVAILABLE, 'a budget was undercut');
    await watching.end();
  });

  test('startup taints evict no pod after label flaps, lost records or reverted selector edits', {
    timeout: TEST_MS,
  }, async t => {
    await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', {
      startupTaints: [{ key: 'agent', effect: 'NoExecute', until: { nodeCondition: 'AgentReady' } }],
    });
    await startWatching(t, testEnv.cluster());
    t.after(() => deleteWorkloads(testEnv.cluster()));
    await eventually('they are given', async () => (await taints()).filter(text => text === STARTUP).length === 3);
    for (const name of NAMES) await setCondition(testEnv.cluster(), name, 'AgentReady', 'True');
    await eventually('they are lifted', async () => !(await taints()).includes(STARTUP));
    // Most agents report that once, and nothing after a restart.
    for (const name of NAMES) await setCondition(testEnv.cluster(), name, 'AgentReady', null);

    const labels = { app: 'web' };
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers } };
    const selector = { matchLabels: labels };
    await api().expect('POST', DEPLOYMENTS, {
      metadata: { name: 'web' },
      spec: { replicas: REPLICAS, selector, template },
    });
    await api().expect('POST', BUDGETS, {
      metadata: { name: 'web' },
      spec: { minAvailable: 5, selector },
    });
    const uids = async () => {
      const { items } = (await api().expect('GET', PODS)) as {
        items: { metadata: { uid: string }; status: { phase: string } }[];
      };
      return items.flatMap(({ metadata, status }) => (status.phase === 'Running' ? metadata.uid : [])).toSorted();
    };
    await eventually('all pods run', async () => (await uids()).length === REPLICAS, 120_000);
    const [before, samples] = [await uids(), await samplePods(t, testEnv.cluster())];

    for (const name of NAMES) await labelNode(testEnv.cluster(), name, { 'node-role.kubernetes.io/web': null });
    await eventually('they leave', async () => (await records()).every(record => record === undefined));
    for (const name of NAMES) await labelNode(testEnv.cluster(), name, role('web'));
    await eventually('they come back', areMembers);

    for (const name of NAMES)
      await testEnv.patchNode(name, { metadata: { annotations: { [RECORD_ANNOTATION]: null } } });
    await eventually('they have records again', areMembers);

    await testEnv.edit('web', { spec: { nodeSelector: { other: 'x' } } });
    await eventually('they leave', async () => (await records()).every(record => record === undefined));
    await testEnv.edit('web', { spec: { nodeSelector: { ...role('web'), other: null } } });
    await eventually('they come back', areMembers);

    assert.deepEqual(await uids(), before);
    assert.ok(!(await taints()).includes(STARTUP));
    assert.equal(Math.min(...samples.fewest().values()), REPLICAS);
  });

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

  test('as many pods fit as top reports', { timeout: TEST_MS }, async () => {
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
