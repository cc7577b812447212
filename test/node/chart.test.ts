/** The chart on a real node: its pods run, and the pool gives the node what it asks for. */
import assert from 'node:assert/strict';
import { readdir } from 'node:fs/promises';
import { after, suite, test } from 'node:test';
import { nodeObstacle } from '../cluster/node/start.ts';
import { raw } from '../cluster/raw.ts';
import { commandsOf } from '../e2e/commands.ts';
import { eventually } from '../e2e/watching.ts';
import { temporaryFolder } from '../package/copy.ts';
import { CHART, useHelm } from '../package/helm.ts';
import { useNodeEnv } from './node-env.ts';

const NAMESPACE = 'nodepool-system';
const obstacle = await nodeObstacle();

suite('the chart on a real node', { skip: obstacle ?? false }, () => {
  const env = useNodeEnv('real-1');
  const { ok } = commandsOf(env.cluster);
  const api = () => raw(env.cluster());

  test('helm install: two pods get ready, and reconcile', { timeout: 180_000 }, async () => {
    const before = await podNetworks();
    const helm = await useHelm(await temporaryFolder({ after }), env.cluster().kubeconfig);
    // --wait reads the Deployment by kstatus; the classes of the pods must be allowed in this namespace.
    const flags = [
      '--namespace',
      NAMESPACE,
      '--create-namespace',
      '--set',
      'podCounts=true',
      '--wait',
      '--timeout=120s',
    ];
    await helm.ok('install', 'nodepool', CHART, ...flags);
    await ok(['create', 'real', '--nodes', 'real-1', '--label', 'tier=gold']);
    await eventually('the node has the label', async () => {
      const { metadata } = (await api().expect('GET', '/api/v1/nodes/real-1')) as { metadata: { labels: object } };
      return 'tier' in metadata.labels;
    });
    await eventually('its pods are counted', async () => {
      const { status } = JSON.parse(await ok(['get', 'real', '-o', 'json'])) as { status?: { podCount?: number } };
      return status?.podCount === 2;
    });
    assert.deepEqual(await podNetworks(), before, 'a node that is stopped now would leave files on the machine');
    await helm.ok('uninstall', 'nodepool', '--namespace', NAMESPACE, '--wait', '--timeout=60s');
    await eventually('its pods are gone', async () => {
      const { items } = (await api().expect('GET', `/api/v1/namespaces/${NAMESPACE}/pods`)) as { items: object[] };
      return items.length === 0;
    });
    await ok(['get', 'real']);
  });
});

/** Files to which containerd binds the network namespaces of pods, where it is not told otherwise. */
async function podNetworks(): Promise<string[]> {
  return (await readdir('/run/netns').catch(() => [])).filter(file => file.startsWith('cni-')).sort();
}
