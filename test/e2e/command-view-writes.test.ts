/** What `view` writes: cordon, uncordon and drain. Screens: UPDATE_SCREENS=1 npm test -- command-view */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { cli } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { createSmallCluster } from './small-cluster.ts';
import { assertScreen, openTerminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

test('cordon and uncordon ask with the node name, and update the count of the pool', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^>gpu /m);
  terminal.type('jj{enter}');
  await terminal.shows(/^>worker-1 /m);
  const before = await testEnv.node('worker-1');
  terminal.type('c');
  assertScreen('cordon', await terminal.shows(/^Cordon node worker-1\?/m));
  terminal.type('n');
  await terminal.shows(/Nothing was changed/);
  assert.deepEqual(await testEnv.node('worker-1'), before);
  terminal.type('c');
  await terminal.shows(/^Cordon node worker-1\?/m);
  terminal.type('y');
  await terminal.shows(/^node\/worker-1 cordoned$/m);
  await terminal.shows(/^>worker-1 +Ready,SchedulingDisabled/m);
  const cordoned = await testEnv.node('worker-1');
  assert.equal(cordoned.spec.unschedulable, true);
  const count = async () => (await testEnv.getPool('worker'))?.status?.unschedulableNodeCount;
  assert.equal(await count(), 1);
  terminal.type('c');
  await terminal.shows(/Node worker-1 is already cordoned/);
  terminal.type('u');
  await terminal.shows(/^Uncordon node worker-1\?/m);
  terminal.type('y');
  await terminal.shows(/^node\/worker-1 uncordoned$/m);
  assert.equal(await count(), 0);
  const after = await testEnv.node('worker-1');
  const still = ({ metadata: { resourceVersion: _, ...metadata }, ...rest }: typeof after) => {
    const { managedFields: _managed, ...meta } = metadata as typeof metadata & { managedFields?: unknown };
    return { ...rest, metadata: meta };
  };
  assert.deepEqual(still(after), still(before));
});

test('D drains the pool with the command on the restored terminal, and returns', async t => {
  await createSmallCluster(testEnv);
  const terminal = openTerminal(t, cluster(), ['view'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^>gpu /m);
  terminal.type('jjD');
  await terminal.shows(/^\$ kubectl nodepool drain worker$/m);
  assert.equal(terminal.isAlternate(), false);
  terminal.type('--ignore-daemonsets --nonsense{enter}');
  await terminal.shows(/^error: unknown flag --nonsense[\s\S]*Press enter to return/m);
  terminal.type('{enter}');
  await terminal.shows(/^>worker /m);
  await terminal.asks('D', /nodepool drain worker /);
  terminal.type('{enter}');
  await terminal.shows(/\[y\/N\]$/m);
  terminal.type('y{enter}');
  // The screen still has the earlier "Press enter"; what is typed before the question is lost.
  await terminal.shows(/ drained \(3 nodes[\s\S]*Press enter to return/m);
  terminal.type('{enter}');
  await terminal.shows(/^>worker .* 3 +12/m);
  assert.equal(terminal.isAlternate(), true);
  assert.equal((await testEnv.node('worker-1')).spec.unschedulable, true);
  for (const key of ['q{enter}', '{esc}', '{ctrl-c}', '{ctrl-d}']) {
    await terminal.asks('D', /nodepool drain worker /);
    terminal.type(key);
    await terminal.shows(/^>worker /m);
  }
  terminal.type('{enter}jD');
  await terminal.shows(
    /^This drains node worker-2 of pool worker on cluster nodepool-demo\.[\s\S]*drain worker --node worker-2$/m,
  );
  terminal.type('{esc}');
  await terminal.shows(/^>worker-2 /m);
  terminal.resize(60, 15);
  // The view has drawn for the new width; a key that arrives with the signal may be read before it.
  await terminal.shows(/^nodepool · .* live$/m);
  await terminal.asks('D', /nodepool drain worker --node worker-2 /);
  await terminal.shows(/^Add flags such as --ignore-daemonsets and press enter; esc\n +returns to the view\.$/m);
  terminal.type('{esc}');
  await terminal.shows(/^>worker-2 /m);
  await terminal.asks('D', /nodepool drain worker --node worker-2 /);
  terminal.type('{enter}');
  await terminal.shows(/\[y\/N\]$/m);
  terminal.type('{ctrl-d}');
  // No more keys come from this terminal.
  assert.equal((await terminal.exit).exitCode, 0);
});

test('shows the whole error when the permission to write is missing', async t => {
  await createSmallCluster(testEnv);
  const verbs = ['get', 'list', 'watch'];
  const rules = [
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs },
    { apiGroups: [''], resources: ['nodes'], verbs },
  ];
  const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'reader' };
  const subjects = [{ kind: 'User', name: 'reader', apiGroup: 'rbac.authorization.k8s.io' }];
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const metadata = { name: 'reader' };
  await raw(cluster()).expect('POST', `${rbac}/clusterroles`, { metadata, rules });
  await raw(cluster()).expect('POST', `${rbac}/clusterrolebindings`, { metadata, roleRef, subjects });
  const mayRead = async () => (await cli(cluster(), ['get', '--as', 'reader'])).code === 0;
  await eventually('it may read', mayRead);
  const terminal = openTerminal(t, cluster(), ['view', '--as', 'reader'], { env: { NO_COLOR: '1' } });
  await terminal.shows(/^>gpu /m);
  terminal.type('{enter}c');
  await terminal.shows(/^Cordon node gpu-1\?/m);
  terminal.type('y');
  const said = await terminal.shows(/^error: /m);
  assert.match(
    said.replaceAll('\n', ' '),
    /error: unable to cordon node "gpu-1": user "reader" may not patch Node "gpu-1"; next: ask for a role with verb patch on nodes$/,
  );
  const more = [...rules, { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] }];
  await raw(cluster()).expect('PATCH', `${rbac}/clusterroles/reader`, { rules: more });
  const args = ['cordon', 'gpu', '--node=gpu-1', '--dry-run=server', '--as', 'reader'];
  await eventually('it may cordon', async () => (await cli(cluster(), args)).code === 0);
  terminal.type('c');
  await terminal.shows(/^Cordon node gpu-1\?/m);
  terminal.type('y');
  await terminal.shows(
    /^node\/gpu-1 cordoned; the cordoned nodes in the status are from the last\s+reconcile: user "reader" may not patch the status/m,
  );
  terminal.type('e');
  await terminal.shows(/^events: .*forbidden/m);
});
