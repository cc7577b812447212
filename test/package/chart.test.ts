/** The chart: its objects are those of manifests/ but for what values change; helm installs, upgrades and uninstalls it. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, type TestContext, test } from 'node:test';
import { load } from 'js-yaml';
import { CHART_COPIES } from '../../scripts/build.ts';
import { packChart } from '../../scripts/package/chart.ts';
import { ROOT } from '../../scripts/root.ts';
import { readBornInPool, readController, readControllerWith, readCrd, readPolicies } from '../../src/cli/manifests.ts';
import type { ManifestObject } from '../../src/operations/ports.ts';
import { cli, kubectl, useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { startController } from '../e2e/in-cluster.ts';
import { bindReader, metricsAddress, scrape, tokenOf } from '../e2e/scrape.ts';
import { eventually } from '../e2e/watching.ts';
import { temporaryFolder } from './copy.ts';
import { CHART, useHelm } from './helm.ts';

const NAMESPACE = 'nodepool-system';
const CRD = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodepools.nodes.lailin.xyz';
const POOLS = '/apis/nodes.lailin.xyz/v1/nodepools';
const CLUSTER_BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/nodepool-controller';
const DEPLOYMENT = `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/nodepool-controller`;
/** What Helm asks charts to say of each object. */
const HELM_LABELS = /^(?:helm\.sh\/|app\.kubernetes\.io\/(?:instance|version|managed-by)$)/;

const cluster = useCluster();
const home = await temporaryFolder({ after });

const keyOf = ({ kind, metadata }: ManifestObject) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`;
const byKey = (objects: ManifestObject[]) => new Map(objects.map(object => [keyOf(object), object]));

/** The objects that `kubectl nodepool install --controller` applies, the CRD included. */
async function manifests(): Promise<ManifestObject[]> {
  const [crd, policies, controller] = await Promise.all([readCrd(ROOT), readPolicies(ROOT), readController(ROOT)]);
  return [crd.object as unknown as ManifestObject, ...policies.objects, ...controller.objects];
}

/** The object without Helm's labels and annotation, and without the name label where the manifest has no labels. */
function withoutHelm(object: ManifestObject, expected: ManifestObject): ManifestObject {
  const { labels = {}, annotations = {}, ...metadata } = object.metadata as Record<string, object>;
  const keep = 'labels' in expected.metadata;
  const kept = Object.entries(labels).filter(([key]) => keep && !HELM_LABELS.test(key));
  const notes = Object.entries(annotations).filter(([key]) => key !== 'helm.sh/resource-policy');
  return {
    ...object,
    metadata: {
      ...metadata,
      ...(kept.length > 0 && { labels: Object.fromEntries(kept) }),
      ...(notes.length > 0 && { annotations: Object.fromEntries(notes) }),
    } as ManifestObject['metadata'],
  };
}

test('passes helm lint; its CRD and its policies are those of manifests/', async () => {
  const helm = await useHelm(home);
  await helm.ok('lint', '--strict', CHART);
  for (const file of CHART_COPIES) {
    const [copy, source] = await Promise.all(
      [join(CHART, 'files', file), join(ROOT, 'manifests', file)].map(path => readFile(path, 'utf8')),
    );
    assert.equal(copy, source, `charts/kubectl-nodepool/files/${file} is a copy: npm run build`);
  }
});

test('renders the objects of manifests/, but for the namespace, which Helm creates', async () => {
  const rendered = byKey(await (await useHelm(home)).template());
  const expected = (await manifests()).filter(({ kind }) => kind !== 'Namespace');
  for (const object of expected) {
    const found = rendered.get(keyOf(object));
    assert.ok(found, keyOf(object));
    assert.deepEqual(withoutHelm(found, object), object);
  }
  assert.equal(rendered.size, expected.length);
});

test('pod counts and evictions are those of --pod-counts and --evictions', async () => {
  const rendered = byKey(await (await useHelm(home)).template('--set', 'podCounts=true,evictions=true'));
  const { objects } = await readControllerWith(ROOT, undefined, { podCounts: true, evictions: true });
  for (const object of objects.filter(({ kind }) => kind === 'ClusterRole' || kind === 'Deployment')) {
    assert.deepEqual(withoutHelm(rendered.get(keyOf(object)) as ManifestObject, object), object);
  }
});

test('each value reaches its object, and none is taken for another', async () => {
  const helm = await useHelm(home);
  const template = async (...args: string[]) => byKey(await helm.template(...args));
  const text = async (...args: string[]) => JSON.stringify([...(await template(...args)).values()]);
  const digest = `sha256:${'a'.repeat(64)}`;
  assert.match(await text('--set', `image.digest=${digest}`), new RegExp(`kubectl-nodepool@${digest}"`));
  assert.match(await text('--set', 'image.tag=1.2.3'), /kubectl-nodepool:1\.2\.3"/);
  assert.match(await text('--set', 'extraArgs={--v=4}'), /"--log-format=json","--v=4"/);
  assert.match(await text('--set', 'imagePullSecrets[0].name=s'), /"imagePullSecrets":\[\{"name":"s"\}\]/);
  assert.match(await text('--set', 'nodeSelector.disk=ssd'), /"nodeSelector":\{"disk":"ssd"\}/);
  assert.match(
    await text('--set', 'podLabels.team=a,podAnnotations.note=b'),
    /"team":"a".*"note":"b"|"note":"b".*"team":"a"/,
  );
  assert.doesNotMatch(await text('--set', 'priorityClassName='), /PriorityClass|priorityClassName/);
  assert.match(await text('--set', 'podDisruptionBudget.maxUnavailable=50%'), /"maxUnavailable":"50%"/);
  // Helm merges maps.
  assert.match(
    await text('--set', 'networkPolicy.namespaceSelector.matchLabels.team=a'),
    /"matchLabels":\{"metrics":"enabled","team":"a"\}/,
  );
  const gone: [value: string, kind: string][] = [
    ['resourceQuota.enabled', 'ResourceQuota'],
    ['podDisruptionBudget.enabled', 'PodDisruptionBudget'],
    ['networkPolicy.enabled', 'NetworkPolicy'],
    ['policies.enabled', 'ValidatingAdmissionPolicy'],
    ['crds.install', 'CustomResourceDefinition'],
  ];
  const api = ['--api-versions', 'admissionregistration.k8s.io/v1/MutatingAdmissionPolicy'];
  const born = await template('--set', 'policies.enabled=false,policies.bornInPool=true', ...api);
  for (const object of (await readBornInPool(ROOT)).objects)
    assert.deepEqual(withoutHelm(born.get(keyOf(object)) ?? object, object), object);
  assert.equal([...born.keys()].filter(key => key.includes('AdmissionPolicy')).length, 2);
  await assert.rejects(template('--set', 'policies.bornInPool=true'), /Kubernetes has from 1\.36 on/);
  const all = await template();
  for (const [value, kind] of gone) {
    const left = await template('--set', `${value}=false`);
    assert.ok([...all.keys()].some(key => key.startsWith(`${kind} `)));
    assert.ok(![...left.keys()].some(key => key.startsWith(`${kind} `)), value);
  }
});

