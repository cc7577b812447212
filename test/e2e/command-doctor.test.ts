/** Each check of `doctor` on a real server that has the problem. */
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { kubeconfigFor } from '../cluster/credentials.ts';
import { cliHere } from '../cluster/harness.ts';
import { before, MINOR } from '../cluster/minor.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from './commands.ts';
import { doctorOf, POOLS } from './doctoring.ts';
import { DEPLOYMENT } from './in-cluster.ts';
import { role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

describe('reports an outdated CRD and its pools, and accepts the current CRD', () => {
  const testEnv = useTestEnv();
  const { cluster } = testEnv;
  const doctor = doctorOf(cluster);
  const { ok } = commandsOf(cluster);
  const api = () => raw(cluster());

  /** Reports the handlers of its runtime, as a kubelet does. */
  const offer = (node: string, ...handlers: string[]) =>
    api().expect('PATCH', `/api/v1/nodes/${node}/status`, {
      status: { runtimeHandlers: handlers.map(name => ({ name })) },
    });

  test('reports no problem in a healthy cluster', async () => {
    await testEnv.nodes({ name: 'a', labels: role('gpu') });
    await testEnv.pool('gpu', { labels: { tier: 'gold' }, handler: 'nvidia' });
    await offer('a', '', 'runc', 'nvidia');
    await testEnv.reconcile();
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped']);
    assert.equal(find('pools').message, 'the pool has no problem');
    const untold = MINOR < 31 ? '; 1 member does not report runtime handlers' : '';
    assert.equal(
      find('handlers').message,
      `all members that report runtime handlers offer the handler of their pool${untold}`,
    );
    const text = await ok(['doctor']);
    assert.equal(text, '23 checks: 22 passed, 1 skipped; --all shows them\n');
    assert.equal(await ok(['doctor', '-q']), '');
    const all = await ok(['doctor', '--all']);
    assert.match(all, /^ok {7}kubeconfig {14}\//);
    assert.match(all, /\n\n23 checks: 22 passed, 1 skipped\n$/);
  });

  test('reports overlapping pools, pools with a problem and pools never reconciled', async () => {
    await testEnv.nodes({ name: 'a', labels: { ...role('one'), ...role('two') } });
    await testEnv.pool('one', { labels: { tier: 'gold' } });
    await testEnv.pool('two', {}, { younger: true });
    const fresh = await doctor();
    assert.deepEqual(fresh.troubles, ['controller-permissions skipped', 'overlaps error', 'pools error']);
    const never = ['one: never reconciled', 'two: never reconciled'];
    assert.deepEqual(fresh.find('pools').details, ['two: Conflict', ...never]);
    await testEnv.reconcile();
    const { find } = await doctor();
    assert.deepEqual(find('overlaps').details, ['two also matches 1 node of one: a']);
    assert.equal(find('pools').status, 'error');
    assert.deepEqual(find('pools').details, ['two: Conflict: node a belongs to pool one but also matches pool two']);
  });

  test('reports nodes that others changed, until they are reconciled', async () => {
    await testEnv.nodes({ name: 'a', labels: role('gpu') }, { name: 'b', labels: role('gpu') });
    await testEnv.pool('gpu', { labels: { tier: 'gold' } });
    await testEnv.reconcile();
    await testEnv.patchNode('b', { metadata: { labels: { tier: 'mine' } } });
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'due warning']);
    assert.deepEqual(find('due').details, ['gpu: 1 node: b']);
    await ok(['reconcile']);
    assert.equal((await doctor()).find('due').status, 'ok');
  });

  test('reports drifted annotations and overlaps of a pool with expressions', async () => {
    await testEnv.nodes({ name: 'a', labels: { size: '8', ...role('web') } }, { name: 'b', labels: { size: '2' } });
    const matchExpressions = [{ key: 'size', operator: 'Gt' as const, values: ['4'] }];
    await testEnv.pool('big', { matchExpressions, annotations: { 'example.com/owner': 'team a, b' } });
    await testEnv.reconcile();
    assert.deepEqual((await doctor()).troubles, ['controller-permissions skipped']);
    await testEnv.patchNode('a', { metadata: { annotations: { 'example.com/owner': 'me' } } });
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'due warning']);
    assert.deepEqual(find('due').details, ['big: 1 node: a']);
    await testEnv.pool('web', {}, { younger: true });
    assert.deepEqual((await doctor()).find('overlaps').details, ['web also matches 1 node of big: a']);
    await testEnv.reconcile();
    assert.equal((await doctor()).find('due').status, 'ok');
  });

  test('reports records of deleted pools', async () => {
    await testEnv.nodes({ name: 'a', labels: role('one') });
    await testEnv.pool('one', { labels: { tier: 'gold' } });
    await testEnv.reconcile();
    await testEnv.edit('one', { metadata: { finalizers: [] } });
    await api().expect('DELETE', `${POOLS}/one`);
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'orphans warning']);
    assert.deepEqual(find('orphans').details, ['labels and taints of the deleted pool one are still on 1 node: a']);
    await ok(['reconcile']);
    assert.deepEqual((await doctor()).troubles, ['controller-permissions skipped']);
  });

  test('reports RuntimeClasses that differ from their pools', async () => {
    await testEnv.nodes({ name: 'a', labels: role('gpu') });
    await testEnv.pool('gpu', { handler: 'nvidia' });
    await testEnv.reconcile();
    const gpu = '/apis/node.k8s.io/v1/runtimeclasses/node-pool-gpu';
    await api().expect('DELETE', gpu);
    const missing = await doctor();
    assert.deepEqual(missing.troubles, ['controller-permissions skipped', 'runtime-classes warning']);
    assert.deepEqual(missing.find('runtime-classes').details, ['gpu: RuntimeClass node-pool-gpu is missing']);
    await ok(['reconcile']);
    assert.deepEqual((await doctor()).troubles, ['controller-permissions skipped']);
    await api().expect('PATCH', gpu, { metadata: { ownerReferences: null } });
    const foreign = await doctor();
    assert.deepEqual(foreign.troubles, ['controller-permissions skipped', 'runtime-classes error']);
  });

  const noHandlers = before(31, 'the server drops the runtime handlers of nodes');
  test('reports a handler that members do not support', { skip: noHandlers }, async () => {
    await testEnv.nodes(
      { name: 'a', labels: role('gpu') },
      { name: 'b', labels: role('gpu') },
      { name: 'c', labels: role('gpu') },
    );
    await offer('a', '', 'runc');
    await offer('b', '', 'nvidia');
    await testEnv.pool('gpu', { handler: 'nvidia' });
    await testEnv.reconcile();
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'handlers error']);
    assert.deepEqual(find('handlers').details, ['gpu: 1 member of 3 without nvidia: a']);
  });

  test('reports what users with few or no permissions may not do', async () => {
    await testEnv.nodes({ name: 'a', labels: role('gpu') });
    await testEnv.pool('gpu');
    await testEnv.reconcile();
    const rbac = '/apis/rbac.authorization.k8s.io/v1';
    const rules = [{ apiGroups: ['', 'nodes.lailin.xyz', 'node.k8s.io'], resources: ['*'], verbs: ['get', 'list'] }];
    await api().expect('POST', `${rbac}/clusterroles`, { metadata: { name: 'rita' }, rules });
    await api().expect('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: 'rita' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'rita' },
      subjects: [{ kind: 'User', name: 'rita', apiGroup: 'rbac.authorization.k8s.io' }],
    });
    const rita = await kubeconfigFor(cluster(), 'rita');
    await eventually(
      'the role counts',
      async () => (await cliHere(cluster(), ['get', '--kubeconfig', rita])).code === 0,
    );
    const { find, troubles } = await doctor('--kubeconfig', rita);
    const notAllowed = ['permissions', 'controller-permissions', 'policies', 'controller'];
    assert.deepEqual(
      troubles,
      notAllowed.map(id => `${id} warning`),
    );
    const { details } = find('permissions');
    const patches = details.find(detail => detail.startsWith('patch nodepools.nodes.lailin.xyz: needed by '));
    assert.match(patches ?? '', / edit,/, details.join('\n'));
    assert.ok(!details.some(detail => / get(,|$)/.test(detail)), details.join('\n'));
    const { stdout: text } = await cliHere(cluster(), ['doctor', '--kubeconfig', rita]);
    const [, list = ''] = /(?:^|\n)warning +permissions .*\n([\s\S]*?)\n +next: ask for a role/.exec(text) ?? [];
    const lines = list.split('\n');
    assert.ok(lines.length > 10 && lines.length < details.length / 1.5, text);
    assert.deepEqual(
      lines.filter(line => line.length > 130),
      [],
    );
    assert.match(find('controller').message, /^not checked: user "rita" may not get \w+ ".*"$/);
    assert.match(find('crd').message, /^the NodePool resource is served; the CRD was not compared/);

    const bob = await kubeconfigFor(cluster(), 'bob');
    const nobody = await doctor('--kubeconfig', bob);
    assert.equal(nobody.find('permissions').status, 'error');
    assert.equal(nobody.find('crd').status, 'error');
    assert.equal(nobody.find('overlaps').status, 'skipped');
  });

  test('reports leftover ClusterRoles of an earlier version if they are ours', async () => {
    const roles = '/apis/rbac.authorization.k8s.io/v1/clusterroles';
    const labels = { 'app.kubernetes.io/name': 'nodepool-controller' };
    await api().expect('POST', roles, { metadata: { name: 'nodepool-edit', labels } });
    await api().expect('POST', roles, { metadata: { name: 'nodepool-view' } });
    const { status, message, remedy } = (await doctor()).find('names');
    assert.deepEqual([status, message], ['warning', 'left over from an earlier version: ClusterRole nodepool-edit']);
    assert.match(
      remedy ?? '',
      /nodepool\.lailin\.xyz:edit instead, then run: kubectl delete clusterrole nodepool-edit$/,
    );
    for (const name of ['nodepool-edit', 'nodepool-view']) await api().expect('DELETE', `${roles}/${name}`);
    assert.equal((await doctor()).find('names').message, 'no other API group serves nodepools');
  });

  test('reports a running controller and a dead one', async t => {
    t.after(() => api().request('DELETE', `${LEASES}/kubectl-nodepool`));
    const watching = await startWatching(t, cluster(), '--leader-elect');
    await eventually(
      'it is leader',
      async () => (await api().request('GET', `${LEASES}/kubectl-nodepool`)).status === 200,
    );
    const alive = await doctor();
    assert.deepEqual(alive.troubles, ['controller-permissions skipped']);
    assert.match(
      alive.find('controller').details[0] ?? '',
      /^lease kube-system\/kubectl-nodepool: held by .*, renewed (just now|\d seconds? ago)$/,
    );
    await watching.end();
    const given = await doctor();
    assert.equal(given.find('controller').status, 'ok');
    assert.match(given.find('controller').message, /^no controller is running/);
    const long = new Date(Date.now() - 60_000).toISOString().replace('Z', '000Z');
    await api().expect('PATCH', `${LEASES}/kubectl-nodepool`, {
      spec: { holderIdentity: 'dead', renewTime: long, leaseDurationSeconds: 15 },
    });
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller-permissions skipped', 'controller warning']);
    assert.match(find('controller').details[0] ?? '', /held by dead, renewed \d+ seconds ago; it lasts 15$/);
  });

  test('reports the controller in the cluster and permissions that its manifest lacks', async () => {
    await ok(['install', '--controller', '--image', 'registry.example.com/kubectl-nodepool:0.1.0']);
    const { find, troubles } = await doctor();
    assert.deepEqual(troubles, ['controller error']);
    assert.match(find('controller').message, /the controller is installed but not running/);
    await api().expect('PATCH', DEPLOYMENT, { spec: { replicas: 0 } });
    assert.match((await doctor()).find('controller').message, /not running: its Deployment has 0 replicas$/);
    const account = 'system:serviceaccount:nodepool-system:nodepool-controller';
    assert.equal(find('controller-permissions').message, `${account} has all permissions that the controller needs`);
    const binding = '/apis/rbac.authorization.k8s.io/v1/namespaces/nodepool-system/rolebindings/nodepool-controller';
    await api().expect('DELETE', binding);
    await eventually('it counts', async () => (await doctor()).troubles.includes('controller-permissions error'));
    assert.deepEqual((await doctor()).find('controller-permissions').details, [
      'create leases.coordination.k8s.io in nodepool-system',
      'get leases.coordination.k8s.io "kubectl-nodepool" in nodepool-system',
      'patch leases.coordination.k8s.io "kubectl-nodepool" in nodepool-system',
    ]);

    const policy = 'protect-membership.nodes.lailin.xyz';
    const bindings = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings';
    await testEnv.pool('risky', { nodeSelector: { a: 'b' }, taints: [{ key: 'a', effect: 'NoSchedule' }] });
    await testEnv.reconcile();
    const { find: before } = await doctor();
    assert.deepEqual([before('policies').status, before('membership').status], ['ok', 'ok']);
    assert.match(before('membership').details[0] ?? '', /^risky selects by a; kubelets can change this label /);
    await api().expect('PATCH', `${bindings}/${policy}`, { spec: { validationActions: ['Audit'] } });
    const { find: after } = await doctor();
    assert.deepEqual([after('policies').status, after('membership').status], ['warning', 'warning']);
    assert.deepEqual(after('policies').details, [`${policy}: missing, or different from this version`]);
    await ok(['uninstall', '--controller', '--yes']);
    const { find: none } = await doctor();
    assert.deepEqual([none('policies').status, none('membership').status], ['ok', 'warning']);
  });
});
