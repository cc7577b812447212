import assert from 'node:assert/strict';
import { test } from 'node:test';
import { beforeGrants, refuseLateShares } from '../../../../src/commands/install/run.ts';
import type { ManifestObject } from '../../../../src/kube/resources/manifests.ts';
import { ForbiddenError } from '../../../../src/nodepool/errors.ts';

const apiVersion = 'rbac.authorization.k8s.io/v1';
const RULES = [{ apiGroups: [''], resources: ['nodes'], verbs: ['get', 'patch'] }];
const role = (name: string, rules: object[] = RULES, labels?: object): ManifestObject => ({
  apiVersion,
  kind: 'ClusterRole',
  metadata: { name, labels },
  rules,
});
const account = { kind: 'ServiceAccount', name: 'c', namespace: 'ns' };
const binding = (name: string, ofRole: string, subjects: unknown): ManifestObject => ({
  apiVersion,
  kind: 'ClusterRoleBinding',
  metadata: { name },
  roleRef: { kind: 'ClusterRole', name: ofRole },
  subjects,
});
const namespace: ManifestObject = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: 'ns' } };
const OBJECTS = [namespace, role('people'), role('c'), binding('c', 'c', [account])];

function clusterOf(others: ManifestObject[]) {
  const asked: string[] = [];
  const risks: string[] = [];
  const list = async ({ kind }: { kind: string }, keep: (object: ManifestObject) => boolean) => {
    asked.push(kind);
    return others.filter(one => one.kind === kind && keep(one));
  };
  const ports = {
    manifests: { list } as never,
    agree: async (more: readonly string[]) => {
      risks.push(...more);
    },
  };
  const before = (live: (ManifestObject | undefined)[]) => beforeGrants(OBJECTS, live, ports);
  return { asked, risks, ports, before };
}
const user = { kind: 'User', name: 'u' };
const NONE: undefined[] = [undefined, undefined, undefined, undefined];

test('requests no bindings when every role has its rules', async () => {
  const { asked, before, risks } = clusterOf([binding('x', 'c', [user])]);
  // Split otherwise, and with more.
  const has = role('c', [
    { apiGroups: [''], resources: ['nodes', 'pods'], verbs: ['get'] },
    { apiGroups: [''], resources: ['nodes'], verbs: ['patch'] },
  ]);
  assert.deepEqual(await before([namespace, role('people'), has, undefined]), { value: { roles: [], shares: [] } });
  assert.deepEqual([asked, risks], [[], []]);
});

test('accepts bindings of the manifest, others of the same subjects, and those without subjects', async () => {
  const { before, risks } = clusterOf([
    binding('c', 'c', [account]),
    binding('again', 'c', [account]),
    binding('none', 'c', undefined),
    binding('odd', 'c', [null]),
    binding('elsewhere', 'admin', [user]),
  ]);
  await before(NONE);
  assert.deepEqual(risks, []);
});

test('refuses other service accounts bound to the controller role, and asks about people', async () => {
  const people = binding('p', 'people', [user, { kind: 'Group', name: 'g' }]);
  const asking = clusterOf([people]);
  await asking.before(NONE);
  assert.deepEqual(asking.risks, [
    'others would get permissions on pools: ClusterRoleBinding p binds ClusterRole people to User u, Group g',
  ]);
  const refusing = clusterOf([people, binding('x', 'c', [account, user]), binding('--all', 'c', [user])]);
  await assert.rejects(refusing.before(NONE), {
    kind: 'input',
    message:
      "others would get the controller's permissions: ClusterRoleBinding x binds ClusterRole c to User u; ClusterRoleBinding --all binds ClusterRole c to User u; nothing was changed",
    next: 'kubectl delete clusterrolebinding x, then run the command again',
  });
  // A name that would be a flag is in no command.
  await assert.rejects(clusterOf([binding('--all', 'c', [user])]).before(NONE), {
    next: 'delete ClusterRoleBinding --all, then run the command again',
  });
});

test('refuses labels that aggregate the controller role into other roles', async () => {
  const aggregating = (...clusterRoleSelectors: unknown[]): ManifestObject => ({
    ...role('ops', []),
    aggregationRule: { clusterRoleSelectors },
  });
  const labels = { 'serving.example.com/controller': 'true', app: 'x' };
  const live = [undefined, undefined, role('c', [], labels), undefined];
  const { before } = clusterOf([
    aggregating({ matchLabels: { other: 'x' } }, { matchLabels: { 'serving.example.com/controller': 'true' } }),
  ]);
  await assert.rejects(before(live), {
    message:
      "others would get the controller's permissions: ClusterRole ops aggregates ClusterRole c by labels that others set; nothing was changed",
    next: 'kubectl delete clusterrole c, then run the command again',
  });
  // All roles, ours as well: whoever made that one means it.
  await clusterOf([aggregating({}), aggregating({ matchLabels: { other: 'x' } }), aggregating(null, 1)]).before(live);
});

test('asks about a namespace older than the role, unless it is being deleted', async () => {
  const asking = clusterOf([]);
  await asking.before([namespace, undefined, role('c', []), undefined]);
  assert.match(asking.risks.join(), /^namespace ns already exists: users who can run pods /);
  const ending = { ...namespace, metadata: { name: 'ns', deletionTimestamp: '2026-01-01T00:00:00Z' } };
  // As with a further flag.
  const fewer = role('c', [{ ...RULES[0], verbs: ['patch'] }]);
  for (const live of [
    [ending, undefined, undefined, undefined],
    [namespace, role('people', [{ ...RULES[0], verbs: ['patch'] }]), fewer, undefined],
  ]) {
    const { before, risks } = clusterOf([]);
    await before(live);
    assert.deepEqual(risks, []);
  }
});

test('continues when bindings cannot be listed', async () => {
  const { ports } = clusterOf([]);
  const error = new ForbiddenError('cannot list', ['verb list on rolebindings']);
  const list = async () => Promise.reject(error);
  const answer = await beforeGrants(OBJECTS, NONE, { ...ports, manifests: { list } as never });
  assert.deepEqual(Object.keys(answer), ['forbidden']);
});

test('names a binding that was created while the roles were written', async () => {
  const known = binding('p', 'people', [user]);
  const bindings = [known];
  const { before, ports } = clusterOf(bindings);
  const answer = await before(NONE);
  assert.ok('value' in answer);
  const late = () => refuseLateShares(answer.value, OBJECTS, OBJECTS, ports.manifests);
  await late();
  bindings.push(binding('x', 'c', [user]));
  await assert.rejects(late(), {
    kind: 'cluster',
    message: 'others got permissions during the install: ClusterRoleBinding x binds ClusterRole c to User u',
    next: 'kubectl delete clusterrolebinding x, then run the command again',
  });
});
