/** `install --controller` if existing bindings to its roles would give others the controller's permissions. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { clientCertificate } from '../cluster/certificates.ts';
import { cliHere } from '../cluster/harness.ts';
import { type RawClient, raw, rawClient } from '../cluster/raw.ts';
import { allow, commandsOf, inTerminal, NO_TERMINAL } from './commands.ts';
import { CLUSTER_ROLE, NAME, NAMESPACE } from './in-cluster.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const GROUP = 'rbac.authorization.k8s.io';
const RBAC = `/apis/${GROUP}/v1`;
const EDIT = 'nodepool.lailin.xyz:edit';
const OURS = { 'app.kubernetes.io/name': NAME };
const INSTALL = ['install', '--controller', '--image', 'registry.example.com/c:1'];
const MALLORY = { kind: 'User', name: 'mallory', apiGroup: GROUP };

const testEnv = useTestEnv();
const { ok, refused } = commandsOf(testEnv.cluster);
const admin = () => raw(testEnv.cluster());

const clientOf = (user: string): RawClient => {
  const { server, ca, authority } = testEnv.cluster();
  return rawClient(server, ca, clientCertificate(authority, user, []));
};
/** @param where `clusterroles`, or `namespaces/N/roles` */
const makeRole = (client: RawClient, where: string, name: string, labels: object) =>
  client.request('POST', `${RBAC}/${where}`, { metadata: { name, labels: { ...OURS, ...labels } }, rules: [] });
/** @param where `clusterrolebindings`, or `namespaces/N/rolebindings` */
const bind = (client: RawClient, where: string, kind: string, name: string) =>
  client.request('POST', `${RBAC}/${where}`, {
    metadata: { name: 'mallorys' },
    roleRef: { apiGroup: GROUP, kind, name },
    subjects: [MALLORY],
  });
const statusOf = async (path: string) => (await admin().request('GET', path)).status;
const may = async (user: string, verb: string, resource: string, group = '') => {
  const spec = { user, resourceAttributes: { verb, group, resource } };
  const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
  return ((await admin().expect('POST', path, { spec })) as { status: { allowed: boolean } }).status.allowed;
};

test('does not add rules to a role that others are bound to or that is aggregated', { timeout: 120_000 }, async () => {
  const rules = ['clusterroles', 'roles', 'clusterrolebindings', 'rolebindings'].map(resource => ({
    apiGroups: [GROUP] as [string],
    resources: [resource] as [string],
    verbs: ['create', 'list', 'patch'],
  }));
  await allow(testEnv.cluster(), 'mallory', rules);
  const mallory = clientOf('mallory');
  const dangling = await bind(mallory, 'clusterrolebindings', 'ClusterRole', NAME);
  assert.equal(dangling.status, 404, 'a role that does not exist can be bound only with the verb bind');

  const where = `${RBAC}/clusterrolebindings/mallorys`;
  const bound = new RegExp(
    `^error: others would get the controller's permissions: ClusterRoleBinding mallorys binds ClusterRole ${NAME} to User mallory; nothing was changed; next: kubectl delete clusterrolebinding mallorys, then run the command again$`,
  );
  // Left of an earlier installation, or made by who may bind.
  await bind(admin(), 'clusterrolebindings', 'ClusterRole', NAME);
  await refused(INSTALL, 1, bound);
  await admin().expect('DELETE', where);

  assert.equal((await makeRole(mallory, 'clusterroles', NAME, {})).status, 201);
  assert.equal((await bind(mallory, 'clusterrolebindings', 'ClusterRole', NAME)).status, 201);
  for (const more of [[], ['--yes'], ['--dry-run'], ['--dry-run=server']])
    await refused([...INSTALL, ...more], 1, bound);
  assert.equal(await statusOf(`/api/v1/namespaces/${NAMESPACE}`), 404);
  assert.equal(await may('mallory', 'patch', 'nodes'), false);
  await admin().expect('DELETE', where);

  await bind(mallory, 'namespaces/kube-system/rolebindings', 'ClusterRole', NAME);
  await refused(
    INSTALL,
    1,
    /RoleBinding mallorys in namespace kube-system binds .* next: kubectl delete rolebinding -n kube-system mallorys/,
  );
  await admin().expect('DELETE', `${RBAC}/namespaces/kube-system/rolebindings/mallorys`);

  const inDefault = `${RBAC}/namespaces/default`;
  assert.equal((await makeRole(mallory, 'namespaces/default/roles', NAME, {})).status, 201);
  await bind(mallory, 'namespaces/default/rolebindings', 'Role', NAME);
  await refused(
    INSTALL,
    1,
    /RoleBinding mallorys in namespace default binds Role nodepool-controller in namespace default to User mallory; /,
  );
  await admin().expect('DELETE', `${inDefault}/rolebindings/mallorys`);

  // All who are bound to these would get the rules.
  const aggregated = { 'serving.knative.dev/controller': 'true' };
  await admin().expect('POST', `${RBAC}/clusterroles`, {
    metadata: { name: 'knative-serving-admin' },
    aggregationRule: { clusterRoleSelectors: [{ matchLabels: aggregated }] },
    rules: [],
  });
  for (const [name, labels] of [
    ['view', { [`${GROUP}/aggregate-to-view`]: 'true' }],
    ['knative-serving-admin', aggregated],
  ] as const) {
    await admin().expect('DELETE', CLUSTER_ROLE);
    assert.equal((await makeRole(mallory, 'clusterroles', NAME, labels)).status, 201);
    await refused(
      INSTALL,
      1,
      new RegExp(
        `: ClusterRole ${name} aggregates ClusterRole nodepool-controller by labels that others set; nothing was changed; next: kubectl delete clusterrole nodepool-controller, then`,
      ),
    );
  }
  await admin().expect('DELETE', CLUSTER_ROLE);
});

