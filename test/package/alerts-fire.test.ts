/**
 * Each alert under a real fault, in a real Prometheus that scrapes a real watch, and its end afterwards. The dashboard's
 * queries have values there.
 */
import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, test } from 'node:test';
import { RECORD_ANNOTATION } from '../../src/nodepool/types.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from '../e2e/commands.ts';
import { useCrd } from '../e2e/earlier-crd.ts';
import { whileHanging } from '../e2e/hanging-webhook.ts';
import { CLUSTER_ROLE, IMAGE, NAME, startController } from '../e2e/in-cluster.ts';
import { nodeRefusal, whileRefusing } from '../e2e/refusal.ts';
import { role, useTestEnv } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { temporaryFolder } from './copy.ts';
import { DASHBOARD, followAlerts, type Prometheus, quickRules, startPrometheus } from './prometheus.ts';

const BINDING = `/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/${NAME}`;
/** So many pools of a node with so many resources each are more than the 10,000 series that are shown. */
const [POOLS, RESOURCES] = [79, 128];
const testEnv = useTestEnv();
const { ok } = commandsOf(testEnv.cluster);
const folder = await temporaryFolder({ after });

test('each alert fires under its fault and clears after it; every query of the dashboard has values', {
  timeout: 400_000,
}, async t => {
  const rules = await quickRules();
  const cluster = testEnv.cluster();
  await testEnv.nodes(
    { name: 'a', labels: role('web') },
    { name: 'b', labels: { ...role('web'), ...role('late') } },
    { name: 'c', labels: role('idle'), ready: false },
  );
  await testEnv.pool('web', { labels: { tier: 'gold' } });
  // Written before the CRD had rules.
  await useCrd(cluster, 'earlier schema');
  await testEnv.pool('old', { labels: { 'no key': '' } });
  await useCrd(cluster, 'ours');
  // The jobs of the dashboard's queries and its lease: as the Deployment starts it.
  await ok(['install', '--controller', '--image', IMAGE]);
  const watching = await startController(t, cluster, '--resync', '2s');
  const [, target = ''] = /metrics on http:\/\/([0-9.:]+)/.exec(watching.log()) ?? [];
  const prometheus = await startPrometheus(t, folder, { targets: [target], rules });
  const { fire, clear, cleared } = followAlerts(prometheus);

  await fire('an invalid spec', 'NodePoolSpecInvalid old');
  await testEnv.edit('old', { spec: { labels: { 'no key': null } } });
  await clear('the spec');

  await testEnv.pool('late', {}, { younger: true });
  await testEnv.pool('idle');
  await testEnv.patchNode('a', { metadata: { annotations: { [RECORD_ANNOTATION]: 'garbage' } } });
  await fire(
    'pools that share a node, no ready node, a record that is none',
    'NodePoolConflict late',
    'NodePoolInvalidRecords web',
    'NodePoolNoReadyNode idle',
  );
  // Here, where some pools are not normal.
  await queryDashboard(prometheus);
  await testEnv.patchNode('b', { metadata: { labels: { 'node-role.kubernetes.io/late': null } } });
  await testEnv.patchNode('c', { metadata: { labels: { 'node-role.kubernetes.io/idle': null } } });
  await clear('nodes and record');

  for (let round = 1; round <= 3; round++) {
    await testEnv.patchNode('a', { metadata: { labels: { tier: `theirs-${round}` } } });
    await eventually('it is set again', async () => (await testEnv.node('a')).metadata.labels.tier === 'gold');
  }
  await fire('a label that somebody keeps changing', 'NodePoolContested web');
  await testEnv.edit('web', { spec: { labels: { tier: 'copper' } } });
  await clear('the label');

  await whileRefusing(cluster, nodeRefusal('a', { key: 'tier', value: 'silver' }), async () => {
    await testEnv.edit('web', { spec: { labels: { tier: 'silver' } } });
    const ofPool = ['NodePoolDrift web', 'NodePoolReconcileStale web', 'NodePoolWritesFail web'];
    await fire('writes fail', ...ofPool, 'NodePoolReconcileErrors ');
  });
  await clear('the writes');

  const api = raw(cluster);
  const { metadata: _, ...binding } = (await api.expect('GET', BINDING)) as { metadata: object };
  await api.expect('DELETE', BINDING);
  await fire('missing permissions', 'NodePoolReconcileErrors ');
  assert.equal((await prometheus.query('nodepool_status_code != 200')).length, 0, 'the status cannot say it');
  await api.expect('POST', BINDING.slice(0, BINDING.lastIndexOf('/')), { ...binding, metadata: { name: NAME } });
  await clear('the permissions');

  // The role of a version that had no status.
  const { rules: granted } = (await api.expect('GET', CLUSTER_ROLE)) as { rules: { resources: string[] }[] };
  const fewer = granted.filter(({ resources }) => !resources.includes('nodepools/status'));
  await api.expect('PATCH', CLUSTER_ROLE, { rules: fewer });
  await testEnv.edit('web', { spec: { labels: { tier: 'bronze' } } });
  await fire('a status that cannot be written', 'NodePoolNotReconciled web');
  await api.expect('PATCH', CLUSTER_ROLE, { rules: granted });
  await clear('the status');

  await whileHanging(cluster, 'a', async () => {
    await testEnv.edit('web', { spec: { labels: { tier: 'iron' } } });
    await fire('a write that waits', 'NodePoolReconcilesStuck ');
  });
  await clear('the write');

  const large = Array.from({ length: POOLS }, (_, index) => `large-${index}`);
  const allocatable = Object.fromEntries(
    Array.from({ length: RESOURCES }, (_, index) => [`example.com/resource-${index}`, '1']),
  );
  await testEnv.nodes(...large.map(name => ({ name, labels: role(name), allocatable })));
  await Promise.all(large.map(name => testEnv.pool(name)));
  await fire('more series than are shown', 'NodePoolSeriesOmitted ');
  await ok(['delete', 'large-0', 'large-1', '--yes']);
  await clear('the series');

  assert.equal(await watching.end('SIGTERM'), 0);
  await fire('no controller', 'NodePoolControllerDown ');
  await startController(t, cluster, '--resync', '2s', `--metrics-bind-address=${target}`);
  await clear('the controller');

  const all = rules.groups
    .flatMap(group => group.rules.map(({ alert }) => alert))
    // Of a node that registered 15 minutes ago: see alerts.test.ts.
    .filter(alert => alert !== 'NodePoolStartupTaintsStuck');
  assert.deepEqual([...cleared].toSorted(), all.toSorted(), 'each alert had its fault here');
});

/** Each query has series, and each of them is a number: `or vector(0)`, which always is one, is left out. */
async function queryDashboard(prometheus: Prometheus): Promise<void> {
  const { panels } = JSON.parse(await readFile(DASHBOARD, 'utf8')) as {
    panels: { title: string; targets: { expr: string }[] }[];
  };
  for (const { title, targets } of panels) {
    for (const { expr } of targets) {
      const query = expr.replaceAll('$pool', '.*').replaceAll(' or vector(0)', '');
      assert.ok(!query.includes('vector('), `${title} has a value without a series: ${query}`);
      await eventually(`${title}: ${expr}`, async () => {
        const values = (await prometheus.query(query)).map(({ value }) => Number(value[1]));
        return values.length > 0 && values.every(value => Number.isFinite(value));
      });
    }
  }
}
