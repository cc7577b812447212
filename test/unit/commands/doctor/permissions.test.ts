import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  checkControllerPermissions,
  checkPermissions,
  checkPolicies,
} from '../../../../src/commands/doctor/permissions.ts';
import { renderChecks } from '../../../../src/commands/doctor/print.ts';
import { commands } from '../../../../src/commands/index.ts';
import { type BornInPool, MEMBERSHIP, RECORDS } from '../../../../src/commands/shared/install/admission-policies.ts';
import { needsOf, questionText, questionTexts } from '../../../../src/commands/shared/permissions/needs.ts';
import type { AccessQuestion, ReviewSubject } from '../../../../src/kube/api/access-reviews.ts';
import type { DoctorPort } from '../../../../src/kube/resources/doctor.ts';
import type { ManifestObject } from '../../../../src/kube/resources/manifests.ts';
import { makeStyle } from '../../../../src/print/style.ts';

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
  const asked: { text: string; subject: ReviewSubject | undefined }[] = [];
  const allowed = async (questions: readonly AccessQuestion[], subject?: ReviewSubject) =>
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
  for (const { command, questions } of needsOf(all, {
    policies: CONTROLLER,
    bornInPool: CONTROLLER,
    controller: CONTROLLER,
  })) {
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

test("requires the permissions on the controller's objects, and all permissions that they grant", () => {
  const objects = [...CONTROLLER, { apiVersion: 'net/v1', kind: 'NetworkPolicy', metadata: { name: 'n' } }];
  const [install, uninstall] = needsOf(['install', 'uninstall'], {
    policies: [],
    bornInPool: [],
    controller: objects,
  }).filter(({ command }) => command.endsWith('--controller'));
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
    'list rolebindings.rbac.authorization.k8s.io',
    'list clusterrolebindings.rbac.authorization.k8s.io',
    'list clusterroles.rbac.authorization.k8s.io',
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
  const { status, message, details, permissions } = await checkPermissions(
    needsOf(['get', 'diff', 'edit', 'reconcile']),
    some,
  );
  assert.equal(new Set(asked.map(({ text }) => text)).size, asked.length);
  assert.deepEqual(
    [status, message],
    ['warning', 'this user lacks permissions for 2 commands of 4, and for some uses of 1 other'],
  );
  assert.deepEqual(permissions, [
    {
      verbs: 'list,get,create,patch,delete,watch',
      resource: 'runtimeclasses.node.k8s.io',
      commands: ['diff', 'reconcile', 'edit with deleted RuntimeClass'],
    },
    { verbs: 'patch', resource: 'nodes', commands: ['reconcile'] },
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
  assert.equal(
    await messageWithout('watch'),
    'this user lacks permissions for 1 command of 3, and for some uses of 1 other',
  );
  assert.equal(await messageWithout('list pods'), 'this user lacks permissions for some uses of 1 command');
  assert.equal((await checkPermissions(needsOf(['get', 'edit']), port(() => false).port)).status, 'error');
});

test('counts permissions that only the controller needs, and leaves out names of objects', async () => {
  const objects = Array.from({ length: 9 }, (_, at) => ({
    apiVersion: 'g/v1',
    kind: `R${at}`,
    metadata: { name: 'r' },
  }));
  const shownTo = async (isAllowed: (text: string) => boolean, all = objects) =>
    (
      await checkPermissions(
        needsOf(['install'], { policies: [], bornInPool: [], controller: all }),
        port(isAllowed).port,
      )
    ).permissions?.map(({ verbs, resource, commands: by }) => `${verbs} ${resource}: ${by.join(', ')}`);
  assert.deepEqual(await shownTo(text => !text.startsWith('get r')), [
    '… 9 permissions, see -o json: install --controller',
  ]);
  assert.deepEqual(await shownTo(text => !text.startsWith('get r'), objects.slice(0, 2)), [
    'get r0s.g: install --controller',
    'get r1s.g: install --controller',
  ]);
  assert.deepEqual(await shownTo(text => !text.includes('customres')), [
    'get,create,patch customresourcedefinitions.apiextensions.k8s.io: install',
  ]);
});

test('fills the width of a pipe or terminal, except for long resource names', async () => {
  const finding = await checkPermissions(needsOf(Object.keys(commands)), port(() => false).port);
  for (const [given, width] of [
    [undefined, 120],
    [80, 80],
  ] as const) {
    const lines = renderChecks([{ id: 'permissions', ...finding }], 'problems', makeStyle(false), given).split('\n');
    const long = lines.filter(line => line.length > width);
    assert.ok(
      long.every(line => /admissionregistration|apiextensions|leases/.test(line) && width === 80),
      long.join('\n'),
    );
    assert.match(lines.join('\n'), / {2}VERBS +RESOURCE +COMMANDS\n[\s\S]* and \d+ more\n/);
  }
});

test('checks the roles of the controller for its permissions', async () => {
  const installed = async () => deployment({});
  const { port: all, asked } = port(() => true);
  const { status } = await checkControllerPermissions(CONTROLLER, [], installed, all);
  assert.equal(status, 'ok');
  const about = asked.slice(1);
  assert.deepEqual(
    about.map(({ text }) => text),
    ['patch pools.g/status', 'patch pools.g', 'get leases.l "one" in ns'],
  );
  assert.equal(about[0]?.subject?.user, 'system:serviceaccount:ns:sa');
  const lacking = await checkControllerPermissions(
    CONTROLLER,
    [],
    installed,
    port(text => !text.includes('leases')).port,
  );
  assert.deepEqual([lacking.status, lacking.details], ['error', ['get leases.l "one" in ns']]);
  assert.match(lacking.remedy ?? '', /^run `kubectl nodepool install --controller --image IMAGE` again/);
});

test('names the Helm command when a release has the controller', async () => {
  const ofHelm = {
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: { 'meta.helm.sh/release-name': 'pools', 'meta.helm.sh/release-namespace': 'nodepool-system' },
  };
  const { remedy } = await checkControllerPermissions(
    CONTROLLER,
    [],
    async () => deployment(ofHelm),
    port(text => !text.includes('leases')).port,
  );
  assert.match(remedy ?? '', /^run `helm upgrade pools oci:\S+ --namespace nodepool-system --reuse-values`/);
});

test('does not ask without a controller, or for a user who may not create access reviews', async () => {
  const none = await checkControllerPermissions(CONTROLLER, [], async () => undefined, port(() => true).port);
  assert.equal(none.status, 'skipped');
  const { port: closed, asked } = port(() => false);
  const refused = await checkControllerPermissions(CONTROLLER, [], async () => deployment({}), closed);
  assert.deepEqual([refused.status, asked.length], ['skipped', 1]);
});

function deployment(metadata: object): ManifestObject {
  return { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'c', ...metadata } };
}

test('asks about evictions only if a pool drains, and names how to grant them', async () => {
  const installed = async () => deployment({});
  const { port: mayNot, asked } = port(text => !text.includes('pods'));
  assert.equal((await checkControllerPermissions(CONTROLLER, [], installed, mayNot)).status, 'ok');
  assert.ok(!asked.some(({ text }) => text.includes('pods')));
  const lacking = await checkControllerPermissions(CONTROLLER, ['gpu', 'web'], installed, mayNot);
  assert.deepEqual([lacking.status, lacking.details], ['error', ['list pods', 'create pods/eviction']]);
  assert.match(lacking.message, /may not evict pods: NoExecute taints of pools gpu, web are not set/);
  assert.match(lacking.remedy ?? '', /, with --evictions$/);
  // A role of an earlier version.
  const earlier = port(text => !text.includes('poddisruptionbudgets')).port;
  const budgets = await checkControllerPermissions(CONTROLLER, ['gpu'], installed, earlier);
  assert.deepEqual([budgets.status, budgets.details], ['error', ['list poddisruptionbudgets.policy']]);
  assert.match(
    budgets.message,
    /may not list PodDisruptionBudgets: .* pool gpu are not set on nodes where evicted pods return/,
  );
  assert.equal((await checkControllerPermissions(CONTROLLER, ['gpu'], installed, port(() => true).port)).status, 'ok');
});

test('warns of policies that were applied but are only partly in force', () => {
  const statusOf = (off: string[], ...born: BornInPool[]) => checkPolicies(off, undefined, born[0]).status;
  assert.equal(statusOf([]), 'ok');
  assert.equal(statusOf([RECORDS, MEMBERSHIP]), 'ok', 'nobody has applied them');
  for (const one of [RECORDS, MEMBERSHIP]) assert.equal(statusOf([one]), 'warning', one);
  assert.equal(statusOf([MEMBERSHIP], { kind: 'installed', off: [] }), 'warning');
});
