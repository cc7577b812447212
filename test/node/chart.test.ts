/** The chart on a real node: its pods run, the pool gives the node what it asks for, and an alert says what breaks. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, suite, test } from 'node:test';
import { nodeObstacle } from '../cluster/node/start.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from '../e2e/commands.ts';
import type { LiveNode } from '../e2e/test-env.ts';
import { eventually } from '../e2e/watching.ts';
import { temporaryFolder } from '../package/copy.ts';
import { CHART, type Helm, useHelm } from '../package/helm.ts';
import { followAlerts, quickRules, startPrometheus } from '../package/prometheus.ts';
import { becomes, type Contents, contents } from './contents.ts';
import { useNodeEnv } from './node-env.ts';

const NAMESPACE = 'nodepool-system';
const PODS = `/api/v1/namespaces/${NAMESPACE}/pods`;
const BINDING = '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/nodepool-controller';
const obstacle = await nodeObstacle();

suite('the chart on a real node', { skip: obstacle ?? false }, () => {
  const env = useNodeEnv('real-1');
  const { ok } = commandsOf(env.cluster);
  const api = () => raw(env.cluster());
  const node = async () => (await api().expect('GET', '/api/v1/nodes/real-1')) as LiveNode;
  const pods = async () =>
    ((await api().expect('GET', PODS)) as { items: { status: { podIP?: string } }[] }).items.map(
      ({ status }) => status,
    );
  let helm: Helm | undefined;
  let before: Contents | undefined;
  const runHelm = (...args: string[]) => helm?.ok(...args, '--namespace', NAMESPACE);

  test('helm install: two pods get ready, and reconcile', { timeout: 180_000 }, async () => {
    before = await contents(env.cluster());
    const networks = await podNetworks();
    helm = await useHelm(await temporaryFolder({ after }), env.cluster().kubeconfig);
    // --wait reads the Deployment by kstatus; the classes of the pods must be allowed in this namespace.
    const flags = ['--create-namespace', '--set', 'podCounts=true,extraArgs={--resync=2s}', '--wait', '--timeout=120s'];
    await runHelm('install', 'nodepool', CHART, ...flags);
    await ok(['create', 'real', '--nodes', 'real-1', '--label', 'tier=gold']);
    await eventually('the node has the label', async () => (await node()).metadata.labels.tier === 'gold');
    await eventually('its pods are counted', async () => {
      const { status } = JSON.parse(await ok(['get', 'real', '-o', 'json'])) as { status?: { podCount?: number } };
      return status?.podCount === 2;
    });
    assert.deepEqual(await podNetworks(), networks, 'a node that is stopped now would leave files on the machine');
  });

  test('an alert says that a permission is missing, until helm upgrade restores it', { timeout: 180_000 }, async t => {
    const targets = (await pods()).map(({ podIP }) => `${podIP}:8080`);
    assert.equal(targets.length, 2);
    const proxy = await env.node('real-1').podProxy();
    const folder = await temporaryFolder(t);
    const prometheus = await startPrometheus(t, folder, { targets, proxy, rules: await quickRules() });
    const { fire, clear } = followAlerts(prometheus);
    await eventually('both pods are scraped', async () => (await prometheus.query('nodepool_build_info')).length === 2);
    await clear('nothing is broken');

    await api().expect('DELETE', BINDING);
    await env.kubectl('label', 'node', 'real-1', 'tier-');
    await fire('a missing permission', 'NodePoolReconcileErrors ');
    assert.equal((await node()).metadata.labels.tier, undefined);
    await runHelm('upgrade', 'nodepool', CHART, '--reuse-values');
    await clear('the permission');
    await eventually('the node has the label again', async () => (await node()).metadata.labels.tier === 'gold');
  });

  test('helm uninstall leaves the pool; without that and the CRD, nothing is left', { timeout: 120_000 }, async () => {
    await runHelm('uninstall', 'nodepool', '--wait', '--timeout=60s');
    await eventually('its pods are gone', async () => (await pods()).length === 0);
    await ok(['delete', 'real', '--detach-nodes', '--yes']);
    await ok(['uninstall', '--yes']);
    // Helm does not delete the namespace that it created.
    await env.kubectl('delete', 'namespace', NAMESPACE);
    await becomes(env.cluster(), before);
  });
});

/** Files to which containerd binds the network namespaces of pods, where it is not told otherwise. */
async function podNetworks(): Promise<string[]> {
  return (await readdir('/run/netns').catch(() => [])).filter(file => file.startsWith('cni-')).sort();
}
