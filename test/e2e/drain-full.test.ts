/**
 * `drain` on a whole cluster: controller manager, scheduler and kwok as the kubelets. Deployments replace what is
 * evicted, and real budgets hold it back until they have.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { cliHere } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { raw } from '../cluster/raw.ts';
import { start } from './following.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const TEST_MS = 120_000;
const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const CONTAINERS = [{ name: 'main', image: 'registry.example.com/main:1' }];

interface Pod {
  metadata: { name: string; uid: string; deletionTimestamp?: string };
  spec: { nodeName?: string };
  status: { phase: string };
}

describe('drain on a full cluster', () => {
  const testEnv = useFullTestEnv();
  const api = () => raw(testEnv.cluster());

  /** Runs a Deployment with `replicas` pods and a budget of `minAvailable` until the test ends. */
  async function deploy(
    t: { after(fn: () => unknown): void },
    app: string,
    replicas: number,
    minAvailable: number,
    podSpec: object = {},
  ) {
    const labels = { app };
    const spec = { terminationGracePeriodSeconds: 1, containers: CONTAINERS, ...podSpec };
    const template = { metadata: { labels }, spec };
    const selector = { matchLabels: labels };
    await api().expect('POST', DEPLOYMENTS, { metadata: { name: app }, spec: { replicas, selector, template } });
    await api().expect('POST', BUDGETS, { metadata: { name: app }, spec: { minAvailable, selector } });
    t.after(async () => {
      await api().expect('DELETE', `${BUDGETS}/${app}`);
      await api().expect('DELETE', `${DEPLOYMENTS}/${app}?propagationPolicy=Background`);
      await eventually(`the pods of ${app} go`, async () => (await podsOf(app)).length === 0);
    });
    await eventually(`${app} runs`, async () => (await running(app)).length === replicas);
    await eventually(`the budget of ${app} is known`, async () => {
      const { status } = (await api().expect('GET', `${BUDGETS}/${app}`)) as { status: { currentHealthy?: number } };
      return status.currentHealthy === replicas;
    });
  }

  async function podsOf(app: string): Promise<Pod[]> {
    const { items } = (await api().expect('GET', `${PODS}?labelSelector=app=${app}`)) as { items: Pod[] };
    return items;
  }

  /** The node of each pod that runs and is not terminating. */
  async function running(app: string): Promise<string[]> {
    const pods = await podsOf(app);
    const stay = pods.filter(({ metadata, status }) => !metadata.deletionTimestamp && status.phase === 'Running');
    return stay.map(({ spec }) => spec.nodeName ?? '').sort();
  }

  const begin = (t: { after(fn: () => unknown): void }, ...args: string[]) =>
    start(t, testEnv.cluster(), [...productCommand(), 'drain', ...args]);

  test('waits for a disruption budget, then finishes; evicted pods run elsewhere', {
    timeout: TEST_MS,
  }, async t => {
    await testEnv.nodes({ name: 'w-1', labels: role('worker') }, { name: 'w-2', labels: role('worker') });
    await testEnv.pool('worker');
    await deploy(t, 'web', 4, 4);
    await testEnv.nodes({ name: 'spare' });
    const draining = begin(t, 'worker', '--yes');
    await eventually('the budget is named', () =>
      /PodDisruptionBudget default\/web: needs 4 healthy/.test(draining.stderr()),
    );
    assert.deepEqual(
      (await running('web')).filter(node => node === 'spare'),
      [],
    );

    await api().expect('PATCH', `${BUDGETS}/web`, { spec: { minAvailable: 3 } });
    let fewest = 4;
    await eventually(
      'it ends',
      async () => {
        fewest = Math.min(fewest, (await running('web')).length);
        return /^nodepool.nodes.lailin.xyz\/worker drained/m.test(draining.stdout());
      },
      TEST_MS / 2,
    );
    assert.equal(await draining.end('SIGCONT'), 0);
    assert.ok(fewest >= 3, `never fewer than the budget wants, but ${fewest}`);
    await eventually('all run elsewhere', async () => (await running('web')).join() === 'spare,spare,spare,spare');
    assert.match(draining.stdout(), /^node\/w-1 cordoned\nnode\/w-2 cordoned\n/);
    assert.match(draining.stdout(), /worker drained \(2 nodes, 4 pods\)$/m);
  });

  test('names pods that tolerate a cordon, evicts each once, and counts returned pods', {
    timeout: TEST_MS,
  }, async t => {
    await testEnv.nodes({ name: 'c-1', labels: role('closed') }, { name: 'c-2', labels: role('closed') });
    await testEnv.pool('closed');
    const toleration = { key: 'node.kubernetes.io/unschedulable', operator: 'Exists', effect: 'NoSchedule' };
    await deploy(t, 'agent', 3, 0, {
      tolerations: [toleration],
      nodeSelector: { 'node-role.kubernetes.io/closed': '' },
    });
    const { code, stdout, stderr } = await cliHere(testEnv.cluster(), ['drain', 'closed', '--yes']);
    assert.equal(code, 0, stderr);
    assert.match(stderr, /^warning: these pods tolerate a cordon and may come back: default\/agent-/m);
    // All pods of the last node that are not on the other one are back.
    assert.match(stdout, /^node\/c-[12] drained, [123] pods? came back$/m);
    assert.match(stdout, /closed drained \(2 nodes, \d pods\); 3 pods that tolerate a cordon came back$/m);
    const asked = stderr.match(/^evicting pod /gm) ?? [];
    assert.ok(asked.length >= 3 && asked.length <= 6, stderr);
  });

  test('continues after Ctrl-C, respects --max-unavailable, and uncordons nodes for pods', {
    timeout: TEST_MS,
  }, async t => {
    await testEnv.nodes(...['r-1', 'r-2', 'r-3'].map(name => ({ name, labels: role('red') })));
    await testEnv.pool('red');
    await deploy(t, 'api', 6, 5);
    await testEnv.nodes({ name: 'spare' });
    const draining = begin(t, 'red');
    await eventually('the first pod is gone', () => /^pod \S+ evicted$/m.test(draining.stderr()));
    assert.equal(await draining.end(), 130);
    assert.match(draining.stdout(), /^NODE +STATE +EVICTED +NOTE$/m);
    assert.match(draining.stderr(), /error: nodepool "red" interrupted: \d of 3 nodes left to drain/);

    const { code, stdout } = await cliHere(testEnv.cluster(), ['drain', 'red', '--max-unavailable', '70%'], {
      timeoutMs: TEST_MS / 2,
    });
    assert.equal(code, 0);
    assert.match(stdout, /^node\/r-1 already cordoned$/m);
    await eventually('all run elsewhere', async () => (await running('api')).join() === Array(6).fill('spare').join());

    assert.equal((await cliHere(testEnv.cluster(), ['uncordon', 'red'])).code, 0);
    await api().expect('PATCH', `${DEPLOYMENTS}/api`, { spec: { replicas: 9 } });
    await eventually('they get pods again', async () => (await running('api')).some(node => node.startsWith('r-')));
  });
});
