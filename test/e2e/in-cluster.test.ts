/**
 * The controller as the manifest runs it: its flags, its service account's token, its permissions. The API server has
 * no WatchList, so that the controller lists, and checks the permission for blocking owner references.
 */
import assert from 'node:assert/strict';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { readController, readPolicies } from '../../src/cli/manifests.ts';
import type { ManifestObject } from '../../src/operations/ports.ts';
import { type AuditEvent, readAudit } from '../cluster/audit.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, stateOf } from './commands.ts';
import { condition, role, useTestEnv } from './test-env.ts';
import { eventually, startWatching } from './watching.ts';

const IMAGE = 'registry.example.com/kubectl-nodepool:0.1.0';
const NAMESPACE = 'nodepool-system';
const NAME = 'nodepool-controller';
const USER = `system:serviceaccount:${NAMESPACE}:${NAME}`;
const LEASE = `/apis/coordination.k8s.io/v1/namespaces/${NAMESPACE}/leases/kubectl-nodepool`;
const CLUSTER_ROLE = `/apis/rbac.authorization.k8s.io/v1/clusterroles/${NAME}`;
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/${NAME}`;
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
const { ok, refused } = commandsOf(() => testEnv.cluster());
const api = () => raw(testEnv.cluster());
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const manifest = async () => {
  const [policies, controller] = await Promise.all([readPolicies(ROOT), readController(ROOT)]);
  return { objects: [...policies.objects, ...controller.objects], policies: policies.objects.length };
};
const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const QUOTA = `/api/v1/namespaces/${NAMESPACE}/resourcequotas/${NAME}`;

interface PodTemplate {
  spec: { template: { metadata: object; spec: { containers: { image: string; args: string[] }[] } } };
}

/** The requests of the controller so far. */
const asked = async () => (await readAudit(testEnv.cluster())).filter(({ user }) => user === USER);

/** Starts a process as the Deployment does, with the token that its pod would have. */
async function startController(t: Parameters<typeof startWatching>[0], ...more: string[]) {
  const path = `/api/v1/namespaces/${NAMESPACE}/serviceaccounts/${NAME}/token`;
  const request = { apiVersion: 'authentication.k8s.io/v1', kind: 'TokenRequest', spec: { expirationSeconds: 3600 } };
  const { status } = (await api().expect('POST', path, request)) as { status: { token: string } };
  const { server, ca, dir } = testEnv.cluster();
  const kubeconfig = join(dir, 'controller.kubeconfig');
  const cluster = { server, 'certificate-authority-data': Buffer.from(ca).toString('base64') };
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    'current-context': 'c',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'c', user: { token: status.token } }],
    contexts: [{ name: 'c', context: { cluster: 'c', user: 'c' } }],
  };
  await writeFile(kubeconfig, JSON.stringify(content), { mode: 0o600 });
  const deployment = (await api().expect('GET', DEPLOYMENT)) as PodTemplate;
  const [verb, watch, ...flags] = deployment.spec.template.spec.containers[0]?.args ?? [];
  assert.deepEqual([verb, watch], ['reconcile', '--watch']);
  // The ports of the pod may be taken on this machine.
  const local = flags.map(flag => flag.replace(/=:\d+$/, '=127.0.0.1:0'));
  return startWatching(t, { ...testEnv.cluster(), kubeconfig }, ...local, ...more);
}

test('install --controller creates the objects once; dry runs and a second run write nothing', async () => {
  const { objects, policies } = await manifest();
  const flags = ['install', '--controller', '--image', IMAGE];
  await refused(['install', '--controller'], 2, /--controller needs the image to run; next: build it from/);
  await refused(['install', '--image', IMAGE], 2, /--image is for the controller; next: add --controller/);
  await refused(['install', '--controller', '--image', 'a b'], 2, /--image "a b" is not an image/);

  const before = await stateOf(testEnv.cluster());
  const yaml = await ok([...flags, '--dry-run', '-o', 'yaml'], { env: { KUBECONFIG: '/nowhere' } });
  assert.equal(yaml.match(/^kind: /gm)?.length, objects.length + 1, 'all documents, and the definition');
  assert.match(yaml, new RegExp(`image: "${IMAGE}"`));
  const { kind, items } = JSON.parse(await ok([...flags, '--dry-run', '-o', 'json']));
  assert.deepEqual([kind, items.length], ['List', objects.length + 1]);
  const [definition, ...others] = (await ok([...flags, '--dry-run'])).trimEnd().split('\n');
  assert.match(definition ?? '', /^customresourcedefinition.* unchanged \(dry run\)$/);
  assert.equal(others.filter(line => line.endsWith(' created (dry run)')).length, objects.length);
  const without = (await ok([...flags, '--no-policies', '--dry-run'])).trimEnd().split('\n');
  assert.equal(without.length, objects.length + 1 - policies);
  assert.doesNotMatch(without.join('\n'), /admissionpolic/);
  await refused(['install', '--no-policies'], 2, /--no-policies is for the controller; next: add --controller/);
  const unchecked = 'created (server dry run), unchecked: there is no namespace nodepool-system yet';
  const dry = (await ok([...flags, '--dry-run=server'])).split('\n');
  assert.ok(dry.includes(`deployment.apps/${NAME} ${unchecked}`), dry.join('\n'));
  assert.deepEqual(await stateOf(testEnv.cluster()), before);
  assert.equal((await api().request('GET', CLUSTER_ROLE)).status, 404);

  const lines = (await ok(flags)).trimEnd().split('\n').slice(1);
  assert.equal(lines.length, objects.length);
  assert.ok(
    lines.every(line => line.endsWith(' created')),
    lines.join('\n'),
  );
  const again = (await ok(flags)).trimEnd().split('\n');
  assert.ok(
    again.every(line => line.endsWith(' unchanged')),
    again.join('\n'),
  );
  const other = await ok(['install', '--controller', '--image', `${IMAGE}-2`]);
  assert.deepEqual(other.match(/.* configured$/gm), [`deployment.apps/${NAME} configured`]);

  // As the controller of the quota would do.
  const status = { hard: { pods: '10' }, used: { pods: '0' } };
  await api().expect('PATCH', `${QUOTA}/status`, { status });
  // The namespace enforces the Pod Security level "restricted".
  const { spec } = (await api().expect('GET', DEPLOYMENT)) as PodTemplate;
  const pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'probe' }, spec: spec.template.spec };
  const pods = `/api/v1/namespaces/${NAMESPACE}/pods?dryRun=All`;
  await api().expect('POST', pods, pod);
  const root = { ...pod, spec: { ...pod.spec, securityContext: {} } };
  assert.equal((await api().request('POST', pods, root)).status, 403, 'the level is enforced');
});

test('aggregates reading pools to `view` and writing them to `admin`', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const roles = ['nodepool-view', 'nodepool-edit'];
  const labels = await Promise.all(
    roles.map(async role => {
      const { metadata } = (await api().expect('GET', `${rbac}/clusterroles/${role}`)) as ManifestObject;
      return Object.keys(metadata.labels ?? {}).filter(key => key.includes('aggregate'));
    }),
  );
  const aggregate = (to: string) => [`rbac.authorization.k8s.io/aggregate-to-${to}`];
  assert.deepEqual(labels, [aggregate('view'), aggregate('admin')]);
  for (const [role, verb, isAllowed] of [
    ['nodepool-view', 'list', true],
    ['nodepool-view', 'patch', false],
    ['nodepool-edit', 'patch', true],
  ] as const) {
    const user = `${role}-user`;
    const roleRef = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: role };
    const subjects = [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'User', name: user }];
    await api().request('POST', `${rbac}/clusterrolebindings`, { metadata: { name: user }, roleRef, subjects });
    const spec = { user, resourceAttributes: { verb, group: 'nodes.lailin.xyz', resource: 'nodepools' } };
    const ask = async () => {
      const path = '/apis/authorization.k8s.io/v1/subjectaccessreviews';
      return ((await api().expect('POST', path, { spec })) as { status: { allowed: boolean } }).status.allowed;
    };
    await eventually(`${role} ${verb}`, async () => (await ask()) === isAllowed, 10_000);
  }
});

test('replaces a leader that is killed half-way within 20 s, and writes nothing twice', {
  timeout: 90_000,
}, async t => {
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
  const first = await startController(t, '--concurrency=1');
  await eventually('the first leads', async () => (await holder()) !== undefined);
  const leader = await holder();
  const second = await startController(t);
  await testEnv.pool('one', { labels: { tier: 'gold' }, taints: [TAINT], handler: 'runc' });
  await eventually('the first is half-way', async () => (await labelled()) >= 20);
  await first.end('SIGKILL');
  const killed = performance.now();
  const done = await labelled();
  assert.ok(done < names.length, 'it was killed too late to show anything');
  await eventually('the second leads', async () => (await holder()) !== leader, 25_000);
  const seconds = (performance.now() - killed) / 1000;
  assert.ok(seconds < 20, `it took ${seconds} s`);
  await eventually('the second goes on', async () => (await labelled()) === names.length);
  t.diagnostic(`killed after ${done} of ${names.length} nodes; the other leads ${seconds.toFixed(1)} s later`);

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

test('uses every permission and lacks none', { timeout: 120_000 }, async t => {
  await api().request('DELETE', LEASE);
  const rounds = Array.from({ length: ROUNDS }, (_, round) => ({ name: `n${round}`, labels: role('one') }));
  await testEnv.nodes({ name: 'a', labels: role('one') }, ...rounds);
  await testEnv.pool('one', { labels: { tier: 'gold' }, taints: [TAINT], handler: 'runc' });
  await testEnv.pool('empty');
  const controller = await startController(t);
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
  const own = (await manifest()).objects.filter(({ metadata }) => metadata.name === NAME);
  const permissions = own.flatMap(permissionsOf);
  assert.deepEqual([...requests, NO_REQUEST].toSorted(), permissions.toSorted());

  async function untilUsed(what: string, provoke: (round: number) => Promise<void>): Promise<void> {
    for (let round = 0; !(await used(what)); round++) {
      assert.ok(round < ROUNDS, `never asked for: ${what}`);
      await provoke(round);
    }
  }
});

test('may read pods with --pod-counts, and does', async t => {
  await api().request('DELETE', LEASE);
  await ok(['install', '--controller', '--image', IMAGE, '--pod-counts']);
  await testEnv.nodes({ name: 'a', labels: role('one') });
  await testEnv.pool('one');
  const before = (await asked()).length;
  const controller = await startController(t);
  const pod = { metadata: { name: 'p' }, spec: { nodeName: 'a', containers: [{ name: 'c', image: 'i' }] } };
  await api().expect('POST', '/api/v1/namespaces/default/pods', { apiVersion: 'v1', kind: 'Pod', ...pod });
  await eventually('it is counted', async () => (await testEnv.getPool('one'))?.status?.podCount === 1, 30_000);
  assert.equal(await controller.end('SIGTERM'), 0);
  const requests = (await asked()).slice(before);
  assert.deepEqual(requests.filter(isRefused), []);
  const pods = requests.filter(({ resource }) => resource === 'pods').map(({ verb }) => verb);
  assert.deepEqual([...new Set(pods)].toSorted(), ['list', 'watch']);
});

test('uninstall refuses while the controller is installed; --controller deletes only the controller', async () => {
  await testEnv.pool('one');
  const next = 'remove it first: kubectl nodepool uninstall --controller';
  const line = `error: the controller is in the cluster: deployment ${NAME} in namespace ${NAMESPACE}; next: ${next}`;
  await refused(['uninstall', '--cascade', '--yes'], 1, line);
  const { objects } = await manifest();
  const would = await ok(['uninstall', '--controller', '--dry-run=server']);
  assert.equal(would.match(/ deleted \(server dry run\)$/gm)?.length, objects.length);
  assert.equal((await api().request('GET', DEPLOYMENT)).status, 200);
  const said = (await ok(['uninstall', '--controller', '--yes'])).trimEnd().split('\n');
  assert.equal(said.length, objects.length);
  assert.equal(said[1], `deployment.apps "${NAME}" deleted`);
  assert.equal((await api().request('GET', DEPLOYMENT)).status, 404);
  assert.equal((await api().request('GET', CLUSTER_ROLE)).status, 404);
  assert.deepEqual(((await api().expect('GET', POLICIES)) as { items: object[] }).items, []);
  const { metadata } = (await api().expect('GET', `/api/v1/namespaces/${NAMESPACE}`)) as {
    metadata: { deletionTimestamp?: string };
  };
  assert.ok(metadata.deletionTimestamp);
  assert.ok(await testEnv.getPool('one'), 'pools stay');
});

function isRefused({ code }: AuditEvent): boolean {
  return code === 401 || code === 403;
}

/** As permissionsOf writes it. */
function permission({ verb, resource, name, uri }: AuditEvent): string {
  const [, group = '', namespace] = /^\/(?:api|apis\/([^/]+))\/[^/]+(?:\/namespaces\/([^/]+))?/.exec(uri) ?? [];
  const named = resource === 'leases' && verb !== 'create' ? name : undefined;
  return textOf(verb, group, resource, namespace, named);
}

/** `VERB GROUP/RESOURCE[ in NAMESPACE][ named NAME]` for each permission of a role. */
function permissionsOf({ kind, metadata, ...role }: ManifestObject): string[] {
  if (kind !== 'Role' && kind !== 'ClusterRole') return [];
  const rules = role.rules as { apiGroups: string[]; resources: string[]; verbs: string[]; resourceNames?: string[] }[];
  return rules.flatMap(({ apiGroups, resources, verbs, resourceNames = [undefined] }) =>
    apiGroups.flatMap(group =>
      resources.flatMap(resource =>
        verbs.flatMap(verb => resourceNames.map(name => textOf(verb, group, resource, metadata.namespace, name))),
      ),
    ),
  );
}

function textOf(verb: string, group: string, resource: string, namespace?: string, name?: string): string {
  const place = namespace === undefined ? '' : ` in ${namespace}`;
  return `${verb} ${group}/${resource}${place}${name === undefined ? '' : ` named ${name}`}`;
}
