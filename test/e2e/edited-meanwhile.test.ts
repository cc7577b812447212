/** `reconcile --watch`: a pool is edited while the watch writes its RuntimeClass, or a node, for the previous spec. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startChild } from '../fault/child.ts';
import { useFaultEnv } from '../fault/fault-env.ts';
import { delay } from '../fault/treatments.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useFaultEnv();
const taints = (key: string) => ({ spec: { taints: [{ key, effect: 'NoSchedule' as const }] } });

test('the RuntimeClass tolerates a taint before a node has it', async t => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { handler: 'runc', ...taints('first').spec });
  await testEnv.reconcile();
  const proxy = await testEnv.proxy(t);
  const child = startChild(t, proxy);
  await child.synced();
  const begun = proxy.requests.length;
  const patches = () =>
    proxy.requests.slice(begun).filter(({ method, path }) => method === 'PATCH' && !/events/.test(path));
  const { promise: edited, resolve: goOn } = Promise.withResolvers<void>();
  const held = proxy.onRequest(({ method, path }) =>
    method === 'PATCH' && path.includes('runtimeclasses') ? delay(edited) : undefined,
  );
  await testEnv.edit('web', taints('second'));
  await eventually('the class is being written', () => patches().length > 0);
  held();
  await testEnv.edit('web', taints('third'));
  // For its watch event.
  await sleep(500);
  goOn();
  const keys = async () => (await testEnv.node('a')).spec.taints?.map(({ key }) => key);
  await eventually('the node has the last spec', async () => String(await keys()) === 'third');
  const kinds = patches().map(({ path }) =>
    path.includes('runtimeclasses') ? 'class' : /nodes\/a$/.test(path) ? 'node' : '',
  );
  assert.deepEqual(kinds.filter(Boolean), ['class', 'class', 'node']);
  assert.equal(await child.end(), 0);
});

for (const noExecute of ['Immediate', 'Drain'] as const) {
  test(`writes the RuntimeClass before a node with a write in progress, with noExecute: ${noExecute}`, async t => {
    await testEnv.nodes({ name: 'a', labels: role('web') });
    const spec = { handler: 'runc', noExecute, rollout: { settleSeconds: 0 }, labels: { tier: '1' } };
    await testEnv.pool('web', spec);
    await testEnv.reconcile();
    const proxy = await testEnv.proxy(t);
    const child = startChild(t, proxy);
    await child.synced();
    const { promise: edited, resolve: goOn } = Promise.withResolvers<void>();
    const { promise: written, resolve: isWritten } = Promise.withResolvers<void>();
    const held = proxy.onRequest(({ method, path }) =>
      method === 'PATCH' && /\/nodes\/a$/.test(path)
        ? async ({ forward, pass }) => {
            const answer = await forward();
            isWritten();
            await edited;
            pass(answer);
          }
        : undefined,
    );
    await testEnv.edit('web', { spec: { labels: { tier: '2' } } });
    await written;
    held();
    const begun = proxy.requests.length;
    await testEnv.edit('web', { spec: { taints: [{ key: 'second', effect: 'NoExecute' }] } });
    // For its watch event.
    await sleep(500);
    goOn();
    const keys = async () => (await testEnv.node('a')).spec.taints?.map(({ key }) => key);
    await eventually('the node has the last spec', async () => String(await keys()) === 'second');
    const kinds = proxy.requests
      .slice(begun)
      .filter(({ method, path }) => method !== 'GET' && /controllerrevisions|runtimeclasses|nodes\/a$/.test(path))
      .map(({ path }) => path.match(/controllerrevisions|runtimeclasses|nodes/)?.[0]);
    assert.deepEqual(kinds.slice(0, 3), ['controllerrevisions', 'runtimeclasses', 'nodes']);
    assert.equal(await child.end(), 0);
  });
}
