/**
 * What `diff --impact` says of pods with the RuntimeClass of their pool, and of budgets that keep a NoExecute taint from a node,
 * and that it comes so: with real controllers.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import type { BudgetImpact } from '../../src/scheduling/impact/types.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { condition, role, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const PODS = '/api/v1/namespaces/default/pods';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const KEY = 'dedicated';
const REPLICAS = 5;
/** Each has a node of its own. */
const POOLS = ['low', 'two', 'back', 'bare', 'free'];

interface Pod {
  metadata: { uid: string };
  spec: { nodeName?: string };
  status: { phase: string };
}

interface Budget {
  metadata: { name: string };
  status: { expectedPods: number; currentHealthy: number; disruptionsAllowed: number };
}

describe('the impact comes true with real controllers', () => {
  const testEnv = useFullTestEnv();
  const api = () => raw(testEnv.cluster());
  const pods = async () => ((await api().expect('GET', PODS)) as { items: Pod[] }).items;
  const allRun = (what: string, isNew: (pod: Pod) => boolean) =>
    eventually(what, async () => {
      const all = await pods();
      return all.length === REPLICAS && all.every(pod => isNew(pod) && /^web-/.test(pod.spec.nodeName ?? ''));
    });
  const impact = async () => (await cliHere(testEnv.cluster(), ['diff', 'web', '--impact'])).stdout;

  test('pods with the RuntimeClass of their pool are recreated as forecast when its labels and taints change', {
    timeout: 180_000,
  }, async t => {
    await testEnv.nodes(
      { name: 'web-1', labels: role('web') },
      { name: 'web-2', labels: role('web') },
      { name: 'free' },
    );
    await testEnv.pool('web', { handler: 'runc', labels: { tier: 'silver' } });
    await testEnv.reconcile();
    const labels = { app: 'vm' };
    const containers = [{ name: 'main', image: 'registry.example.com/main:1' }];
    const spec = { runtimeClassName: 'node-pool-web', terminationGracePeriodSeconds: 0, containers };
    await api().expect('POST', DEPLOYMENTS, {
      metadata: { name: 'vm' },
      spec: { replicas: REPLICAS, selector: { matchLabels: labels }, template: { metadata: { labels }, spec } },
    });
    t.after(() => api().expect('DELETE', `${DEPLOYMENTS}/vm?propagationPolicy=Background`));
    await allRun('the pods run', () => true);

    const change = async (spec: NodePoolSpec) => {
      const before = new Set((await pods()).map(({ metadata }) => metadata.uid));
      await testEnv.edit('web', { spec });
      const told = await impact();
      await testEnv.reconcile();
      return { told, before };
    };
    const label = await change({ labels: { tier: 'bronze' } });
    assert.match(label.told, /^Impact: none found$/m);
    await api().expect('DELETE', `${PODS}?labelSelector=app=vm`);
    await allRun('the pods run again', ({ metadata }) => !label.before.has(metadata.uid));

    const taint = await change({ taints: [{ key: 'dedicated', value: 'web', effect: 'NoExecute' }] });
    assert.match(taint.told, /^ {2}5 pods of Deployment default\/vm: can go: 5 on pool web$/m);
    assert.doesNotMatch(taint.told, /Not considered/);
    await allRun('the evicted pods run again', ({ metadata }) => !taint.before.has(metadata.uid));

    await testEnv.edit('web', { spec: { noExecute: 'Drain' } });
    await testEnv.reconcile();
    const drain = await change({ taints: [{ key: 'dedicated', value: 'other', effect: 'NoExecute' }] });
    assert.match(drain.told, /^ {2}5 pods of Deployment default\/vm: can go: 5 on pool web$/m);
    await allRun('the drained pods run again', ({ metadata }) => !drain.before.has(metadata.uid));
  });

  const podSpec = (app: string, more: object = {}) => ({
    terminationGracePeriodSeconds: 0,
    nodeSelector: { [`group-${app}`]: 'yes' },
    containers: [{ name: 'main', image: 'registry.example.com/main:1' }],
    ...more,
  });
  const deploy = async (app: string, replicas: number, more: object = {}) => {
    const labels = { app };
    const template = { metadata: { labels }, spec: podSpec(app, more) };
    const spec = { replicas, selector: { matchLabels: labels }, template };
    await api().expect('POST', DEPLOYMENTS, { metadata: { name: app }, spec });
  };
  const bare = async (app: string, name: string, more: object = {}) =>
    api().expect('POST', PODS, { metadata: { name, labels: { app } }, spec: podSpec(app, more) });
  const budget = async (name: string, app: string, limit: object) =>
    api().expect('POST', BUDGETS, { metadata: { name }, spec: { ...limit, selector: { matchLabels: { app } } } });

  test('names budgets that keep a taint from a node; only the node without such a budget gets the taint', {
    timeout: 300_000,
  }, async t => {
    const groups = (...apps: string[]) => Object.fromEntries(apps.map(app => [`group-${app}`, 'yes']));
    await testEnv.nodes(...POOLS.map(name => ({ name, labels: { ...role(name), ...groups(name) } })));
    for (const name of POOLS) await testEnv.pool(name, { noExecute: 'Drain' });
    await testEnv.reconcile();
    const run = async (app: string, count: number) =>
      eventually(`${app} runs`, async () => {
        const { items } = (await api().expect('GET', `${PODS}?labelSelector=app=${app}`)) as { items: Pod[] };
        return items.length === count && items.every(({ status }) => status.phase === 'Running');
      });
    await deploy('two', 1);
    await run('two', 1);
    // One of its three pods is on no node.
    await deploy('low', 2);
    await bare('low', 'low-pending', { nodeSelector: { nowhere: 'yes' } });
    await budget('low', 'low', { minAvailable: 2 });
    await deploy('back', 3, { tolerations: [{ key: KEY, operator: 'Exists', effect: 'NoSchedule' }] });
    await budget('back', 'back', { maxUnavailable: 1 });
    for (const name of ['bare-1', 'bare-2']) await bare('bare', name);
    await budget('bare', 'bare', { minAvailable: 1 });
    await deploy('free', 2);
    await run('free', 2);
    /** @param known by budget: pods that are healthy, and evictions that are allowed */
    const budgetsKnow = async (known: Record<string, [number, number]>) => {
      let budgets = {};
      await eventually(
        'the budgets know their pods',
        async () => {
          const { items } = (await api().expect('GET', BUDGETS)) as { items: Budget[] };
          const numbers = ({ currentHealthy, disruptionsAllowed }: Budget['status']) => [
            currentHealthy,
            disruptionsAllowed,
          ];
          budgets = Object.fromEntries(items.map(({ metadata, status }) => [metadata.name, numbers(status)]));
          return isDeepStrictEqual(budgets, known);
        },
        40_000,
        async () => ({ budgets, pods: (await api().request('GET', PODS)).body }),
      );
    };
    const known: Record<string, [number, number]> = { back: [3, 1], bare: [2, 1], low: [2, 0] };
    await budgetsKnow(known);
    // Of two budgets of a pod, Kubernetes counts one alone when the pod turns Ready: both come after it.
    for (const name of ['two-a', 'two-b']) await budget(name, 'two', { maxUnavailable: 1 });
    await budgetsKnow({ ...known, 'two-a': [1, 1], 'two-b': [1, 1] });
    // After the pods: all but those that come back have a place elsewhere.
    await testEnv.nodes({ name: 'spare', labels: groups('low', 'two', 'bare', 'free') });

    const taints = [{ key: KEY, effect: 'NoExecute' as const }];
    for (const name of POOLS) await testEnv.edit(name, { spec: { taints } });
    const { stdout } = await cliHere(testEnv.cluster(), ['diff', '--impact', '-o', 'json']);
    assert.deepEqual((JSON.parse(stdout).impact as { podDisruptionBudgets: BudgetImpact[] }).podDisruptionBudgets, [
      { kind: 'returning', budget: 'default/back', pods: 3, nodes: ['back'], allowed: 1 },
      { kind: 'stuck', budget: 'default/bare', pods: 2, pending: 2, needs: 1, notRecreated: 2, allowed: 1 },
      { kind: 'waits', budget: 'default/low', pods: 2, healthy: 2, needs: 2 },
      { kind: 'several', budget: 'default/two-a', pods: 1, others: ['default/two-b'] },
    ]);

    await startWatching(t, testEnv.cluster());
    let message: string | undefined;
    const says = async (pool: string, reason: RegExp) => {
      message = condition(await testEnv.getPool(pool), 'Applied').message;
      return reason.test(message ?? '');
    };
    const reasons = {
      back: /returned after eviction, and PodDisruptionBudgets do not allow evicting all of them at once/,
      bare: /PodDisruptionBudget default\/bare/,
      low: /PodDisruptionBudget default\/low/,
      two: /two-a.*two-b/,
    };
    for (const [pool, reason] of Object.entries(reasons))
      await eventually(
        `${pool}: ${reason}`,
        () => says(pool, reason),
        90_000,
        () => message,
      );
    await eventually('the free pool has it', async () =>
      taintsOf(await testEnv.node('free')).includes(`${KEY}:NoExecute`),
    );
    for (const pool of Object.keys(reasons))
      assert.deepEqual(taintsOf(await testEnv.node(pool)), [`${KEY}:NoSchedule`], pool);
  });
});
