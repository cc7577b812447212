/** The history of a pool, as reconciles keep it on a real API server: docs/decisions/0045. */

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CONTROLLER_REVISIONS, pathOf } from '../../src/kube/api/resource.ts';
import type { ControllerRevision } from '../../src/nodepool/rollout/revisions.ts';
import type { NodePoolSpec } from '../../src/nodepool/types.ts';
import { readAudit } from '../cluster/audit.ts';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { wrapped } from '../override.ts';
import { allow } from './commands.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const testEnv = useTestEnv({ audit: true });
const api = () => raw(testEnv.cluster());
const REVISIONS = pathOf(CONTROLLER_REVISIONS);
const spec = (tier: string, more: NodePoolSpec = {}): NodePoolSpec => ({ labels: { tier }, rollout: {}, ...more });
const tier = (value: string) => testEnv.edit('web', { spec: { labels: { tier: value } } });
const dataOf = ({ data }: ControllerRevision) => (data as { spec: NodePoolSpec }).spec;
/** `number:tier` of each. */
const kept = async () => (await testEnv.revisions()).map(each => `${each.revision}:${dataOf(each).labels?.tier}`);
const versions = async () => (await testEnv.revisions()).map(({ metadata }) => metadata.resourceVersion);
const requests = async (since: number) =>
  (await readAudit(testEnv.cluster()))
    .slice(since)
    .filter(({ resource, userAgent }) => resource === 'controllerrevisions' && userAgent.startsWith('kubectl-nodepool'))
    .map(({ verb }) => verb);

test('keeps a revision of each spec before writing it, and renumbers one that returns', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  const pool = await testEnv.pool('web', spec('1', { handler: 'runc', paused: false }));
  const calls: string[] = [];
  const { cluster } = await testEnv.connection();
  const seen = wrapped(cluster, (name, call) => (...args) => {
    if (!/\.(list|get|heads)/.test(name)) calls.push(name);
    return call(...args);
  });
  await testEnv.reconcileWith(seen);
  assert.deepEqual(calls.slice(0, 4), [
    'pools.setFinalizers',
    'revisions.create',
    'runtimeClasses.create',
    'nodes.patch',
  ]);
  const [first] = await testEnv.revisions();
  assert.ok(first);
  assert.deepEqual(first.data, { spec: { labels: { tier: '1' }, handler: 'runc' } });
  assert.deepEqual(first.metadata.ownerReferences, [
    {
      apiVersion: 'nodes.lailin.xyz/v1',
      kind: 'NodePool',
      name: 'web',
      uid: pool.metadata.uid,
      controller: true,
    },
  ]);

  await tier('2');
  await testEnv.reconcile();
  assert.deepEqual(await kept(), ['1:1', '2:2']);
  await tier('1');
  await testEnv.reconcile();
  assert.deepEqual(await kept(), ['2:2', '3:1']);
  assert.equal((await testEnv.revisions())[1]?.metadata.uid, first.metadata.uid);
  const before = await versions();
  await testEnv.edit('web', { spec: { rollout: { canary: 1 } } });
  await testEnv.reconcile();
  assert.deepEqual(await versions(), before, 'another strategy is no other spec');
});

test('keeps ten former specs, and deletes the oldest first', async () => {
  await testEnv.pool('web', spec('0'));
  for (let at = 1; at <= 13; at++) {
    await testEnv.reconcile();
    await tier(String(at));
  }
  await testEnv.reconcile();
  assert.deepEqual(
    await kept(),
    Array.from({ length: 11 }, (_, at) => `${at + 4}:${at + 3}`),
  );
});

