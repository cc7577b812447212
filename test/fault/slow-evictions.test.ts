/** Evictions that take seconds, as with a slow webhook or a busy budget: other work does not wait for them. */
import assert from 'node:assert/strict';
import { poolsWithPods } from '../e2e/draining.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import type { Asked } from './asked.ts';
import { startChild, useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { delay } from './treatments.ts';

const SLOW_MS = 2_000;
const NODES = 32;
const PODS_EACH = 4;
/** As many as requests in flight. */
const CONCURRENCY = 32;
const testEnv = useFaultEnv();
const pods = poolsWithPods(testEnv);
const isEviction = ({ path }: Asked) => path.endsWith('/eviction');
const names = Array.from({ length: NODES }, (_, at) => `n${at}`);

/** Milliseconds until the label of the node that somebody has changed is as its pool says. */
async function repairMs(node: string): Promise<number> {
  await testEnv.patchNode(node, { metadata: { labels: { tier: 'drift' } } });
  const begun = performance.now();
  await eventually(`${node} is repaired`, async () => (await testEnv.node(node)).metadata.labels.tier === '1');
  return Math.round(performance.now() - begun);
}

row(
  {
    fault: 'slow evictions',
    how: `each eviction takes ${SLOW_MS / 1000} s, while the pods of ${NODES} nodes are evicted`,
    holds:
      'half of the requests are left to others; drift of another pool is repaired within 1 s, drift of that pool within 10 s',
  },
  async (t, facts) => {
    await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })), { name: 'z', labels: role('other') });
    await testEnv.pool('web', { noExecute: 'Drain', labels: { tier: '1' } });
    await testEnv.pool('other', { labels: { tier: '1' } });
    await testEnv.reconcile();
    for (const node of names)
      await Promise.all(
        Array.from({ length: PODS_EACH }, (_, at) => pods.pod({ name: `${node}-${at}`, node, graceSeconds: 0 })),
      );
    const proxy = await testEnv.proxy(t);
    const child = startChild(t, proxy, '--concurrency', String(CONCURRENCY));
    await child.synced();
    let [running, most] = [0, 0];
    proxy.onRequest(asked => {
      if (!isEviction(asked)) return undefined;
      most = Math.max(most, ++running);
      return async exchange => {
        await delay(SLOW_MS)(exchange);
        running--;
      };
    });
    await testEnv.edit('web', { spec: { taints: [{ key: 'gone', effect: 'NoExecute' }] } });
    await eventually('it evicts', () => running > CONCURRENCY / 4);
    facts.othersRepairedAfterMs = await repairMs('z');
    facts.ownRepairedAfterMs = await repairMs('n0');
    facts.evictionsAtOnce = most;
    assert.notEqual((await pods.names()).length, 0, 'it still evicts');
    assert.ok(facts.othersRepairedAfterMs < 1_000, `after ${facts.othersRepairedAfterMs} ms`);
    assert.ok(facts.ownRepairedAfterMs < 10_000, `after ${facts.ownRepairedAfterMs} ms`);
    assert.ok(most <= CONCURRENCY / 2, `${most} evictions at once`);
    await eventually('all are evicted', async () => (await pods.names()).length === 0, 90_000);
    await eventually(
      'all have the taint',
      async () => (await testEnv.getPool('web'))?.status?.updatedNodeCount === NODES,
    );
    assert.equal(await child.end(), 0);
  },
);