test('monitoring is off by default, and as the Prometheus operator and Grafana ask for it when it is on', async () => {
  const helm = await useHelm(home);
  const rendered = await helm.template(
    ...['--set', 'serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboard.enabled=true'],
    ...['--set', 'serviceMonitor.interval=15s,serviceMonitor.labels.release=p,prometheusRule.labels.release=p'],
  );
  const of = (kind: string) => rendered.find(object => object.kind === kind) as ManifestObject & Record<string, never>;
  const service = rendered.find(({ kind }) => kind === 'Service') as unknown as {
    metadata: { labels: object };
    spec: object;
  };
  const monitor = of('ServiceMonitor') as unknown as {
    metadata: { labels: Record<string, string> };
    spec: Record<string, never>;
  };
  const { selector, endpoints } = monitor.spec as unknown as { selector: { matchLabels: object }; endpoints: object[] };
  assert.deepEqual(endpoints, [{ port: 'metrics', interval: '15s' }]);
  assert.deepEqual({ ...service.metadata.labels, ...selector.matchLabels }, service.metadata.labels);
  const rule = of('PrometheusRule') as unknown as { metadata: { labels: Record<string, string> }; spec: object };
  assert.deepEqual([monitor.metadata.labels.release, rule.metadata.labels.release], ['p', 'p']);
  assert.deepEqual(rule.spec, load(await readFile(join(CHART, 'files/alerts.yaml'), 'utf8')));
  const maps = rendered.filter(({ kind }) => kind === 'ConfigMap') as unknown as { data: Record<string, string> }[];
  const dashboard = JSON.parse(await readFile(join(CHART, 'files/dashboard.json'), 'utf8'));
  assert.deepEqual(JSON.parse(maps[0]?.data['kubectl-nodepool.json'] ?? ''), dashboard);
});

