/**
 * `noExecute: Drain` on a whole cluster: controller manager, scheduler and kwok as the kubelets. Pods are counted at each change,
 * as budgets count them.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAudit } from '../cluster/audit.ts';
import { cli, kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { deleteWorkloads, useFullTestEnv } from './full-test-env.ts';
import { samplePods } from './pod-samples.ts';
import { condition, role, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const TEST_MS = 480_000;
/** More than the 2 minutes for which a budget counts a pod as disrupted that was not deleted. */
const EVICTIONS_MS = 180_000;
const NODES = 30;
const SPARE = 6;
const APPS = 3;
const REPLICAS = 20;
/** 90 % of them. */
const MIN_AVAILABLE = 18;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

interface Pod {
  metadata: { deletionTimestamp?: string };
  status: { phase: string };
}

describe('noExecute: Drain on a whole cluster', () => {
  const testEnv = useFullTestEnv({ audit: true });
  const api = () => raw(testEnv.cluster());
  const names = (prefix: string, count: number) =>
    Array.from({ length: count }, (_, at) => `${prefix}-${String(at).padStart(3, '0')}`);
  const apps = names('app', APPS);
  const nodes = names('w', NODES);

  async function deploy(app: string): Promise<void> {
    const labels = { app };
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    const template = { metadata: { labels }, spec: { terminationGracePeriodSeconds: 1, containers } };
    const selector = { matchLabels: labels };
    await api().expect('POST', DEPLOYMENTS, {
      metadata: { name: app },
      spec: { replicas: REPLICAS, selector, template },
    });
    await api().expect('POST', BUDGETS, { metadata: { name: app }, spec: { minAvailable: '90%', selector } });
  }

  const running = async () => {
    const { items } = (await api().expect('GET', PODS)) as { items: Pod[] };
    return items.filter(({ metadata, status }) => !metadata.deletionTimestamp && status.phase === 'Running').length;
  };
  /** An eviction that a SIGKILL cuts off inside the server holds its place in the budget for 2 minutes, and its pod stays. */
  const finishEvictions = async () => {
    // Requests that the server already has end first.
    await sleep(1_000);
    const { items } = (await api().expect('GET', BUDGETS)) as { items: { status: { disruptedPods?: object } }[] };
    const pods = items.flatMap(({ status }) => Object.keys(status.disruptedPods ?? {}));
    const statuses = await Promise.all(pods.map(async pod => (await api().request('DELETE', `${PODS}/${pod}`)).status));
    assert.ok(
      statuses.every(status => status === 200 || status === 404),
      `${statuses}`,
    );
  };
  const allRun = (what: string) =>
    eventually(what, async () => (await running()) === APPS * REPLICAS, 120_000).then(() =>
      eventually('the budgets know', async () => {
        const { items } = (await api().expect('GET', BUDGETS)) as { items: { status: { currentHealthy?: number } }[] };
        return items.every(({ status }) => status.currentHealthy === REPLICAS);
      }),
    );

  test('violates no budget, even after SIGKILLs, while kubectl taint does', {
    timeout: TEST_MS,
  }, async t => {
    await testEnv.nodes(...nodes.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', { labels: { tier: 'web' }, noExecute: 'Drain' });
    let watching = await startWatching(t, testEnv.cluster());
    t.after(() => deleteWorkloads(testEnv.cluster()));
    for (const app of apps) await deploy(app);
    await allRun('all pods run');
    await testEnv.nodes(...names('spare', SPARE).map(name => ({ name, labels: { spare: 'yes' } })));
    const samples = await samplePods(t, testEnv.cluster());
    const isPools = (name: string) => name.startsWith('w-');
    assert.equal(samples.on(isPools), APPS * REPLICAS);

    const manifest = JSON.stringify({
      apiVersion: 'nodes.lailin.xyz/v1',
      kind: 'NodePool',
      metadata: { name: 'web' },
      spec: {
        labels: { tier: 'web' },
        noExecute: 'Drain',
        taints: [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }],
      },
    });
    const began = performance.now();
    const applied = await kubectl(testEnv.cluster(), ['apply', '--server-side', '--force-conflicts', '-f', '-'], {
      stdin: manifest,
    });
    assert.equal(applied.code, 0, applied.stderr);
    const tainted = async () => {
      const { items } = (await api().expect('GET', '/api/v1/nodes')) as { items: Parameters<typeof taintsOf>[0][] };
      return items.filter(node => taintsOf(node).includes('dedicated=x:NoExecute')).length;
    };
    for (const left of [50, 20]) {
      await eventually(`${left} pods are left`, () => samples.on(isPools) <= left, EVICTIONS_MS);
      await watching.end('SIGKILL');
      await finishEvictions();
      watching = await startWatching(t, testEnv.cluster());
    }
    await eventually('every node has the taint', async () => (await tainted()) === NODES, EVICTIONS_MS);
    const seconds = Math.round((performance.now() - began) / 1000);
    for (const name of nodes) assert.deepEqual(taintsOf(await testEnv.node(name)), ['dedicated=x:NoExecute'], name);
    assert.equal(samples.on(isPools), 0);
    const least = [...samples.fewest().values()];
    t.diagnostic(
      `${APPS * REPLICAS} pods of ${APPS} budgets in ${seconds} s: at least ${Math.min(...least)} of ${REPLICAS} were healthy, in ${samples.count()} samples`,
    );
    assert.ok(Math.min(...least) >= MIN_AVAILABLE, `a budget was undercut: ${least}`);
    assert.ok(Math.min(...least) < REPLICAS, 'it evicts');
    await eventually('the status says so', async () => {
      const pool = await testEnv.getPool('web');
      return condition(pool, 'Applied').status === 'True' && pool?.status?.updatedNodeCount === NODES;
    });
    await watching.end();

    await allRun('all pods run again');
    samples.reset();
    const plain = await kubectl(testEnv.cluster(), ['taint', 'nodes', '-l', 'spare=yes', 'plain=x:NoExecute']);
    assert.equal(plain.code, 0, plain.stderr);
    await eventually('the taint manager deletes pods', () => Math.min(...samples.fewest().values()) < MIN_AVAILABLE);
    await eventually('all are gone', () => samples.on(name => name.startsWith('spare-')) === 0);
    t.diagnostic(`kubectl taint: at least ${Math.min(...samples.fewest().values())} of ${REPLICAS} were healthy`);
  });

  test('a rollout counts nodes with evictions in progress, and DaemonSet pods do not return', {
    timeout: TEST_MS,
  }, async t => {
    const few = names('r', 6);
    await testEnv.nodes(...few.map(name => ({ name, labels: role('rolled') })));
    await testEnv.pool('rolled', {
      labels: { tier: 'x' },
      noExecute: 'Drain',
      rollout: { maxConcurrent: 2, settleSeconds: 1 },
    });
    const watching = await startWatching(t, testEnv.cluster());
    t.after(() => deleteWorkloads(testEnv.cluster()));
    // A node joins with the spec as it is; only a later one is rolled out.
    await eventually('all are members', async () =>
      (await Promise.all(few.map(testEnv.node))).every(({ metadata }) => metadata.labels?.tier === 'x'),
    );
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    for (const [name, tolerations] of [
      ['plain', []],
      ['tolerant', [{ operator: 'Exists', effect: 'NoSchedule' }]],
      ['agent', [{ operator: 'Exists' }]],
    ] as const) {
      const labels = { daemon: name };
      const nodeSelector = role('rolled');
      const template = { metadata: { labels }, spec: { tolerations, nodeSelector, containers } };
      const spec = { selector: { matchLabels: labels }, template };
      await api().expect('POST', '/apis/apps/v1/namespaces/default/daemonsets', { metadata: { name }, spec });
    }
    const daemons = async (name: string) => {
      const { items } = (await api().expect('GET', `${PODS}?labelSelector=daemon=${name}`)) as { items: Pod[] };
      return items.filter(({ status }) => status.phase === 'Running').length;
    };
    await eventually(
      'all run',
      async () => (await Promise.all(['plain', 'tolerant', 'agent'].map(daemons))).join() === '6,6,6',
    );
    await testEnv.edit('rolled', { spec: { taints: [{ key: 'dedicated', value: 'x', effect: 'NoExecute' }] } });
    let most = 0;
    await eventually(
      'every node has the taint',
      async () => {
        const taints = (await Promise.all(few.map(testEnv.node))).map(node => taintsOf(node).join());
        most = Math.max(most, taints.filter(text => text === 'dedicated=x:NoSchedule').length);
        return taints.every(text => text === 'dedicated=x:NoExecute');
      },
      120_000,
    );
    assert.equal(most, 2);
    await eventually('the rollout is complete', async () =>
      (await testEnv.getPool('rolled'))?.status?.conditions?.some(({ reason }) => reason === 'RolloutComplete'),
    );
    await eventually(
      'they are gone',
      async () => (await Promise.all(['plain', 'tolerant', 'agent'].map(daemons))).join() === '0,0,6',
    );
    await watching.end();
  });

  test('stops evictions of returning pods within the budget, and sets the taint if allowed', {
    timeout: 300_000,
  }, async t => {
    // They tolerate the NoSchedule taint of their pool, which becomes NoExecute.
    const few = ['a', 'b', 'c'];
    const taint = (effect: 'NoSchedule' | 'NoExecute') => ({ key: 'dedicated', value: 'x', effect });
    const count = 6;
    const mark = (await readAudit(testEnv.cluster())).length;
    await testEnv.nodes(...few.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', { noExecute: 'Drain', taints: [taint('NoSchedule')] });
    const watching = await startWatching(t, testEnv.cluster());
    t.after(() => deleteWorkloads(testEnv.cluster()));
    const labels = { app: 'web' };
    const selector = { matchLabels: labels };
    const tolerations = [{ key: 'dedicated', operator: 'Exists', effect: 'NoSchedule' }];
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    // As a real pod, it is not Ready at once.
    const annotations = { 'start-delay': '2s' };
    const template = {
      metadata: { labels, annotations },
      spec: { terminationGracePeriodSeconds: 1, tolerations, containers },
    };
    await api().expect('POST', DEPLOYMENTS, {
      metadata: { name: 'web' },
      spec: { replicas: count, selector, template },
    });
    await api().expect('POST', BUDGETS, { metadata: { name: 'web' }, spec: { minAvailable: count - 1, selector } });
    await eventually('the budget knows all pods', async () => {
      const { status } = (await api().expect('GET', `${BUDGETS}/web`)) as { status: { currentHealthy?: number } };
      return status.currentHealthy === count;
    });
    await eventually(
      'the pool is reconciled',
      async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === few.length,
    );
    const samples = await samplePods(t, testEnv.cluster());
    await testEnv.edit('web', { spec: { taints: [taint('NoExecute')] } });

    await eventually(
      'every node has the taint, or the status says why not',
      async () => {
        const [pool, nodes] = [await testEnv.getPool('web'), await Promise.all(few.map(testEnv.node))];
        const { message } = condition(pool, 'Applied');
        const isDone = (at: number) =>
          nodes.flatMap((node, index) => (index === at ? taintsOf(node) : [])).includes('dedicated=x:NoExecute');
        const isNamed = (name: string) => new RegExp(`not set on node ${name}: \\d pods? returned`).test(message);
        return pool?.status?.status === 500 && few.every((name, at) => isDone(at) || isNamed(name));
      },
      180_000,
    );
    const evictions = async () => {
      const events = (await readAudit(testEnv.cluster()))
        .slice(mark)
        .filter(({ resource }) => resource === 'pods/eviction');
      return events.filter(({ code }) => code < 300).map(({ name }) => name);
    };
    const evicted = await evictions();
    assert.equal(new Set(evicted).size, evicted.length, 'no pod is evicted twice');
    assert.ok(evicted.length <= 3 * count, `${evicted.length} evictions`);
    assert.equal(samples.fewest().get('web'), count - 1, 'the budget holds');
    assert.match((await testEnv.events('web')).map(({ note }) => note).join('\n'), /returned after eviction/);
    assert.equal(watching.child.exitCode, null);
    await watching.end();

    const tainted = async () => {
      const taints = await Promise.all(few.map(async name => taintsOf(await testEnv.node(name))));
      return taints.filter(of => of.includes('dedicated=x:NoExecute')).length;
    };
    const [evictedBefore, taintedBefore] = [(await evictions()).length, await tainted()];
    for (let run = 0; run < 3; run++) {
      const { code, stderr } = await cli(testEnv.cluster(), ['reconcile', 'web', '--yes']);
      if (code !== 0) assert.match(stderr, /returned after eviction/);
    }
    const further = (await evictions()).length - evictedBefore;
    assert.ok(further <= (await tainted()) - taintedBefore, `${further} further evictions, not all before a taint`);
    assert.equal(samples.fewest().get('web'), count - 1, 'the budget holds');

    await api().expect('PATCH', `${BUDGETS}/web`, { spec: { minAvailable: 0 } });
    await eventually('the budget allows all', async () => {
      const { status } = (await api().expect('GET', `${BUDGETS}/web`)) as { status: { disruptionsAllowed: number } };
      return status.disruptionsAllowed === count;
    });
    const { code, stderr } = await cli(testEnv.cluster(), ['reconcile', 'web', '--yes']);
    assert.equal(code, 0, stderr);
    for (const name of few) assert.deepEqual(taintsOf(await testEnv.node(name)), ['dedicated=x:NoExecute']);
  });
});
