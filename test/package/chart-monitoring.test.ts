/** Metrics, alerts and dashboard of the chart, on a server that knows the kinds of the Prometheus operator. */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { load } from 'js-yaml';
import type { ManifestObject } from '../../src/kube/resources/manifests.ts';
import { useCluster } from '../cluster/harness.ts';
import { raw } from '../cluster/raw.ts';
import { temporaryFolder } from './copy.ts';
import { CHART, useHelm } from './helm.ts';
import { installMonitoring, monitoringObstacle } from './monitoring.ts';

const NAMESPACE = 'nodepool-system';
const MONITORING = ['serviceMonitor.enabled=true', 'prometheusRule.enabled=true', 'dashboard.enabled=true'];
const GROUP = `/apis/monitoring.coreos.com/v1/namespaces/${NAMESPACE}`;
const OBJECTS: Record<string, string> = {
  ServiceMonitor: `${GROUP}/servicemonitors/nodepool-controller`,
  PrometheusRule: `${GROUP}/prometheusrules/nodepool-controller`,
  Service: `/api/v1/namespaces/${NAMESPACE}/services/nodepool-controller-metrics`,
  ConfigMap: `/api/v1/namespaces/${NAMESPACE}/configmaps/nodepool-controller-dashboard`,
};

interface Live {
  metadata: { labels: Record<string, string> };
  spec: object;
  data?: Record<string, string>;
}

const cluster = useCluster();
const home = await temporaryFolder({ after });

test('helm installs, changes and removes the objects for Prometheus operator and Grafana', {
  skip: monitoringObstacle() ?? false,
}, async () => {
  await installMonitoring(cluster());
  const api = raw(cluster());
  const helm = await useHelm(home, cluster().kubeconfig);
  const where = ['nodepool', CHART, '--namespace', NAMESPACE];
  const live = async (kind: string) => (await api.expect('GET', OBJECTS[kind] ?? '')) as Live;
  // A field that the CRD does not know is not in what the server keeps.
  const apply = async (verb: string, ...more: string[]) => {
    const sets = ['--set', [...MONITORING, ...more].join(',')];
    const rendered = await helm.template(...sets);
    await helm.ok(verb, ...where, ...(verb === 'install' ? ['--create-namespace'] : []), ...sets);
    for (const kind of Object.keys(OBJECTS)) {
      const { spec, data } = rendered.find(object => object.kind === kind) as ManifestObject & Partial<Live>;
      assert.partialDeepStrictEqual(await live(kind), { ...(spec && { spec }), ...(data && { data }) });
    }
  };

  await apply('install', 'serviceMonitor.labels.release=p', 'prometheusRule.labels.release=q', 'metrics.secure=true');
  const [monitor, rule, service] = [await live('ServiceMonitor'), await live('PrometheusRule'), await live('Service')];
  assert.deepEqual([monitor.metadata.labels.release, rule.metadata.labels.release], ['p', 'q']);
  assert.deepEqual(rule.spec, load(await readFile(join(CHART, 'files/alerts.yaml'), 'utf8')));
  const { selector } = monitor.spec as { selector: { matchLabels: Record<string, string> } };
  assert.partialDeepStrictEqual(service.metadata.labels, selector.matchLabels);
  const { spec } = (await api.expect(
    'GET',
    `/apis/apps/v1/namespaces/${NAMESPACE}/deployments/nodepool-controller`,
  )) as { spec: { template: { metadata: { labels: Record<string, string> } } } };
  const pods = (service.spec as { selector: Record<string, string> }).selector;
  assert.partialDeepStrictEqual(spec.template.metadata.labels, pods, 'the Service has the pods');
  const dashboard = JSON.parse(await readFile(join(CHART, 'files/dashboard.json'), 'utf8'));
  assert.deepEqual(JSON.parse((await live('ConfigMap')).data?.['kubectl-nodepool.json'] ?? ''), dashboard);

  await apply('upgrade', 'metrics.secure=true', 'metrics.certSecret=tls', 'serviceMonitor.interval=15s');
  await helm.ok('uninstall', 'nodepool', '--namespace', NAMESPACE);
  for (const path of Object.values(OBJECTS)) assert.equal((await api.request('GET', path)).status, 404, path);
});
