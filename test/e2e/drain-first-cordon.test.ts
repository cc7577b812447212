/** What changes between the plan of a drain and its first cordon. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cliHere, kubectl } from '../cluster/harness.ts';
import { startProxy } from '../fault/proxy.ts';
import { delay } from '../fault/treatments.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { as, stateOf } from './maintenance.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { names, pod, worker } = poolsWithPods(testEnv);
const [alice, bob] = [as('alice'), as('bob')];

interface Sent {
  method: string;
  path: string;
}

async function proxied(t: { after(fn: () => unknown): void }) {
  const proxy = await startProxy(cluster(), cluster().dir);
  t.after(() => proxy.stop());
  return { proxy, behind: { ...cluster(), kubeconfig: proxy.kubeconfig } };
}

test('does not count a node as drained when its maintenance ends before the first cordon', async t => {
  await worker();
  assert.equal((await cliHere(cluster(), ['cordon', 'worker', '--node=w-2', '--reason=disks', ...alice])).code, 0);
  await pod({ name: 'p', node: 'w-2' });
  const { proxy, behind } = await proxied(t);
  const held = Promise.withResolvers<void>();
  const isRead = ({ method, path }: Sent) => method === 'GET' && /\/nodes\/w-2\b/.test(path);
  proxy.onRequest(request => (isRead(request) ? delay(held.promise) : undefined));
  const draining = cliHere(behind, ['drain', 'worker', NOW, ...bob]);
  await eventually('bob reads w-2', () => proxy.requests.some(isRead));
  assert.equal((await cliHere(cluster(), ['uncordon', 'worker', '--node=w-2', ...alice])).code, 0);
  held.resolve();
  const { code, stdout, stderr } = await draining;
  assert.match(stdout, /^w-2 +failed /m);
  assert.match(
    stderr,
    /^error: .*"w-2": the node's maintenance ended after the drain began; next: run the command again$/m,
  );
  assert.deepEqual([code, await names(), await stateOf(testEnv, 'w-2')], [1, ['elsewhere', 'p'], 'schedulable']);
});

test('drains an empty node that is uncordoned before the first cordon', async t => {
  await worker();
  assert.equal((await kubectl(cluster(), ['cordon', 'w-2'])).code, 0);
  const { proxy, behind } = await proxied(t);
  const held = Promise.withResolvers<void>();
  const isCordon = ({ method, path }: Sent) => method === 'PATCH' && /\/nodes\/w-2\b/.test(path);
  proxy.onRequest(request => (isCordon(request) ? delay(held.promise) : undefined));
  const draining = cliHere(behind, ['drain', 'worker', NOW, '--reason=disks', ...bob]);
  await eventually('bob cordons w-2', () => proxy.requests.some(isCordon));
  assert.equal((await kubectl(cluster(), ['uncordon', 'w-2'])).code, 0);
  await pod({ name: 'late', node: 'w-2' });
  held.resolve();
  const { code, stderr } = await draining;
  assert.deepEqual([code, await names()], [0, ['elsewhere']], stderr);
});
