/** Two people at once, a takeover during a drain, and servers that do not name the user or lack the condition. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cordonNodes } from '../../src/commands/shared/cordon/cordon.ts';
import { readAudit } from '../cluster/audit.ts';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { startProxy } from '../fault/proxy.ts';
import { answerWith, delay } from '../fault/treatments.ts';
import { NOW, poolsWithPods } from './draining.ts';
import { annotationOf, as, conditionOf, serveVersion, stateOf } from './maintenance.ts';
import { role, useTestEnv } from './test-env.ts';
import { userWith } from './users.ts';
import { eventually } from './watching.ts';

// Another user may not ask the server who that is, at the end.
const testEnv = useTestEnv({ audit: true });
const { cluster } = testEnv;
const { background, budget, pod, worker, names } = poolsWithPods(testEnv);
const [alice, bob, dan] = [as('alice'), as('bob'), as('dan')];
const state = (name: string) => stateOf(testEnv, name);

async function pool(): Promise<void> {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web');
}

async function proxied(t: { after(fn: () => unknown): void }) {
  const proxy = await startProxy(cluster(), cluster().dir);
  t.after(() => proxy.stop());
  return { proxy, behind: { ...cluster(), kubeconfig: proxy.kubeconfig } };
}

test('when two people cordon nodes at the same time, each node has exactly one owner', async () => {
  const all = Array.from({ length: 20 }, (_, at) => `n-${at}`);
  await testEnv.nodes(...all.map(name => ({ name })));
  const port = (await testEnv.connection()).cluster;
  const nodes = await port.nodes.list();
  const cordon = (name: string) => {
    const maintenance = {
      owner: async () => ({ name, from: 'server' as const }),
      publish: async () => undefined,
      record: async () => undefined,
    };
    const deps = { cluster: port, maintenance, dryRun: 'none', now: () => new Date(), sleep: async () => {} } as const;
    return cordonNodes(nodes, { unschedulable: true, maintenance: { reason: 'mine' } }, deps);
  };
  const [ofAlice, ofBob] = [cordon('alice'), cordon('bob')];
  for (const [at, { name }] of nodes.entries()) {
    const results = [await ofAlice[at], await ofBob[at]];
    const { owner } = annotationOf(await testEnv.node(name)) ?? {};
    const loser = owner === 'alice' ? 1 : 0;
    const [lost, won] = [results[loser], results[1 - loser]];
    assert.equal(won?.kind, 'changed');
    assert.match(
      lost?.kind === 'failed' ? lost.error.message : '',
      new RegExp(`^the node is under maintenance by ${owner} since`),
    );
  }
});

test('refuses the write if another person cordoned the nodes after they were read', async t => {
  await pool();
  const { proxy, behind } = await proxied(t);
  const held = Promise.withResolvers<void>();
  proxy.onRequest(({ method }) => (method === 'PATCH' ? delay(held.promise) : undefined));
  const ofBob = cli(behind, ['cordon', 'web', '--reason=mine', ...bob]);
  await eventually('bob writes', () => proxy.requests.some(({ method }) => method === 'PATCH'));
  assert.equal((await cli(cluster(), ['cordon', 'web', '--reason=disks', ...alice])).code, 0);
  held.resolve();
  const { code, stdout, stderr } = await ofBob;
  assert.deepEqual([code, stdout, await state('a')], [1, '', 'cordoned alice disks']);
  assert.match(stderr, /unable to cordon node "a": the node is under maintenance by alice since /);
});

test('--takeover applies only to the maintenance that was read, not to a later one', async t => {
  await pool();
  assert.equal((await cli(cluster(), ['cordon', 'web', '--reason=disks', ...alice])).code, 0);
  const { proxy, behind } = await proxied(t);
  const held = Promise.withResolvers<void>();
  proxy.onRequest(({ method }) => (method === 'PATCH' ? delay(held.promise) : undefined));
  const ofBob = cli(behind, ['uncordon', 'web', '--takeover', ...bob]);
  await eventually('bob writes', () => proxy.requests.some(({ method }) => method === 'PATCH'));
  assert.equal((await cli(cluster(), ['cordon', 'web', '--takeover', '--reason=mine', ...dan])).code, 0);
  held.resolve();
  const { code, stdout, stderr } = await ofBob;
  assert.deepEqual([code, stdout, await state('a')], [1, '', 'cordoned dan mine']);
  assert.match(stderr, /unable to uncordon node "a": the node is under maintenance by dan since /);
});

for (const how of [[], ['--rolling']])
  test(`a drain${how.map(flag => ` ${flag}`).join('')} --takeover keeps maintenance that began later`, async t => {
    await worker();
    assert.equal((await cli(cluster(), ['cordon', 'worker', '--reason=disks', ...alice])).code, 0);
    await pod({ name: 'held', node: 'w-1', labels: { app: 'web' } });
    await pod({ name: 'p', node: 'w-2' });
    await budget('web', { app: 'web' }, 0);
    const draining = background(t, NOW, '--takeover', '--reason=mine', ...how, ...bob);
    await eventually('w-1 waits', () => draining.stderr().includes(' waits for '));
    const flags = ['--node=w-2', '--takeover', '--reason=fans'];
    assert.equal((await cli(cluster(), ['cordon', 'worker', ...flags, ...dan])).code, 0);
    await budget('web', { app: 'web' }, 1);
    await eventually('it ends', () => draining.stderr().includes('left to drain'), 20_000);
    await draining.end('SIGCONT');
    assert.deepEqual([await state('w-1'), await state('w-2')], ['cordoned bob mine', 'cordoned dan fans']);
    assert.ok((await names()).includes('p'));
  });

test('a drain skips a node that it announced to skip, even if its maintenance has ended', async t => {
  await worker();
  assert.equal((await cli(cluster(), ['cordon', 'worker', '--node=w-2', '--reason=disks', ...alice])).code, 0);
  await pod({ name: 'held', node: 'w-1', labels: { app: 'web' } });
  await pod({ name: 'p', node: 'w-2' });
  await budget('web', { app: 'web' }, 0);
  const draining = background(t, NOW, '--rolling', ...bob);
  await eventually('w-1 waits', () => draining.stderr().includes(' waits for '));
  assert.match(draining.stderr(), /^warning: node w-2 is under maintenance by alice .*; not drained/m);
  assert.equal((await cli(cluster(), ['uncordon', 'worker', '--node=w-2', ...alice])).code, 0);
  await budget('web', { app: 'web' }, 1);
  await eventually('it ends', () => draining.stderr().includes('left to drain'), 20_000);
  await draining.end('SIGCONT');
  assert.deepEqual([await names(), await state('w-2')], [['elsewhere', 'p'], 'schedulable']);
  assert.match(draining.stderr(), /^error: .*"w-2": the node's maintenance ended after the drain began; /m);
});

test('a drain skips a node that somebody takes over before its turn', async t => {
  await worker();
  await pod({ name: 'held', node: 'w-1', labels: { app: 'web' } });
  await pod({ name: 'p', node: 'w-2' });
  await budget('web', { app: 'web' }, 0);
  const draining = background(t, NOW, '--reason=disks', ...alice);
  await eventually('w-1 waits', () => draining.stderr().includes(' waits for '));
  const taken = await cli(cluster(), ['cordon', 'worker', '--node=w-2', '--takeover', '--reason=mine', ...bob]);
  assert.equal(taken.stdout, 'node/w-2 already cordoned; maintenance taken over from alice\n');
  await budget('web', { app: 'web' }, 1);
  await eventually('it ends', () => draining.stderr().includes('left to drain'), 20_000);
  await draining.end('SIGCONT');
  assert.match(
    draining.stderr(),
    /^error: unable to cordon node "w-2": the node is under maintenance by bob since \S+: mine; /m,
  );
  assert.deepEqual(
    [await names(), await state('w-1'), await state('w-2')],
    [['elsewhere', 'p'], 'cordoned alice disks', 'cordoned bob mine'],
  );
});

test('from Kubernetes 1.37 on, the condition follows the annotation, and foreign ones stay', async t => {
  await pool();
  const { proxy, behind } = await proxied(t);
  const condition = async () => conditionOf(await testEnv.node('a'));
  await cli(behind, ['cordon', 'web', '--reason=disks', ...alice]);
  assert.equal(await condition(), undefined, 'this server is older');
  serveVersion(proxy, 'v1.37.2');
  const { code, stdout } = await cli(behind, ['cordon', 'web', ...alice]);
  assert.deepEqual([code, stdout], [0, 'node/a already cordoned\n']);
  const { status, reason, message } = (await condition()) ?? {};
  assert.deepEqual([status, reason, message], ['True', 'NodepoolMaintenance', 'alice: disks']);
  await cli(behind, ['cordon', 'web', '--takeover', '--reason=mine', ...bob]);
  assert.equal((await condition())?.message, 'bob: mine');
  const { length: others } =
    ((await testEnv.node('a')) as { status?: { conditions?: unknown[] } }).status?.conditions ?? [];
  // A server that was downgraded has it still.
  await cli(cluster(), ['uncordon', 'web', ...bob]);
  assert.equal(await condition(), undefined);
  const rest = ((await testEnv.node('a')) as { status?: { conditions?: unknown[] } }).status?.conditions ?? [];
  assert.equal(rest.length, others - 1);

  const theirs = { type: 'MaintenanceInProgress', status: 'True', reason: 'AdminRequested', message: 'theirs' };
  const path = '/api/v1/nodes/a/status';
  await raw(cluster()).expect(
    'PATCH',
    path,
    { status: { conditions: [theirs] } },
    'application/strategic-merge-patch+json',
  );
  await cli(behind, ['cordon', 'web', '--reason=disks', ...alice]);
  await cli(behind, ['uncordon', 'web', ...alice]);
  assert.equal((await condition())?.message, 'theirs');
});

test('reports that the condition cannot be written, and cordons the node', async t => {
  await pool();
  const { proxy, behind } = await proxied(t);
  serveVersion(proxy, 'v1.37.2');
  const denial = 'nodes "a" is forbidden: User "alice" cannot patch resource "nodes/status"';
  proxy.onRequest(({ path }) => (path.endsWith('/a/status') ? answerWith(403, denial) : undefined));
  const { code, stderr } = await cli(behind, ['cordon', 'web', '--reason=disks', ...alice]);
  assert.deepEqual([code, await state('a')], [0, 'cordoned alice disks']);
  assert.match(stderr, /^warning: the maintenance is not shown in the nodes' conditions: /m);
});

test('uses the user of the kubeconfig, marked, if the server does not report the user', async () => {
  await pool();
  const rules: Parameters<typeof userWith>[2] = [
    { apiGroups: [''], resources: ['nodes'], verbs: ['get', 'list', 'patch'] },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools', 'nodepools/status'], verbs: ['list', 'patch'] },
  ];
  const carol = { ...cluster(), kubeconfig: await userWith(cluster(), 'carol', rules) };
  const cordon = (from = carol) => cli(from, ['cordon', 'web', '--reason=disks']);
  assert.equal((await cordon()).code, 0);
  assert.equal(await state('a'), 'cordoned carol disks');
  await raw(cluster()).expect('DELETE', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/system:basic-user');
  await eventually('carol may not ask', async () => {
    const { code, stderr } = await cordon();
    return code === 1 && /the node is under maintenance by carol since/.test(stderr);
  });
  const { code } = await cli(carol, ['cordon', 'web', '--takeover']);
  assert.equal(code, 0);
  const { owner, ownerFrom } = annotationOf(await testEnv.node('a')) ?? {};
  assert.deepEqual([owner, ownerFrom], ['nodepool-demo', 'kubeconfig']);
  assert.equal((await cli(carol, ['uncordon', 'web'])).code, 0);
  assert.ok(
    (await readAudit(cluster())).some(({ resource, code }) => resource === 'selfsubjectreviews' && code === 403),
  );
});
