/** docs/commands/top.md, run by page.ts. */
import { after, test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { container, createPods } from './many-pods.ts';
import { type MetricsServer, startMetricsServer } from './metrics-server.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/top.md';
const ZONE = 'topology.kubernetes.io/zone';
const MAX_MS = 180_000;
const GPUS = { cpu: '16', memory: '65536000Ki', 'nvidia.com/gpu': '4' };
const USAGE = {
  'gpu-1': { cpu: '7321m', memory: '31Gi' },
  'gpu-2': { cpu: '180m', memory: '2Gi' },
  'spare-1': { cpu: '95m', memory: '410Mi' },
  'worker-1': { cpu: '2890m', memory: '1900Mi' },
  'worker-2': { cpu: '410m', memory: '700Mi' },
  'worker-3': { cpu: '120m', memory: '450Mi' },
};

const POD_USAGE = {
  'default/worker-1-agent': { cpu: '12m', memory: '90Mi' },
  'default/worker-1-shop': { cpu: '2790m', memory: '1700Mi' },
  'default/worker-2-agent': { cpu: '14m', memory: '88Mi' },
  'default/worker-3-agent': { cpu: '11m', memory: '91Mi' },
};

let metrics: MetricsServer | undefined;
after(() => metrics?.stop());
const cluster = useCluster({ crd: true }, started =>
  createNodes(started, [
    { name: 'gpu-1', labels: { ...role('gpu'), [ZONE]: 'eu-1a' }, allocatable: GPUS },
    { name: 'gpu-2', labels: { ...role('gpu'), [ZONE]: 'eu-1b' }, allocatable: GPUS },
    { name: 'spare-1' },
    { name: 'worker-1', labels: { ...role('worker'), [ZONE]: 'eu-1a' } },
    { name: 'worker-2', labels: role('worker') },
    { name: 'worker-3', labels: role('worker'), unschedulable: true },
  ]),
);

/** One pod of each kind, by node. */
async function populate(): Promise<void> {
  const pod = (name: string, requests: Record<string, string>, limits: Record<string, string>) => ({
    name,
    spec: { containers: [container('main', requests, limits)] },
  });
  const agent = pod('agent', { cpu: '100m', memory: '128Mi' }, { memory: '256Mi' });
  const training = pod(
    'training',
    { cpu: '8', memory: '32Gi', 'nvidia.com/gpu': '3' },
    { memory: '32Gi', 'nvidia.com/gpu': '3' },
  );
  const shop = pod('shop', { cpu: '3300m', memory: '2Gi' }, { cpu: '4', memory: '2Gi' });
  const nodes = ['gpu-1', 'gpu-2', 'spare-1', 'worker-1', 'worker-2', 'worker-3'];
  for (const node of nodes) await createPods(cluster(), node, [agent]);
  await createPods(cluster(), 'gpu-1', [training]);
  await createPods(cluster(), 'worker-1', [shop]);
}

test('every command prints what the page says', { timeout: MAX_MS }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  for (const command of ['create gpu', 'create worker']) await allowed(sh, `kubectl nodepool ${command}`);
  await populate();
  metrics = await startMetricsServer(cluster(), USAGE);
  metrics.podUsage = POD_USAGE;
  await followPage(PAGE, sh);
});
