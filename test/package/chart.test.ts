/** The chart: its objects are those of manifests/ but for what values change; helm installs, upgrades and uninstalls it. chart-values.test.ts has its values. */
import assert from 'node:assert/strict';
import { cpSync, rmSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { packChart } from '../../scripts/package/chart.ts';
import { ROOT } from '../../scripts/root.ts';
import { readController, readControllerWith, readCrd, readPolicies } from '../../src/cli/manifests.ts';
import type { ManifestObject } from '../../src/kube/resources/manifests.ts';
import { cli, kubectl, useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { eventually } from '../e2e/watching.ts';
import { temporaryFolder } from './copy.ts';
import { byKey, CHART, keyOf, useHelm, withoutHelm } from './helm.ts';

const NAMESPACE = 'nodepool-system';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const CLUSTER_BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/nodepool-controller';
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/nodepool-controller`;

const cluster = useCluster();
const home = await temporaryFolder({ after });

/** The objects that `kubectl nodepool install --controller` applies, the CRD included. */
async function manifests(): Promise<ManifestObject[]> {
  const [crd, policies, controller] = await Promise.all([readCrd(ROOT), readPolicies(ROOT), readController(ROOT)]);
  return [crd.object as unknown as ManifestObject, ...policies.objects, ...controller.objects];
}

test('passes helm lint, and explains a checkout without symbolic links', async t => {
  const helm = await useHelm(home);
  await helm.ok('lint', '--strict', CHART);
  const chart = join(await temporaryFolder(t), 'chart');
  cpSync(CHART, chart, { recursive: true });
  // As git writes a link there.
  rmSync(join(chart, 'files/protect-records.yaml'));
  await writeFile(join(chart, 'files/protect-records.yaml'), '../../../manifests/protect-records.yaml');
  const { code, stderr } = await helm.run('template', 'nodepool', chart, '--namespace', NAMESPACE);
  assert.equal(code, 1);
  assert.match(stderr, /no symbolic links; use oci:.*, or copy manifests\/protect-records\.yaml there/);
});

test('renders the objects of manifests/ except the namespace, which Helm creates', async () => {
  const rendered = byKey(await (await useHelm(home)).template());
  const expected = (await manifests()).filter(({ kind }) => kind !== 'Namespace');
  for (const object of expected) {
    const found = rendered.get(keyOf(object));
    assert.ok(found, keyOf(object));
    assert.deepEqual(withoutHelm(found, object), object);
  }
  assert.equal(rendered.size, expected.length);
});

test('pod counts and evictions match --pod-counts and --evictions', async () => {
  const rendered = byKey(await (await useHelm(home)).template('--set', 'podCounts=true,evictions=true'));
  const { objects } = await readControllerWith(ROOT, undefined, { podCounts: true, evictions: true });
  for (const object of objects.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Deployment')) {
    assert.deepEqual(withoutHelm(rendered.get(keyOf(object)) as ManifestObject, object), object);
  }
});

test('refuses unknown values and the namespaces of others', async () => {
  const helm = await useHelm(home);
  const refused = async (expected: RegExp, ...args: string[]) => {
    const { code, stderr } = await helm.run('template', 'nodepool', CHART, ...args);
    assert.notEqual(code, 0);
    assert.match(stderr, expected);
  };
  await refused(/'replica' not allowed/, '--namespace', NAMESPACE, '--set', 'replica=3');
  await refused(/image\/digest/, '--namespace', NAMESPACE, '--set', 'image.digest=latest');
  const values: [set: string, expected: RegExp][] = [
    // The Deployment would not find its pods.
    ['podLabels.app\\.kubernetes\\.io/name=x', /podLabels/],
    // The policy would admit every namespace.
    ['networkPolicy.namespaceSelector=null', /namespaceSelector/],
    ['tolerations[0].effect=Always', /tolerations\/0\/effect/],
    // No drain would end.
    ['podDisruptionBudget.maxUnavailable=0%', /maxUnavailable/],
  ];
  for (const [set, expected] of values) await refused(expected, '--namespace', NAMESPACE, '--set', set);
  // A second controller, with a lease of its own, or one that `kubectl nodepool` does not find.
  await refused(/--namespace nodepool-system --create-namespace/, '--namespace', 'infra');
});

test('helm installs, upgrades and uninstalls the chart, and keeps the CRD and the pools', async () => {
  const api = raw(cluster());
  const helm = await useHelm(home, cluster().kubeconfig);
  // As it is published.
  const chart = await packChart(home);
  const where = ['nodepool', chart, '--namespace', NAMESPACE];
  const notes = await helm.ok('install', ...where, '--create-namespace');
  assert.match(notes, /kubectl nodepool create worker/);
  await admitsItsPods(notes);
  await api.expect('POST', POOLS, { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'kept' } });
  const generation = async () =>
    ((await api.expect('GET', DEPLOYMENT)) as { metadata: { generation: number } }).metadata.generation;
  const before = await generation();
  // Server-side apply of the same objects changes nothing.
  await helm.ok('upgrade', ...where);
  assert.equal(await generation(), before);

  // The other way of installing leaves the release to Helm.
  for (const command of ['install', 'uninstall']) {
    const { code, stderr } = await cli(
      cluster(),
      [command, '--controller', '--yes'].slice(0, command === 'install' ? 2 : 3),
    );
    assert.equal(code, 1, stderr);
    assert.match(stderr, /belongs to the Helm release nodepool in namespace nodepool-system; nothing was changed/);
    assert.match(stderr, new RegExp(`helm ${command === 'install' ? 'upgrade' : 'uninstall'} nodepool `));
  }

  await api.expect('DELETE', CLUSTER_BINDING);
  await eventually('doctor names the command of Helm', async () => {
    const { stdout } = await cli(cluster(), ['doctor', '-o', 'json']);
    const { checks } = JSON.parse(stdout) as { checks: { id: string; remedy?: string }[] };
    const { remedy = '' } = checks.find(({ id }) => id === 'controller-permissions') ?? {};
    return /^run `helm upgrade nodepool \S+ --namespace nodepool-system --reuse-values`/.test(remedy);
  });
  await helm.ok('upgrade', ...where, '--reuse-values');
  await api.expect('GET', CLUSTER_BINDING);

  await api.expect('PATCH', CRD, { spec: { names: { categories: ['other'] } } });
  const installed = await cli(cluster(), ['install']);
  assert.equal(installed.code, 0, installed.stderr);
  assert.match(installed.stderr, /warning: the CRD belongs to the Helm release nodepool in namespace nodepool-system/);
  // Helm 3 merges, and has no such flag.
  const isHelm3 = (await helm.ok('version', '--short')).startsWith('v3.');
  await helm.ok('upgrade', ...where, ...(isHelm3 ? [] : ['--force-conflicts']));

  await helm.ok('uninstall', 'nodepool', '--namespace', NAMESPACE);
  assert.equal((await api.request('GET', DEPLOYMENT)).status, 404);
  assert.equal((await api.request('GET', CRD)).status, 200);
  assert.equal((await api.request('GET', `${POOLS}/kept`)).status, 200);
});

/** Once the namespace enforces `restricted`, as the notes say how to: as the namespace of `install --controller` does. */
async function admitsItsPods(notes: string): Promise<void> {
  const [, line = ''] = /^ +kubectl (label namespace .*)$/m.exec(notes) ?? [];
  const labelled = await kubectl(cluster(), line.split(' '));
  assert.deepEqual([labelled.code, labelled.stderr], [0, '']);
  const api = raw(cluster());
  const path = `/api/v1/namespaces/${NAMESPACE}`;
  const namespace = (await manifests()).find(({ kind }) => kind === 'Namespace');
  for (const object of [namespace, await api.expect('GET', path)]) {
    const { labels } = (object as { metadata: { labels: Record<string, string> } }).metadata;
    assert.equal(labels['pod-security.kubernetes.io/enforce'], 'restricted');
  }
  const { spec } = (await api.expect('GET', DEPLOYMENT)) as { spec: { template: { spec: object } } };
  const pod = (of: object) => ({ metadata: { generateName: 'pod-' }, spec: { ...spec.template.spec, ...of } });
  await api.expect('POST', `${path}/pods?dryRun=All`, pod({}));
  const { status, body } = await api.request('POST', `${path}/pods?dryRun=All`, pod({ hostNetwork: true }));
  assert.equal(status, 403);
  assert.match(JSON.stringify(body), /violates PodSecurity .*restricted/);
}

test('kubectl apply -k manifests/ applies the same objects', async () => {
  const applied = await kubectl(cluster(), [
    'apply',
    '--server-side',
    '--force-conflicts',
    '-k',
    join(ROOT, 'manifests'),
  ]);
  assert.equal(applied.code, 0, applied.stderr);
  assert.equal(applied.stdout.trim().split('\n').length, (await manifests()).length);
});
