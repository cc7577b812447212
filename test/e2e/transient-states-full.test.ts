/**
 * `unmanaged: Remove` and back to Keep, with controller manager, scheduler and kwok: neither a taint by which an agent marks a state,
 * nor one that is on no list, evicts pods past their budget weeks later. Pods are counted at each change, as budgets count them.
 */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { useFullTestEnv } from './full-test-env.ts';
import { samplePods } from './pod-samples.ts';
import { condition, role, taintsOf } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const TEST_MS = 600_000;
const REPLICAS = 6;
const MIN_AVAILABLE = 5;
/** On the list, and in the record of an earlier version. */
const LISTED = 'node.cilium.io/agent-not-ready';
const UNLISTED = 'agent.example.com/starting';
const RECORD = 'nodes.lailin.xyz/applied';
const DEPLOYMENTS = '/apis/apps/v1/namespaces/default/deployments';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

describe('a NoExecute taint that unmanaged: Remove took away', () => {
  const testEnv = useFullTestEnv();
  const api = () => raw(testEnv.cluster());
  const taints = [LISTED, UNLISTED].map(key => ({ key, effect: 'NoExecute' as const }));

  /** Its pods can run on the nodes of the pool, and on those with the label. */
  async function deploy(pool: string): Promise<void> {
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

  test('comes back after evictions within the budget, or not at all', { timeout: TEST_MS }, async t => {
    const pools = ['kept', 'gone', 'drained'];
    const nodes = (pool: string) => [1, 2, 3].map(at => `${pool}-${at}`);
    const onAll = <T>(pool: string, act: (node: string) => Promise<T>) => Promise.all(nodes(pool).map(act));
    const taintsOn = async (pool: string) =>
      (await onAll(pool, testEnv.node)).map(node => taintsOf(node).join(' ')).join(', ');
    const watching = await startWatching(t, testEnv.cluster());
    for (const pool of pools) {
      await testEnv.pool(pool, { unmanaged: 'Remove', ...(pool === 'drained' ? { noExecute: 'Drain' } : {}) });
      await testEnv.nodes(...nodes(pool).map(name => ({ name, taints, labels: role(pool) })));
    }
    await eventually('the taint of no list is stripped', async () =>
      (await Promise.all(pools.map(taintsOn))).every(text => !text.includes(UNLISTED)),
    );
    // The agents are ready. Earlier versions stripped the other taint, too, and their records say so.
    for (const pool of pools) {
      await onAll(pool, async name => {
        const { metadata } = await testEnv.node(name);
        const record = JSON.parse(metadata.annotations?.[RECORD] ?? '{}');
        record.taints[`${LISTED}:NoExecute`] = null;
        record.displaced.taints[`${LISTED}:NoExecute`] = '';
        await testEnv.patchNode(name, {
          metadata: { annotations: { [RECORD]: JSON.stringify(record) } },
          spec: { taints: [] },
        });
      });
      await deploy(pool);
    }
    await eventually('all pods run', async () => (await Promise.all(pools.map(healthy))).every(Boolean), 120_000);
    await testEnv.nodes(...[1, 2].map(at => ({ name: `spare-${at}`, labels: { 'spare.kubernetes.io/drained': '' } })));
    const samples = await samplePods(t, testEnv.cluster());

    for (const pool of ['kept', 'drained']) await testEnv.edit(pool, { spec: { unmanaged: 'Keep' } });
    const deleted = await kubectl(testEnv.cluster(), ['delete', 'npool', 'gone']);
    assert.equal(deleted.code, 0, deleted.stderr);
    await eventually('a pool that keeps its nodes has let go of the taint', async () =>
      (await onAll('kept', testEnv.node)).every(({ metadata }) => !metadata.annotations?.[RECORD]?.includes(UNLISTED)),
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
});