test('metrics.secure: HTTPS for readers with the permission, with a certificate of a Secret', async () => {
  const helm = await useHelm(home);
  const text = async (...sets: string[]) =>
    JSON.stringify(await helm.template('--set', ['serviceMonitor.enabled=true', ...sets].join(',')));
  assert.doesNotMatch(await text('metrics.certSecret=tls'), /metrics-cert|tokenreviews|"scheme"/);
  const secure = await text('metrics.secure=true');
  assert.match(secure, /"--metrics-bind-address=:8080","--metrics-secure","--log-format/);
  assert.match(secure, /"scheme":"https".*"insecureSkipVerify":true/);
  assert.doesNotMatch(secure, /metrics-cert/);
  const named = await text('metrics.secure=true', 'metrics.certSecret=tls');
  assert.match(named, /"--metrics-cert-path=\/etc\/metrics-cert"/);
  assert.match(named, /"volumes":\[\{"name":"metrics-cert","secret":\{"secretName":"tls"\}\}\]/);
  assert.match(named, /"serverName":"nodepool-controller-metrics\.nodepool-system\.svc"/);
  assert.match(named, /"ca":\{"secret":\{"name":"tls","key":"ca\.crt"\}\}/);
});

test('refuses values that it does not know, and a namespace of others', async () => {
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
    ['tolerations[0].efect=NoSchedule', /tolerations\/0.*'efect' not allowed/s],
    ['tolerations[0].effect=Always', /tolerations\/0\/effect/],
    // No drain would end.
    ['podDisruptionBudget.maxUnavailable=0', /maxUnavailable/],
    ['podDisruptionBudget.maxUnavailable=0%', /maxUnavailable/],
  ];
  for (const [set, expected] of values) await refused(expected, '--namespace', NAMESPACE, '--set', set);
  // A second controller, with a lease of its own, or one that `kubectl nodepool` does not find.
  await refused(/--namespace nodepool-system --create-namespace/, '--namespace', 'infra');
});

test('helm installs, upgrades and uninstalls it; the CRD and the pools stay', async t => {
  const api = raw(cluster());
  const helm = await useHelm(home, cluster().kubeconfig);
  // As it is published.
  const chart = await packChart(home);
  const where = ['nodepool', chart, '--namespace', NAMESPACE];
  assert.match(await helm.ok('install', ...where, '--create-namespace'), /kubectl nodepool create worker/);
  await api.expect('POST', POOLS, { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: 'kept' } });
  const read = async () =>
    (await api.expect('GET', DEPLOYMENT)) as { metadata: { generation: number }; spec: { replicas: number } };
  const before = await read();
  // Server-side apply of the same objects changes nothing.
  await helm.ok('upgrade', ...where);
  assert.equal((await read()).metadata.generation, before.metadata.generation);
  await helm.ok('upgrade', ...where, '--set', 'replicas=3');
  assert.equal((await read()).spec.replicas, 3);
  // A second release would be a second controller.
  const second = await helm.run('install', 'other', chart, '--namespace', NAMESPACE);
  assert.notEqual(second.code, 0);
  assert.match(second.stderr, /nodepool/);

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

  await helm.ok('upgrade', ...where, '--set', 'metrics.secure=true');
  await readsMetrics(t);

  await api.expect('PATCH', CRD, { spec: { names: { categories: ['other'] } } });
  const installed = await cli(cluster(), ['install']);
  assert.equal(installed.code, 0, installed.stderr);
  assert.match(installed.stderr, /warning: the CRD belongs to the Helm release nodepool in namespace nodepool-system/);
  await helm.ok('upgrade', ...where, '--force-conflicts');

  await helm.ok('uninstall', 'nodepool', '--namespace', NAMESPACE);
  assert.equal((await api.request('GET', DEPLOYMENT)).status, 404);
  assert.equal((await api.request('GET', CRD)).status, 200);
  assert.equal((await api.request('GET', `${POOLS}/kept`)).status, 200);
});

/** The role of the chart lets a controller decide who reads, and its ClusterRole nodepool-metrics-reader lets readers in. */
async function readsMetrics(t: TestContext): Promise<void> {
  const token = await tokenOf(cluster(), 'reader');
  const watching = await startController(t, cluster());
  const address = metricsAddress(watching.log());
  assert.equal((await scrape(address, token, { rejectUnauthorized: false })).status, 403);
  await bindReader(cluster(), 'reader', 'nodepool-metrics-reader');
  await eventually(
    'the reader is let in',
    async () => (await scrape(address, token, { rejectUnauthorized: false })).status === 200,
  );
  assert.equal(await watching.end(), 0);
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
