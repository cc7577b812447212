/** `install --controller`, the roles that it creates, and `uninstall --controller`: on one cluster, in this order. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import pjson from '../../package.json' with { type: 'json' };
import { IMAGE_NAME } from '../../scripts/image/image.ts';
import type { ManifestObject } from '../../src/kube/resources/manifests.ts';
import { cliHere } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf, stateOf } from './commands.ts';
import { CLUSTER_ROLE, DEPLOYMENT, IMAGE, NAME, NAMESPACE, type PodTemplate, readManifests } from './in-cluster.ts';
import { useTestEnv } from './test-env.ts';
import { eventually } from './watching.ts';

const POLICIES = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
const LABEL = 'app.kubernetes.io/name';
const QUOTA = `/api/v1/namespaces/${NAMESPACE}/resourcequotas/${NAME}`;

const testEnv = useTestEnv();
const { ok, refused, unchanged } = commandsOf(testEnv.cluster);
const api = () => raw(testEnv.cluster());

test('install --controller creates the objects once, and writes nothing in dry or second runs', async () => {
  const { objects, policies } = await readManifests();
  const flags = ['install', '--controller', '--image', IMAGE];
  await refused(['install', '--wait'], 2, /--wait is only valid with --controller; next: add --controller/);
  await refused(['install', '--image', IMAGE], 2, /--image is only valid with --controller; next: add --controller/);
  await refused(['install', '--controller', '--image', 'a b'], 2, /--image "a b" is not an image name/);

  const before = await stateOf(testEnv.cluster());
  const yaml = await ok([...flags, '--dry-run', '-o', 'yaml'], { env: { KUBECONFIG: '/nowhere' } });
  assert.equal(yaml.match(/^kind: /gm)?.length, objects.length + 1, 'all documents, and the CRD');
  assert.match(yaml, new RegExp(`image: "${IMAGE}"`));
  const published = await ok(['install', '--controller', '--dry-run', '-o', 'yaml']);
  assert.match(published, new RegExp(`image: ${IMAGE_NAME}:${pjson.version}$`, 'm'));
  const { kind, items } = JSON.parse(await ok([...flags, '--dry-run', '-o', 'json']));
  assert.deepEqual([kind, items.length], ['List', objects.length + 1]);
  const [crd, ...others] = (await ok([...flags, '--dry-run'])).trimEnd().split('\n');
  assert.match(crd ?? '', /^customresourcedefinition.* unchanged \(dry run\)$/);
  assert.equal(others.filter(line => line.endsWith(' created (dry run)')).length, objects.length);
  const without = (await ok([...flags, '--no-policies', '--dry-run'])).trimEnd().split('\n');
  assert.equal(without.length, objects.length + 1 - policies);
  assert.doesNotMatch(without.join('\n'), /admissionpolic/);
  await refused(
    ['install', '--no-policies'],
    2,
    /--no-policies is only valid with --controller; next: add --controller/,
  );
  const unchecked = 'created (server dry run), not validated: namespace nodepool-system does not exist yet';
  const dry = (await ok([...flags, '--dry-run=server'])).split('\n');
  assert.ok(dry.includes(`deployment.apps/${NAME} ${unchecked}`), dry.join('\n'));
  assert.deepEqual(await stateOf(testEnv.cluster()), before);
  assert.equal((await api().request('GET', CLUSTER_ROLE)).status, 404);

  const risky = ['create', 'p', '--node-selector', 'a=b', '--taint', 'k=v:NoSchedule', '--dry-run=server'];
  const unprotected = await unchanged(risky);
  assert.match(
    unprotected.stderr,
    /kubelets can change this label on their own node .*; next: run `kubectl nodepool install --policies`/,
  );

  const lines = (await ok(flags)).trimEnd().split('\n').slice(1);
  assert.equal(lines.length, objects.length);
  assert.ok(
    lines.every(line => line.endsWith(' created')),
    lines.join('\n'),
  );
  assert.equal(await ok(risky), 'nodepool.nodes.lailin.xyz/p created (server dry run)\n');
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

test('aggregates read access to `view` and write access to `admin`', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const roles = ['nodepool.lailin.xyz:view', 'nodepool.lailin.xyz:edit'];
  const labels = await Promise.all(
    roles.map(async role => {
      const { metadata } = (await api().expect('GET', `${rbac}/clusterroles/${role}`)) as ManifestObject;
      return Object.keys(metadata.labels ?? {}).filter(key => key.includes('aggregate'));
    }),
  );
  const aggregate = (to: string) => [`rbac.authorization.k8s.io/aggregate-to-${to}`];
  assert.deepEqual(labels, [aggregate('view'), aggregate('admin')]);
  for (const [role, verb, isAllowed] of [
    ['nodepool.lailin.xyz:view', 'list', true],
    ['nodepool.lailin.xyz:view', 'patch', false],
    ['nodepool.lailin.xyz:edit', 'patch', true],
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

test('neither adopts nor deletes foreign objects with the same names', async () => {
  const rbac = '/apis/rbac.authorization.k8s.io/v1';
  const strip = (path: string) => api().expect('PATCH', path, { metadata: { labels: { [LABEL]: null } } });
  const restore = (path: string) => api().expect('PATCH', path, { metadata: { labels: { [LABEL]: NAME } } });
  const { objects } = await readManifests();
  const labelled = objects.filter(({ metadata }) => metadata.labels !== undefined);
  assert.deepEqual(
    objects
      .filter(object => !labelled.includes(object))
      .map(({ metadata }) => /\.nodes\.lailin\.xyz$/.test(metadata.name)),
    [true, true, true, true],
    'without a label, the name itself is ours',
  );
  // A namespace, a role that people are bound to, one in `default`, and what runs.
  const paths = [
    `/api/v1/namespaces/${NAMESPACE}`,
    `${rbac}/clusterroles/nodepool.lailin.xyz:edit`,
    `${rbac}/namespaces/default/roles/${NAME}`,
    DEPLOYMENT,
  ];
  for (const path of paths) {
    await strip(path);
    const before = await stateOf(testEnv.cluster());
    for (const dryRun of path === DEPLOYMENT ? [[], ['--dry-run'], ['--dry-run=server']] : [[]]) {
      await refused(
        ['install', '--controller', ...dryRun],
        1,
        /^error: \S+ \S+( in namespace \S+)? exists but was not created by kubectl nodepool \(no label app\.kubernetes\.io\/name=nodepool-controller\); nothing was changed; next: .*kubectl label/,
      );
    }
    assert.deepEqual(await stateOf(testEnv.cluster()), before);
    const { stdout, stderr } = await unchanged(['uninstall', '--controller', '--dry-run']);
    assert.match(stderr, /^warning: \S+ \S+( in namespace \S+)? was not created by kubectl nodepool and is kept$/m);
    assert.equal(stdout.match(/ deleted /g)?.length, objects.length - 1);
    await restore(path);
  }
  // One that somebody else applied with other rules keeps them, and whom it is bound to.
  const view = `${rbac}/clusterroles/nodepool.lailin.xyz:view`;
  const rules = [{ apiGroups: ['x.example.com'], resources: ['nodepools'], verbs: ['get'] }];
  await api().expect('DELETE', view);
  await api().expect('POST', `${rbac}/clusterroles`, { metadata: { name: 'nodepool.lailin.xyz:view' }, rules });
  await refused(['install', '--controller'], 1, /^error: ClusterRole nodepool.lailin.xyz:view exists/);
  assert.deepEqual(((await api().expect('GET', view)) as { rules: object[] }).rules, rules);
  await api().expect('DELETE', view);
  // As an earlier version or kubectl applied them: with the label, by another field manager.
  const foreign = await api().request('POST', `${rbac}/clusterroles?fieldManager=kubectl-client-side-apply`, {
    metadata: { name: 'nodepool.lailin.xyz:view', labels: { [LABEL]: NAME } },
    rules,
  });
  assert.equal(foreign.status, 201);
  // It gains rules, and the test before has bound a user to it.
  const { stdout, stderr } = await cliHere(testEnv.cluster(), ['install', '--controller', '--image', IMAGE, '--yes']);
  assert.match(stdout, /clusterrole.rbac.authorization.k8s.io\/nodepool.lailin.xyz:view configured/);
  assert.match(
    stderr,
    /^warning: others would get permissions on pools: ClusterRoleBinding nodepool.lailin.xyz:view-user .*\n$/,
  );
});

test('uninstall refuses while the controller is installed, and --controller deletes only that', async () => {
  await testEnv.pool('one');
  const next = 'first remove the controller: kubectl nodepool uninstall --controller';
  const line = `error: the controller is installed: deployment ${NAME} in namespace ${NAMESPACE}; next: ${next}`;
  await refused(['uninstall', '--cascade', '--yes'], 1, line);
  const { objects } = await readManifests();
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
