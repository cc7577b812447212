/**
 * docs/commands/drain.md on a cluster with controllers. StatefulSets recreate pods under the same names, and a node has
 * room for one, so each run prints the same.
 */
import { after, describe, test } from 'node:test';
import { ensureBinaries } from '../cluster/binaries.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { CONTROLLER_BINARIES, type Controllers, startControllers } from '../cluster/controllers.ts';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { raw } from '../cluster/raw.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';
import { eventually } from './watching.ts';

const PAGE = 'docs/commands/drain.md';
const MAX_MS = 300_000;
const PODS = '/api/v1/namespaces/default/pods';
const SETS = '/apis/apps/v1/namespaces/default/statefulsets';
const BUDGETS = '/apis/policy/v1/namespaces/default/poddisruptionbudgets';

describe('drain.md', () => {
  let controllers: Controllers | undefined;
  // Hooks run in the order in which they are written: this one before the control plane's end.
  after(async () => controllers?.stop());
  const cluster = useCluster({ crd: true, own: true }, async started => {
    await ensureBinaries(CONTROLLER_BINARIES);
    controllers = await startControllers(started);
  });

  test('shows the real output of its commands', { timeout: MAX_MS }, async () => {
    await workload(cluster());
    const sh = await pageShell(cluster(), await readPage(PAGE));
    await allowed(sh, 'kubectl nodepool create worker --reconcile');
    await followPage(PAGE, sh, {
      'kubectl nodepool drain worker --delete-emptydir-data --yes': [[/waits for PodDisruptionBudget/, '^C']],
    });
  });
});

/** A pod on each of three workers, and one more pod of the second app on another node. */
async function workload(cluster: ControlPlane): Promise<void> {
  for (const [index, app] of ['cache', 'web', 'db'].entries()) {
    const name = `worker-${index + 1}`;
    await createNodes(cluster, [{ name, labels: role('worker'), allocatable: { pods: '1' } }]);
    await start(cluster, app);
  }
  await createNodes(cluster, [{ name: 'spare-1' }]);
  const api = raw(cluster);
  await api.expect('PATCH', `${SETS}/web`, { spec: { replicas: 2 } });
  await runs(cluster, 'web-1');
  const budget = { metadata: { name: 'web' }, spec: { minAvailable: 2, selector: { matchLabels: { app: 'web' } } } };
  await api.expect('POST', BUDGETS, budget);
  await eventually('the budget is known', async () => {
    const { status } = (await api.expect('GET', `${BUDGETS}/web`)) as { status: { currentHealthy?: number } };
    return status.currentHealthy === 2;
  });
}

/** Creates a StatefulSet of one pod and waits until it runs. */
async function start(cluster: ControlPlane, app: string): Promise<void> {
  const labels = { app };
  const spec = {
    terminationGracePeriodSeconds: 1,
    containers: [{ name: 'main', image: 'registry.example.com/main:1' }],
    volumes: app === 'cache' ? [{ name: 'data', emptyDir: {} }] : [],
  };
  await raw(cluster).expect('POST', SETS, {
    metadata: { name: app },
    spec: {
      serviceName: app,
      replicas: 1,
      selector: { matchLabels: labels },
      template: { metadata: { labels }, spec },
    },
  });
  await runs(cluster, `${app}-0`);
}

function runs(cluster: ControlPlane, pod: string): Promise<void> {
  return eventually(`${pod} runs`, async () => {
    const { status, body } = await raw(cluster).request('GET', `${PODS}/${pod}`);
    return status === 200 && (body as { status: { phase: string } }).status.phase === 'Running';
  });
}
