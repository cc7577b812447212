/** A rollout beside a proxy that delivers a write after its client has given up. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { sampleRollout } from '../e2e/rollout-samples.ts';
import { role } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { isReconcileWrite } from './asked.ts';
import { startChild } from './child.ts';
import { useFaultEnv } from './fault-env.ts';
import { row } from './row.ts';
import { delay } from './treatments.ts';

const testEnv = useFaultEnv();
const [DEADLINE, LATE_MS] = ['1s', 3_000];

test('a node keeps its slot until its late write has landed or cannot land', { timeout: 180_000 }, async t => {
  const names = ['n0', 'n1', 'n2', 'n3'];
  await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web', { labels: { tier: '1' }, rollout: { maxConcurrent: 1, settleSeconds: 4 } });
  await testEnv.reconcile();
  const samples = await sampleRollout(t, testEnv.cluster(), '2', 4);
  const proxy = await testEnv.proxy(t);
  const child = startChild(t, proxy, '--request-timeout', DEADLINE);
  await child.synced();
  let [isFirst, hasLanded] = [true, false];
  proxy.onRequest(asked => {
    if (!isFirst || asked.path !== '/api/v1/nodes/n0' || !isReconcileWrite(asked)) return undefined;
    isFirst = false;
    return async ({ forward }) => {
      await sleep(LATE_MS);
      (await forward()).resume();
      hasLanded = true;
    };
  });
  await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
  await eventually('the write has landed', () => hasLanded);
  await eventually('two nodes are changed', () => samples.order().length >= 2, 30_000);
  assert.equal(samples.most(), 1, `order ${samples.order()}`);
  await child.end();
});

row(
  {
    fault: 'late write',
    how: 'every second write of a node in a rollout reaches the server after settleSeconds',
    holds: 'settleSeconds begin at the response; never more than maxConcurrent nodes change at once',
  },
  async (t, facts) => {
    const names = ['n0', 'n1', 'n2'];
    await testEnv.nodes(...names.map(name => ({ name, labels: role('web') })));
    await testEnv.pool('web', { labels: { tier: '1' }, rollout: { maxConcurrent: 1, settleSeconds: 1 } });
    await testEnv.reconcile();
    const samples = await sampleRollout(t, testEnv.cluster(), '2', 1);
    const proxy = await testEnv.proxy(t);
    const child = startChild(t, proxy);
    await child.synced();
    let writes = 0;
    proxy.onRequest(asked => {
      if (!asked.path.startsWith('/api/v1/nodes/n') || !isReconcileWrite(asked) || writes++ % 2 === 1) return undefined;
      // Longer than settleSeconds and its margin.
      return delay(LATE_MS + 1_000);
    });
    await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
    await eventually('all are changed', () => samples.changed() === names.length, 60_000);
    assert.equal(samples.most(), 1, `order ${samples.order()}`);
    await child.end();
    Object.assign(facts, { late: Math.ceil(writes / 2), inFlight: samples.most() });
  },
);