test('a pool without spec.rollout has a history, and its first change can be undone', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await cliHere(testEnv.cluster(), ['create', 'web', '--label', 'tier=1', '--reconcile', '--yes']);
  assert.deepEqual(await kept(), ['1:1']);
  await cliHere(testEnv.cluster(), ['edit', 'web', '--label', 'tier=2']);
  await testEnv.reconcile();
  const history = await cliHere(testEnv.cluster(), ['rollout', 'history', 'web']);
  assert.equal(
    history.stdout,
    'nodepool.nodes.lailin.xyz/web\nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n',
  );
  const undone = await cliHere(testEnv.cluster(), ['rollout', 'undo', 'web', '--yes']);
  assert.equal(undone.code, 0, undone.stderr);
  await testEnv.reconcile();
  assert.equal((await testEnv.node('a')).metadata.labels.tier, '1');
  assert.deepEqual(await kept(), ['2:2', '3:1']);
});

test('needs one list per run, and one write per spec without a revision', async () => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  for (const name of ['web', 'two', 'three']) await testEnv.pool(name, { labels: { tier: '1' } });
  await testEnv.pool('paused', spec('1', { paused: true }));
  let since = (await readAudit(testEnv.cluster())).length;
  const asked = async () => {
    const found = (await requests(since)).toSorted();
    since = (await readAudit(testEnv.cluster())).length;
    return found;
  };
  await testEnv.reconcile();
  assert.deepEqual(await asked(), ['create', 'create', 'create']);
  await testEnv.reconcile();
  assert.deepEqual(await asked(), ['list']);
  await testEnv.patchNode('a', { metadata: { labels: { tier: 'drift' } } });
  await testEnv.reconcile();
  assert.deepEqual(await asked(), ['list']);
  // Like an earlier version, which kept no revisions.
  const [ofThree] = (await testEnv.revisions()).filter(({ metadata }) => metadata.name.startsWith('three'));
  await api().expect('DELETE', `${REVISIONS}/${ofThree?.metadata.name}`);
  await testEnv.reconcile();
  assert.deepEqual(await asked(), ['create', 'list']);
  for (const name of ['web', 'two']) await testEnv.edit(name, { spec: { labels: { tier: '2' } } });
  await testEnv.reconcile();
  assert.deepEqual(await asked(), ['create', 'create', 'list']);
  await testEnv.edit('paused', { spec: { paused: null } });
  await testEnv.reconcile();
  assert.deepEqual(await asked(), ['create', 'list']);
});

test('the watch lists all revisions at its start, and writes those of changed pools', async t => {
  await testEnv.nodes({ name: 'a', labels: role('web') });
  await testEnv.pool('web', { labels: { tier: '1' } });
  await testEnv.pool('other', { labels: { tier: '1' } });
  await testEnv.reconcile();
  // Like an earlier version, which kept no revisions.
  const [first] = (await testEnv.revisions()).filter(({ metadata }) => metadata.name.startsWith('other'));
  await api().expect('DELETE', `${REVISIONS}/${first?.metadata.name}`);
  const since = (await readAudit(testEnv.cluster())).length;
  const watching = await startWatching(t, testEnv.cluster(), '--resync=1s');
  const updated = (value: string) => async () => (await testEnv.node('a')).metadata.labels.tier === value;
  await eventually('the pool of an earlier version has one', async () => (await kept()).length === 2);
  for (const drift of ['x', 'y', 'z']) {
    await testEnv.patchNode('a', { metadata: { labels: { tier: drift } } });
    await eventually('drift is repaired', updated('1'));
  }
  assert.deepEqual(await requests(since), ['list', 'create']);
  await tier('2');
  await eventually('it is rolled out', updated('2'));
  assert.deepEqual(await requests(since), ['list', 'create', 'create']);
  await testEnv.edit('web', { metadata: { annotations: { 'kubernetes.io/change-cause': 'a better tier' } } });
  const ofWeb = async () => (await testEnv.revisions()).filter(({ metadata }) => metadata.name.startsWith('web'));
  const cause = async () => (await ofWeb())[1]?.metadata.annotations?.['kubernetes.io/change-cause'];
  await eventually('the cause is kept', async () => (await cause()) === 'a better tier');
  await tier('1');
  await eventually('it is rolled back', updated('1'));
  // A reconcile in flight may have written the node by the newer spec; the next one keeps it.
  await eventually('it is kept', async () => (await ofWeb()).map(({ revision }) => revision).join() === '2,3');
  await watching.end();
});

