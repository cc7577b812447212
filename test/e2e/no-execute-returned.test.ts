/** `noExecute: Drain` and pods that come back to their node: they tolerate the NoSchedule taint that becomes NoExecute. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readAudit } from '../cluster/audit.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { samplePods } from './pod-samples.ts';
import { condition, role, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const NODES = ['a', 'b', 'c'];
const REPLICAS = 6;
const APPS = '/apis/apps/v1/namespaces/default/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';
const taint = (effect: 'NoSchedule' | 'NoExecute') => ({ key: 'dedicated', value: 'x', effect });

describe('pods that tolerate the NoSchedule taint of their pool, which becomes NoExecute', () => {
  const testEnv = useFullTestEnv({ audit: true });
  const api = () => raw(testEnv.cluster());

  test('evictions end within the budget: status and Event say why; a budget that allows all lets the taint through', {
    timeout: 300_000,
  }, async t => {
    await testEnv.nodes(...NODES.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', { noExecute: 'Drain', taints: [taint('NoSchedule')] });
    const watching = await startWatching(t, testEnv.cluster());
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
    await api().expect('POST', APPS, { metadata: { name: 'web' }, spec: { replicas: REPLICAS, selector, template } });
    await api().expect('POST', BUDGETS, { metadata: { name: 'web' }, spec: { minAvailable: REPLICAS - 1, selector } });
    await eventually('the budget knows all pods', async () => {
      const { status } = (await api().expect('GET', `${BUDGETS}/web`)) as { status: { currentHealthy?: number } };
      return status.currentHealthy === REPLICAS;
    });
    await eventually(
      'the pool is reconciled',
      async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === NODES.length,
    );
    const samples = await samplePods(t, testEnv.cluster());
    await testEnv.edit('web', { spec: { taints: [taint('NoExecute')] } });

    await eventually(
      'every node has the taint, or the status says why not',
      async () => {
        const [pool, nodes] = [await testEnv.getPool('web'), await Promise.all(NODES.map(testEnv.node))];
        const { message } = condition(pool, 'Applied');
        const isDone = (at: number) =>
          nodes.flatMap((node, index) => (index === at ? taintsOf(node) : [])).includes('dedicated=x:NoExecute');
        const isNamed = (name: string) => new RegExp(`not set on node ${name}: \\d pods? came back`).test(message);
        return pool?.status?.status === 500 && NODES.every((name, at) => isDone(at) || isNamed(name));
      },
      180_000,
    );
    const evictions = async () => {
      const events = (await readAudit(testEnv.cluster())).filter(({ resource }) => resource === 'pods/eviction');
      return events.filter(({ code }) => code < 300).map(({ name }) => name);
    };
    const evicted = await evictions();
    assert.equal(new Set(evicted).size, evicted.length, 'no pod is evicted twice');
    assert.ok(evicted.length <= 3 * REPLICAS, `${evicted.length} evictions`);
    assert.equal(samples.fewest().get('web'), REPLICAS - 1, 'the budget holds');
    assert.match((await testEnv.events('web')).map(({ note }) => note).join('\n'), /came back after eviction/);
    assert.equal(watching.child.exitCode, null);
    await watching.end();

    const tainted = async () => {
      const taints = await Promise.all(NODES.map(async name => taintsOf(await testEnv.node(name))));
      return taints.filter(of => of.includes('dedicated=x:NoExecute')).length;
    };
    const [evictedBefore, taintedBefore] = [(await evictions()).length, await tainted()];
    for (let run = 0; run < 3; run++) {
      const { code, stderr } = await cli(testEnv.cluster(), ['reconcile', 'web', '--yes']);
      if (code !== 0) assert.match(stderr, /came back after eviction/);
    }
    const further = (await evictions()).length - evictedBefore;
    assert.ok(further <= (await tainted()) - taintedBefore, `${further} further evictions, not all before a taint`);
    assert.equal(samples.fewest().get('web'), REPLICAS - 1, 'the budget holds');

    await api().expect('PATCH', `${BUDGETS}/web`, { spec: { minAvailable: 0 } });
    await eventually('the budget allows all', async () => {
      const { status } = (await api().expect('GET', `${BUDGETS}/web`)) as { status: { disruptionsAllowed: number } };
      return status.disruptionsAllowed === REPLICAS;
    });
    const { code, stderr } = await cli(testEnv.cluster(), ['reconcile', 'web', '--yes']);
    assert.equal(code, 0, stderr);
    for (const name of NODES) assert.deepEqual(taintsOf(await testEnv.node(name)), ['dedicated=x:NoExecute']);
  });
});
