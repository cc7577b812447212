import assert from 'node:assert/strict';
import { test } from 'node:test';
import { commands } from '../../../../src/commands/index.ts';
import { needsOf } from '../../../../src/operations/doctor/needs.ts';
import { checkControllerPermissions, checkPermissions } from '../../../../src/operations/doctor/permissions.ts';
import { questionText, questionTexts } from '../../../../src/operations/doctor/question.ts';
import type { AccessQuestion, DoctorPort, Subject } from '../../../../src/operations/doctor-port.ts';
import type { ManifestObject } from '../../../../src/operations/ports.ts';

/** Commands that need no permission: every user may read versions and create access reviews. */
const WITHOUT_NEEDS = ['completion', 'doctor', 'version'];

const CONTROLLER: ManifestObject[] = [
  { apiVersion: 'v1', kind: 'ServiceAccount', metadata: { name: 'sa', namespace: 'ns' } },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'r' },
    rules: [{ apiGroups: ['g'], resources: ['pools/status', 'pools'], verbs: ['patch'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'Role',
    metadata: { name: 'r', namespace: 'ns' },
    rules: [{ apiGroups: ['l'], resources: ['leases'], verbs: ['get'], resourceNames: ['one'] }],
  },
  // For another subject than the controller.
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRole',
    metadata: { name: 'view' },
    rules: [{ apiGroups: ['g'], resources: ['secrets'], verbs: ['watch'] }],
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'ClusterRoleBinding',
    metadata: { name: 'r' },
    roleRef: { kind: 'ClusterRole', name: 'r' },
  },
  {
    apiVersion: 'rbac.authorization.k8s.io/v1',
    kind: 'RoleBinding',
    metadata: { name: 'r', namespace: 'ns' },
    roleRef: { kind: 'Role', name: 'r' },
  },
];

/** Answers access reviews by their text, and records them. */
function port(isAllowed: (text: string) => boolean) {
  const asked: { text: string; subject: Subject | undefined }[] = [];
  const allowed = async (questions: readonly AccessQuestion[], subject?: Subject) =>
    questions.map(question => {
      const text = questionText(question);
      asked.push({ text, subject });
      return isAllowed(text);
    });
  return { asked, port: { allowed } as unknown as DoctorPort };
}

test('declares the needs of every command', () => {
  const all = Object.keys(commands);
  for (const command of all) {
    if (!WITHOUT_NEEDS.includes(command)) assert.ok(needsOf([command]).length > 0, `${command} is not in needs.ts`);
  }
  for (const command of WITHOUT_NEEDS) assert.deepEqual(needsOf([command]), []);
  for (const { command, questions } of needsOf(all, CONTROLLER)) {
    assert.ok(questions.length > 0, command);
    for (const question of questions) assert.ok(question.verb !== '' && question.resource !== '', command);
  }
});

test('builds access reviews as RBAC has them', () => {
  const questions = needsOf(['reconcile', 'events', 'drain']).flatMap(need => need.questions);
  const has = (question: AccessQuestion) => questions.some(other => JSON.stringify(other) === JSON.stringify(question));
  assert.ok(has({ verb: 'patch', group: '', resource: 'nodes' }));
  assert.ok(has({ verb: 'patch', group: 'nodes.lailin.xyz', resource: 'nodepools', subresource: 'status' }));
  assert.ok(has({ verb: 'create', group: 'events.k8s.io', resource: 'events', namespace: 'default' }));
  assert.ok(has({ verb: 'create', group: '', resource: 'pods', subresource: 'eviction' }));
  const texts = questions.map(questionText);
  assert.ok(texts.includes('patch nodepools.nodes.lailin.xyz/status'));
  assert.ok(texts.includes('create events.events.k8s.io in default'));
  assert.ok(texts.includes('get leases.coordination.k8s.io "kubectl-nodepool" in kube-system'));
});

test("requires of who installs the controller its objects' permissions, and all that they grant", () => {
  const objects = [...CONTROLLER, { apiVersion: 'net/v1', kind: 'NetworkPolicy', metadata: { name: 'n' } }];
  const [install, uninstall] = needsOf(['install', 'uninstall'], objects).filter(({ command }) =>
    command.endsWith('--controller'),
  );
  assert.deepEqual(questionTexts(install?.questions ?? []), [
    'get,create,patch serviceaccounts "sa" in ns',
    'get,create,patch clusterroles.rbac.authorization.k8s.io "r"',
    'get,create,patch roles.rbac.authorization.k8s.io "r" in ns',
    'get,create,patch clusterroles.rbac.authorization.k8s.io "view"',
    'get,create,patch clusterrolebindings.rbac.authorization.k8s.io "r"',
    'get,create,patch rolebindings.rbac.authorization.k8s.io "r" in ns',
    'get,create,patch networkpolicies.net "n"',
    'patch pools.g/status',
    'patch pools.g',
    'get leases.l "one" in ns',
    'watch secrets.g',
  ]);
  assert.deepEqual(questionTexts(uninstall?.questions ?? []), [
    'get,delete serviceaccounts "sa" in ns',
    'get,delete clusterroles.rbac.authorization.k8s.io "r"',
    'get,delete roles.rbac.authorization.k8s.io "r" in ns',
    'get,delete clusterroles.rbac.authorization.k8s.io "view"',
    'get,delete clusterrolebindings.rbac.authorization.k8s.io "r"',
    'get,delete rolebindings.rbac.authorization.k8s.io "r" in ns',
    'get,delete networkpolicies.net "n"',
  ]);
});