test('ignores foreign revisions with the name or label of the pool', async () => {
  const { metadata } = await testEnv.pool('web', spec('1'));
  await testEnv.reconcile();
  const [own] = await testEnv.revisions();
  assert.ok(own);
  await api().expect('DELETE', `${REVISIONS}/${own.metadata.name}`);
  const { name, labels } = own.metadata;
  // As the own one in all but the UID of its owner, as that of an earlier pool of the name.
  const [owner] = own.metadata.ownerReferences ?? [];
  const body = {
    metadata: { name, labels, ownerReferences: [{ ...owner, uid: '11111111-2222-3333-4444-555555555555' }] },
    data: own.data,
    revision: 9,
  };
  const theirs = (await api().expect('POST', REVISIONS, body)) as ControllerRevision;
  for (const value of ['2', '1']) {
    await tier(value);
    await testEnv.reconcile();
  }
  const all = await testEnv.revisions();
  const foreign = all.find(each => each.metadata.name === name);
  assert.equal(foreign?.metadata.resourceVersion, theirs.metadata.resourceVersion);
  const mine = all.filter(each => each !== foreign).map(each => each.metadata.ownerReferences?.[0]?.uid);
  assert.deepEqual(mine, [metadata.uid, metadata.uid]);
  const history = await cliHere(testEnv.cluster(), ['rollout', 'history', 'web']);
  assert.equal(
    history.stdout,
    'nodepool.nodes.lailin.xyz/web\nREVISION  CHANGE-CAUSE\n1         <none>\n2         <none>\n',
  );
});

test('two concurrent processes create no duplicate revision', async () => {
  await testEnv.pool('web', spec('0'));
  for (let at = 1; at <= 5; at++) {
    await Promise.all([testEnv.reconcile(), testEnv.reconcile(), testEnv.reconcile()]);
    assert.equal((await testEnv.revisions()).length, at);
    await tier(String(at));
  }
});

test('without permission for revisions, writes nodes, with one warning', async t => {
  await testEnv.nodes({ name: 'a', labels: role('web') }, { name: 'b', labels: role('other') });
  await testEnv.pool('web', spec('1'));
  await testEnv.pool('other', spec('1'));
  await allow(testEnv.cluster(), 'operator', [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['*'] },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools/status'], verbs: ['*'] },
    { apiGroups: ['node.k8s.io'], resources: ['runtimeclasses'], verbs: ['*'] },
    { apiGroups: ['events.k8s.io'], resources: ['events'], verbs: ['*'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['*'] },
  ]);
  const kubeconfig = await kubeconfigFor(testEnv.cluster(), 'operator');
  const refused =
    /^warning: \w+: `rollout undo` will not find new specs of pools: user "operator" may not (create|list) .*; next: ask for a role with verbs get, list, create, patch and delete on controllerrevisions\.apps in namespace default$/gm;
  const once = await cliHere({ ...testEnv.cluster(), kubeconfig }, ['reconcile']);
  assert.equal(once.code, 0, once.stderr);
  assert.match(once.stdout, /^web {4}Ready /m);
  assert.equal(once.stderr.trimEnd().match(refused)?.length, 1, once.stderr);
  assert.equal(once.stderr.trimEnd().split('\n').length, 1);
  assert.equal((await testEnv.node('a')).metadata.labels.tier, '1');

  const watching = await startWatching(t, { ...testEnv.cluster(), kubeconfig }, '--resync=1s');
  for (const value of ['2', '3']) {
    await tier(value);
    await eventually('it is rolled out', async () => (await testEnv.node('a')).metadata.labels.tier === value);
  }
  await watching.end();
  assert.equal(watching.log().match(/will not find new specs/g)?.length, 1, watching.log());
  assert.deepEqual(await kept(), []);
});
