/**
 * The controller as the manifest runs it: its flags, its service account's token, its permissions. The API server has
 * no WatchList, so that the controller lists, and checks the permission for blocking owner references.
 */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { readAudit } from '../cluster/audit.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import {
  CLUSTER_ROLE,
  IMAGE,
  isRefused,
  NAME,
  NAMESPACE,
  permission,
  permissionsOf,
  readManifests,
  startController,
} from './in-cluster.ts';
import { condition, role, taintsOf, useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const USER = `system:serviceaccount:${NAMESPACE}:${NAME}`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/kubectl-nodepool`;
/** Checked by an admission plugin, so no request shows it. */
const NO_REQUEST = 'update nodes.lailin.xyz/nodepools/finalizers';
/** Attempts to provoke a conflict at most. */
const ROUNDS = 50;
const TAINT = { key: 'dedicated', value: 'one', effect: 'NoSchedule' } as const;

const testEnv = useTestEnv({
  audit: true,
  apiserverFlags: [
    '--feature-gates=WatchList=false',
    '--enable-admission-plugins=OwnerReferencesPermissionEnforcement',
  ],
});
/** 15 s until the lease expires, 2 s until the next try, and what a loaded machine adds. */
const TAKEOVER_MS = 30_000;
const { ok } = commandsOf(testEnv.cluster);
const INSTALL = ['install', '--controller', '--image', IMAGE];
const api = () => raw(testEnv.cluster());

/** The requests of the controller so far. */
const asked = async () => (await readAudit(testEnv.cluster())).filter(({ user }) => user === USER);

test('replaces a leader that is killed midway, and writes nothing twice', {
  timeout: 120_000,
}, async t => {
  await ok(INSTALL);
  const names = Array.from({ length: 200 }, (_, at) => `n${at}`);
  await testEnv.nodes(...names.map(name => ({ name, labels: role('one') })));
  const labelled = async () => {
    const { items } = (await api().expect('GET', '/api/v1/nodes?labelSelector=tier%3Dgold')) as { items: object[] };
    return items.length;
  };
  const holder = async () => {
    const { body } = await api().request('GET', LEASE);
    return (body as { spec?: { holderIdentity: string } }).spec?.holderIdentity;
  };
  const before = (await asked()).length;
  const first = await startController(t, testEnv.cluster(), '--concurrency=1');
  await eventually('the first is leader', async () => (await holder()) !== undefined);
  const leader = await holder();
  const second = await startController(t, testEnv.cluster());
  await testEnv.pool('one', { labels: { tier: 'gold' }, taints: [TAINT], handler: 'runc' });
  await eventually('the first is half-way', async () => (await labelled()) >= 20);
  await first.end('SIGKILL');
  const killed = performance.now();
  const done = await labelled();
  assert.ok(done < names.length, 'it was killed too late to show anything');
  await eventually('the second is leader', async () => (await holder()) !== leader, TAKEOVER_MS);
  const seconds = (performance.now() - killed) / 1000;
  await eventually('the second goes on', async () => (await labelled()) === names.length);
  t.diagnostic(`killed after ${done} of ${names.length} nodes; the other became leader ${seconds.toFixed(1)} s later`);

  await eventually('the status', async () => (await testEnv.getPool('one'))?.status?.nodeCount === names.length);
  await testEnv.patchNode('n0', { metadata: { labels: { tier: 'drift' } } });
  await eventually('drift is repaired', async () => (await labelled()) === names.length);
  assert.equal(await second.end('SIGTERM'), 0);

  const kept = (await asked()).slice(before).filter(({ code }) => code < 300);
  const writes = (verb: string, resource: string) =>
    Map.groupBy(
      kept.filter(event => event.verb === verb && event.resource === resource),
      ({ name }) => name,
    );
  const counts = (verb: string, resource: string) =>
    Object.fromEntries([...writes(verb, resource)].map(([name, events]) => [name, events.length]));
  const patched = counts('patch', 'nodes');
  // The last write before the kill may be missing in the audit log, as it had no response.
  const unanswered = names.filter(name => patched[name] === undefined);
  assert.ok(unanswered.length <= 1, `${unanswered}`);
  const once = names.filter(name => !unanswered.includes(name)).map(name => [name, name === 'n0' ? 2 : 1]);
  assert.deepEqual(patched, Object.fromEntries(once));
  assert.deepEqual(counts('create', 'runtimeclasses'), { 'node-pool-one': 1 });
  assert.deepEqual(counts('patch', 'runtimeclasses'), {});
  assert.deepEqual(counts('delete', 'runtimeclasses'), {});
  assert.deepEqual(counts('patch', 'nodepools'), { one: 1 });
  assert.deepEqual(counts('patch', 'nodepools/status'), { one: 1 });
});

test('needs exactly the permissions that it has', { timeout: 120_000 }, async t => {
  await ok(INSTALL);
  await api().request('DELETE', LEASE);
  const rounds = Array.from({ length: ROUNDS }, (_, round) => ({ name: `n${round}`, labels: role('one') }));
  await testEnv.nodes({ name: 'a', labels: role('one') }, ...rounds);
  await testEnv.pool('one', { labels: { tier: 'gold' }, taints: [TAINT], handler: 'runc' });
  await testEnv.pool('empty');
  const controller = await startController(t, testEnv.cluster());
  const used = async (what: string) => new Set((await asked()).map(permission)).has(what);
  await eventually('it is applied', async () => (await testEnv.node('a')).metadata.labels.tier === 'gold');
  // First, while the event budget of the objects lasts. A repeated event is counted.
  await untilUsed('patch events.k8s.io/events in default', async round => {
    await testEnv.patchNode('a', { metadata: { labels: { tier: 'same' } } });
    await eventually(`drift ${round}`, async () => (await testEnv.node('a')).metadata.labels.tier === 'gold');
    await sleep(500);
  });
  await untilUsed('get /nodes', async round => {
    // Another node each time, as one node is written at most 10 times a minute.
    await testEnv.patchNode(`n${round}`, { metadata: { labels: { tier: 'drift' } } });
    // Somebody else writes the same node meanwhile, so the guarded patch gets a conflict.
    for (let at = 0; at < 10; at++)
      await testEnv.patchNode(`n${round}`, { metadata: { annotations: { other: `${at}` } } });
  });
  await untilUsed('get node.k8s.io/runtimeclasses', async round => {
    await testEnv.edit('one', { spec: { taints: [{ ...TAINT, value: `v${round}` }] } });
    const path = '/apis/node.k8s.io/v1/runtimeclasses/node-pool-one';
    for (let at = 0; at < 10; at++)
      await api().request('PATCH', path, { metadata: { annotations: { other: `${at}` } } });
  });
  await untilUsed('get nodes.lailin.xyz/nodepools', async round => {
    await testEnv.edit('empty', { spec: { labels: { round: `${round}` } } });
    for (let at = 0; at < 10; at++) await testEnv.edit('empty', { metadata: { annotations: { other: `${at}` } } });
  });
  await untilUsed('delete apps/controllerrevisions in default', async round => {
    if (round === 0) await testEnv.pool('kept', { rollout: {} });
    await testEnv.edit('kept', { spec: { labels: { round: `${round}` } } });
    const isKept = async () =>
      (await testEnv.revisions()).some(({ data }) => JSON.stringify(data).includes(`"${round}"`));
    await eventually(`revision ${round}`, isKept);
  });
  await untilUsed('patch apps/controllerrevisions in default', async () => {
    await testEnv.edit('kept', { spec: { labels: { round: '5' } } });
  });
  await untilUsed('get apps/controllerrevisions in default', async round => {
    // Nothing collects garbage here: the names of the earlier pool's revisions are taken.
    await testEnv.pool('again', { rollout: {} });
    await eventually(`revision ${round}`, async () =>
      (await testEnv.revisions()).some(({ metadata }) => metadata.name.startsWith('again')),
    );
    await api().expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/again');
    await eventually('the pool goes', async () => (await testEnv.getPool('again')) === undefined);
  });
  await testEnv.edit('one', { spec: { handler: null } });
  await eventually('the RuntimeClass goes', async () => (await testEnv.runtimeClass('one')) === undefined);
  await api().expect('DELETE', '/apis/nodes.lailin.xyz/v1/nodepools/one');
  await eventually('the pool goes', async () => (await testEnv.getPool('one')) === undefined);

  // Without the permission that no request shows the owner reference is refused.
  const granted = (await api().expect('GET', CLUSTER_ROLE)) as { rules: { resources: string[] }[] };
  const fewer = granted.rules.filter(({ resources }) => !resources.includes('nodepools/finalizers'));
  assert.equal(granted.rules.length - fewer.length, 1);
  const before = await asked();
  assert.deepEqual(before.filter(isRefused), []);
  await api().expect('PATCH', CLUSTER_ROLE, { rules: fewer });
  await testEnv.pool('two', { handler: 'runc' });
  await eventually('it is refused', async () => (await testEnv.getPool('two'))?.status?.status === 500);
  assert.match(condition(await testEnv.getPool('two'), 'Applied').message, /RuntimeClass "node-pool-two"/);
  await api().expect('PATCH', CLUSTER_ROLE, { rules: granted.rules });
  await eventually('it recovers', async () => (await testEnv.getPool('two'))?.status?.status === 200, 60_000);
  assert.equal(await controller.end('SIGTERM'), 0);
  const refusedThen = (await asked()).slice(before.length).filter(isRefused);
  assert.deepEqual([...new Set(refusedThen.map(permission))], ['create node.k8s.io/runtimeclasses']);

  const requests = new Set((await asked()).map(permission));
  // The other roles are for people.
  const own = (await readManifests()).objects.filter(({ metadata }) => metadata.name === NAME);
  const permissions = own.flatMap(permissionsOf);
  assert.deepEqual([...requests, NO_REQUEST].toSorted(), permissions.toSorted());

  async function untilUsed(what: string, provoke: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; !(await used(what)); round++) {
      assert.ok(round < ROUNDS, `never asked for: ${what}`);
      await provoke(round);
    }
  }
});

test('with --pod-counts, has and uses the permission to read pods', async t => {
  await api().request('DELETE', LEASE);
  await ok([...INSTALL, '--pod-counts']);
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one');
  const before = (await asked()).length;
  const controller = await startController(t, testEnv.cluster());
  const pod = { metadata: { name: 'p' }, spec: { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] } };
  await api().expect('POST', '/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', ...pod });
  await eventually('it is counted', async () => (await testEnv.getPool('one'))?.status?.podCount === 1, 30_000);
  assert.equal(await controller.end('SIGTERM'), 0);
  const requests = (await asked()).slice(before);
  assert.deepEqual(requests.filter(isRefused), []);
  const pods = requests.filter(({ resource }) => resource === 'pods').map(({ verb }) => verb);
  assert.deepEqual([...new Set(pods)].toSorted(), ['list', 'watch']);
});

test('with --evictions alone, has and uses the permission to list and evict pods', async t => {
  await api().request('DELETE', LEASE);
  await api().expect('DELETE', '/api/v1/namespaces/default/pods?gracePeriodSeconds=0');
  await ok([...INSTALL, '--evictions']);
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one', { noExecute: 'Drain', taints: [{ key: 'k', effect: 'NoExecute' }] });
  const pod = {
    metadata: { name: 'goes' },
    spec: { nodeName: 'a', terminationGracePeriodSeconds: 0, containers: [{ name: 'c', image: 'i' }] },
  };
  await api().expect('POST', '/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', ...pod });
  const before = (await asked()).length;
  const controller = await startController(t, testEnv.cluster());
  await eventually('it has the taint', async () => taintsOf(await testEnv.node('a')).join() === 'k:NoExecute', 30_000);
  assert.equal(await controller.end('SIGTERM'), 0);
  const requests = (await asked()).slice(before);
  assert.deepEqual(requests.filter(isRefused), []);
  const pods = requests
    .filter(({ resource }) => resource.startsWith('pods'))
    .map(({ verb, resource }) => `${verb} ${resource}`);
  assert.deepEqual([...new Set(pods)].toSorted(), ['create pods/eviction', 'list pods']);
});
