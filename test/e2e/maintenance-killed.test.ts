/** SIGKILL after each kind of write of a drain and an uncordon: a node is never half under maintenance, and a rerun completes the change. */
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { type FaultProxy, startProxy } from '../fault/proxy.ts';
import { hang } from '../fault/treatments.ts';
import { poolsWithPods } from './draining.ts';
import { annotationOf, as, conditionOf, serveVersion } from './maintenance.ts';
import { role, useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const pods = poolsWithPods(testEnv);
const NAMES = ['a', 'b'];
const DRAIN = ['drain', 'web', '--reason=disks', '--until=2099-01-01T00:00:00Z', '--yes', ...as('alice')];
const UNCORDON = ['uncordon', 'web', ...as('alice')];

/** Kills the command after the response to its Nth write. */
async function killAfter(t: TestContext, proxy: FaultProxy, writes: number, args: string[]): Promise<void> {
  let [sent, answered] = [0, 0];
  const isWrite = ({ method, path }: { method: string; path: string }) =>
    method !== 'GET' && !path.includes('selfsubjectreviews');
  const undo = proxy.onRequest(asked => (isWrite(asked) && ++sent > writes ? hang : undefined));
  const [program, ...first] = productCommand();
  const env = { ...process.env, KUBECONFIG: proxy.kubeconfig };
  const child = spawn(program, [...first, ...args], { env, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  const ended = once(child, 'exit');
  const silence = proxy.onAnswered(asked => {
    if (isWrite(asked) && ++answered === writes) child.kill('SIGKILL');
  });
  const [, signal] = await ended;
  undo();
  silence();
  assert.equal(signal, 'SIGKILL', `${args[0]} has no write ${writes}`);
}

async function states() {
  return Promise.all(
    NAMES.map(async name => {
      const node = await testEnv.node(name);
      const { owner, reason, until } = annotationOf(node) ?? {};
      const told = owner === undefined ? undefined : `${owner} ${reason} ${until}`;
      return { isCordoned: node.spec.unschedulable === true, told, condition: conditionOf(node)?.message };
    }),
  );
}

async function prepare(): Promise<void> {
  await testEnv.clean();
  await testEnv.nodes(...NAMES.map(name => ({ name, labels: role('web') })));
  await testEnv.pool('web');
  await testEnv.reconcile();
  await pods.pod({ name: 'p', node: 'a', graceSeconds: 0 });
  await pods.pod({ name: 'q', node: 'b', graceSeconds: 0 });
}

const TOLD = 'alice disks 2099-01-01T00:00:00Z';
const CONDITION = 'alice until 2099-01-01T00:00:00Z: disks';

test('a rerun completes a drain or uncordon that was killed after any write', { timeout: 300_000 }, async t => {
  const proxy = await startProxy(testEnv.cluster(), testEnv.cluster().dir);
  t.after(() => proxy.stop());
  serveVersion(proxy, 'v1.37.2');
  const onProxy = { ...testEnv.cluster(), kubeconfig: proxy.kubeconfig };
  // The cordon of one node, its condition, and an eviction after both of each.
  for (const writes of [1, 2, 5]) {
    await prepare();
    await killAfter(t, proxy, writes, DRAIN);
    for (const { isCordoned, told } of await states()) assert.equal(told, isCordoned ? TOLD : undefined);
    const rerun = await cli(onProxy, DRAIN);
    assert.equal(rerun.code, 0, rerun.stderr);
    const all = NAMES.map(() => ({ isCordoned: true, told: TOLD, condition: CONDITION }));
    assert.deepEqual(await states(), all, `killed after write ${writes}`);
    assert.deepEqual(await pods.names(), []);
  }
  for (const writes of [1, 2]) {
    if (writes > 1) await cli(onProxy, DRAIN);
    await killAfter(t, proxy, writes, UNCORDON);
    for (const { isCordoned, told } of await states()) assert.equal(told, isCordoned ? TOLD : undefined);
    const rerun = await cli(onProxy, UNCORDON);
    assert.equal(rerun.code, 0, rerun.stderr);
    const none = NAMES.map(() => ({ isCordoned: false, told: undefined, condition: undefined }));
    assert.deepEqual(await states(), none, `killed after write ${writes}`);
  }
});