test('asks if people would gain rights, and not if they already have them', {
  skip: NO_TERMINAL,
  timeout: 120_000,
}, async () => {
  const risk = `others would get permissions on pools: ClusterRoleBinding mallorys binds ClusterRole ${EDIT} to User mallory`;
  const path = `/api/v1/namespaces/${NAMESPACE}`;
  await bind(admin(), 'clusterrolebindings', 'ClusterRole', EDIT);
  await refused(INSTALL, 1, `error: ${risk}; nothing was changed; next: to continue, run the command again with --yes`);
  const declined = await inTerminal(testEnv.cluster(), INSTALL, 'n\n', 400);
  assert.equal(declined.code, 1);
  assert.ok(declined.shown.includes(`${risk}? [y/N]`), declined.shown);
  assert.match(declined.shown, /nothing was changed\n/);
  assert.equal(await statusOf(path), 404);

  // Its maker may have left in it what uses the ServiceAccount.
  await admin().expect('POST', '/api/v1/namespaces', { metadata: { name: NAMESPACE, labels: OURS } });
  const earlier = `namespace ${NAMESPACE} already exists: users who can run pods or create tokens in this namespace get the controller's permissions`;
  await refused(INSTALL, 1, new RegExp(`^error: ${risk}; ${earlier}; nothing was changed; next: `));
  const dry = await cliHere(testEnv.cluster(), [...INSTALL, '--dry-run']);
  assert.deepEqual([dry.code, dry.stderr], [0, `warning: ${risk}\nwarning: ${earlier}\n`]);

  // Who may not list bindings learns that they were not looked at.
  const blind = ['get', 'create', 'patch', 'escalate', 'bind'];
  await allow(testEnv.cluster(), 'blind', [
    { apiGroups: ['*'], resources: ['*'], verbs: blind },
    { apiGroups: ['nodes.lailin.xyz'], resources: ['nodepools'], verbs: ['list'] },
  ]);
  const unread = await cliHere(testEnv.cluster(), [...INSTALL, '--dry-run', '--as', 'blind']);
  assert.equal(unread.code, 0, unread.stderr);
  assert.match(
    unread.stderr,
    /^warning: not checked: who else gets the controller's permissions: .*user "blind" may not list clusterrolebindings.* may not list rolebindings.*; next: ask for a role with verb list on clusterrolebindings/m,
  );

  const { code, stderr } = await cliHere(testEnv.cluster(), [...INSTALL, '--yes']);
  assert.deepEqual([code, stderr], [0, `warning: ${risk}\nwarning: ${earlier}\n`]);
  await eventually('it counts', () => may('mallory', 'create', 'nodepools', 'nodes.lailin.xyz'));
  assert.match(await ok(INSTALL), / unchanged$/m);
  // A role that has rules is bound and made part of others only by who has them.
  const mallory = clientOf('mallory');
  assert.equal((await bind(mallory, 'namespaces/default/rolebindings', 'ClusterRole', NAME)).status, 403);
  const labels = { [`${GROUP}/aggregate-to-view`]: 'true' };
  assert.equal((await mallory.request('PATCH', CLUSTER_ROLE, { metadata: { labels } })).status, 403);
  // Rules that are added later are looked at as well.
  await bind(admin(), 'namespaces/default/rolebindings', 'ClusterRole', NAME);
  assert.match(await ok(INSTALL), / unchanged$/m);
  await refused([...INSTALL, '--evictions'], 1, /^error: others would get the controller's permissions: RoleBinding /);
  await admin().expect('DELETE', `${RBAC}/namespaces/default/rolebindings/mallorys`);
  assert.match(
    await ok([...INSTALL, '--evictions']),
    /^clusterrole.rbac.authorization.k8s.io\/nodepool-controller configured$/m,
  );
});