test('asks for each permission once, and reports missing ones by command', async () => {
  const { port: some, asked } = port(text => text !== 'patch nodes' && !text.includes('runtimeclasses'));
  const { status, message, details, table } = await checkPermissions(
    needsOf(['get', 'diff', 'edit', 'reconcile']),
    some,
  );
  assert.equal(new Set(asked.map(({ text }) => text)).size, asked.length);
  assert.deepEqual(
    [status, message],
    ['warning', 'this user lacks permissions for 2 commands of 4, and for edit with deleted RuntimeClass'],
  );
  assert.deepEqual(table, [
    ['MISSING', 'NEEDED BY'],
    ['list runtimeclasses.node.k8s.io', 'diff, edit with deleted RuntimeClass, reconcile'],
    ['patch nodes; get,create,patch,delete runtimeclasses.node.k8s.io', 'reconcile'],
    ['watch runtimeclasses.node.k8s.io', 'reconcile --watch'],
  ]);
  const rows = [
    ['list runtimeclasses.node.k8s.io', 'diff, edit with deleted RuntimeClass, reconcile'],
    ['patch nodes', 'reconcile'],
    ['get,create,patch,delete runtimeclasses.node.k8s.io', 'reconcile'],
    ['watch runtimeclasses.node.k8s.io', 'reconcile --watch'],
  ];
  assert.deepEqual(
    details,
    rows.map(([permission, by]) => `${permission}: needed by ${by}`),
  );
  assert.equal((await checkPermissions(needsOf(['get', 'reconcile']), port(() => true).port)).status, 'ok');
  const messageWithout = async (word: string) =>
    (await checkPermissions(needsOf(['get', 'diff', 'wait']), port(text => !text.includes(word)).port)).message;
  assert.equal(await messageWithout('watch'), 'this user lacks permissions for 1 command of 3, and for get --watch');
  assert.equal(
    await messageWithout('list pods'),
    'this user lacks permissions for diff with NoExecute, diff with deleted RuntimeClass',
  );
  assert.equal((await checkPermissions(needsOf(['get', 'edit']), port(() => false).port)).status, 'error');
});

test('counts many permissions of one command, and leaves out names of objects', async () => {
  const objects = Array.from({ length: 9 }, (_, at) => ({
    apiVersion: 'g/v1',
    kind: `R${at}`,
    metadata: { name: 'r' },
  }));
  const { table = [], details } = await checkPermissions(
    needsOf(['install'], objects),
    port(text => !/ r\ds\.g/.test(text)).port,
  );
  assert.equal(details.length, 9);
  assert.deepEqual(table.slice(1), [['9 permissions, see -o json', 'install --controller']]);
  const crd = (
    await checkPermissions(needsOf(['install'], objects), port(text => !text.includes('create customres')).port)
  ).table;
  assert.deepEqual(crd?.slice(1), [['create customresourcedefinitions.apiextensions.k8s.io', 'install']]);
});

test('checks the controller for the permissions of its own roles', async () => {
  const installed = async () => true;
  const { port: all, asked } = port(() => true);
  const { status } = await checkControllerPermissions(CONTROLLER, installed, all);
  assert.equal(status, 'ok');
  const about = asked.slice(1);
  assert.deepEqual(
    about.map(({ text }) => text),
    ['patch pools.g/status', 'patch pools.g', 'get leases.l "one" in ns'],
  );
  assert.equal(about[0]?.subject?.user, 'system:serviceaccount:ns:sa');
  const lacking = await checkControllerPermissions(CONTROLLER, installed, port(text => !text.includes('leases')).port);
  assert.deepEqual([lacking.status, lacking.details], ['error', ['get leases.l "one" in ns']]);
});

test('does not ask without a controller, or for a user who may not ask', async () => {
  const none = await checkControllerPermissions(CONTROLLER, async () => false, port(() => true).port);
  assert.equal(none.status, 'skipped');
  const { port: closed, asked } = port(() => false);
  const refused = await checkControllerPermissions(CONTROLLER, async () => true, closed);
  assert.deepEqual([refused.status, asked.length], ['skipped', 1]);
});
