/** What changes between the plan of a drain and the turn of a node. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { kubectl } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;
const { worker, background, closed, pod, budget, names } = poolsWithPods(testEnv);
const api = () => raw(cluster());
const WEB = { app: 'web' };

/** Drains w-1, whose pod waits, then w-2; `meanwhile` runs while w-1 waits. */
async function drainWhile(
  t: { after(fn: () => unknown): void },
  { flags = [] as string[], prepare = async () => {}, meanwhile = async () => {} },
) {
  await worker();
  await pod({ name: 'held', node: 'w-1', labels: WEB });
  await pod({ name: 'p', node: 'w-2' });
  await prepare();
  await budget('web', WEB, 0);
  const draining = background(t, NOW, ...flags);
  await eventually('w-1 waits', () => draining.stderr().includes(' waits for '));
  await meanwhile();
  await budget('web', WEB, 1);
  await eventually(
    'it ends',
    () => /^nodepool\S+ drained |left to drain/m.test(draining.stdout() + draining.stderr()),
    20_000,
  );
  return { code: await draining.end('SIGCONT'), stdout: draining.stdout(), stderr: draining.stderr() };
}

/** Another machine with the name, and a pod that is scheduled to it. */
async function replaced(): Promise<void> {
  await api().expect('DELETE', '/api/v1/nodes/w-2');
  await testEnv.nodes({ name: 'w-2', labels: role('worker') });
  await pod({ name: 'newcomer', node: 'w-2' });
}

for (const flags of [[], ['--rolling']]) {
  test(`cordons a node that was uncordoned before its turn ${flags}`, async t => {
    const cordon = async () => void (await kubectl(cluster(), ['cordon', 'w-2']));
    const { code, stdout } = await drainWhile(t, {
      flags,
      prepare: cordon,
      meanwhile: async () => {
        assert.equal((await kubectl(cluster(), ['uncordon', 'w-2'])).stdout, 'node/w-2 uncordoned\n');
        await pod({ name: 'late', node: 'w-2' });
      },
    });
    assert.match(stdout, /^node\/w-1 drained\nnode\/w-2 cordoned\nnode\/w-2 drained$/m);
    assert.deepEqual([code, await closed(), await names()], [0, ['w-1', 'w-2'], ['elsewhere']]);
  });

  test(`drains no recreated node with the same name ${flags}`, async t => {
    const { code, stdout, stderr } = await drainWhile(t, { flags, meanwhile: replaced });
    assert.match(stderr, /^node\/w-2 is gone$/m);
    assert.doesNotMatch(stdout, /^node\/w-2 drained$/m);
    assert.deepEqual([code, await closed(), await names()], [0, ['w-1'], ['elsewhere', 'newcomer', 'p']]);
  });

  test(`fails a node that has left the pool ${flags}`, async t => {
    const { code, stderr } = await drainWhile(t, {
      flags,
      meanwhile: async () => {
        await testEnv.patchNode('w-2', { metadata: { labels: { 'node-role.kubernetes.io/worker': null } } });
      },
    });
    const next = flags.length === 0 ? '; next: `kubectl uncordon w-2` makes the node schedulable again' : '';
    const line = `error: unable to drain node "w-2": the node is no longer a member of pool worker${next}\n`;
    assert.ok(stderr.includes(line), stderr);
    assert.match(stderr, /1 of 2 nodes left to drain; next: .*`kubectl nodepool uncordon worker --node w-1`$/m);
    assert.deepEqual([code, await names()], [1, ['elsewhere', 'p']]);
  });
}

test('ends for a node that is recreated during its drain', async t => {
  await worker();
  await pod({ name: 'held', node: 'w-1', labels: WEB });
  await budget('web', WEB, 0);
  const draining = background(t, NOW, '--node=w-1');
  await eventually('w-1 waits', () => draining.stderr().includes(' waits for '));
  await api().expect('DELETE', '/api/v1/nodes/w-1');
  await testEnv.nodes({ name: 'w-1', labels: role('worker') });
  await eventually('it ends', () => draining.stderr().includes('left to drain'), 20_000);
  assert.equal(await draining.end('SIGCONT'), 1);
  assert.match(
    draining.stderr(),
    /^error: unable to drain node "w-1": the node was deleted during the drain; a new node has the same name; next: run the command again to drain the new node$/m,
  );
  assert.doesNotMatch(draining.stderr(), /uncordon/);
  assert.deepEqual(await closed(), []);
});

test('warns about later pods that would lose something', async t => {
  const { code, stderr } = await drainWhile(t, {
    flags: ['--delete-emptydir-data'],
    prepare: () => pod({ name: 'known', node: 'w-2', emptyDir: true }),
    meanwhile: () => pod({ name: 'late', node: 'w-2', emptyDir: true }),
  });
  assert.match(stderr, /^warning: deleting pods with local storage: default\/known\n/);
  assert.match(stderr, /\nwarning: deleting pods with local storage: default\/late\nevicting pod /);
  assert.deepEqual([code, await names()], [0, ['elsewhere']]);
});
