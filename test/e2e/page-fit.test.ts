/** docs/commands/fit.md, run by page.ts. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { container, createPods } from './many-pods.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/fit.md';
const MAX_MS = 180_000;
const TAINT = { key: 'gpu', value: 'yes', effect: 'NoSchedule' } as const;

const cluster = useCluster({ crd: true }, started =>
  createNodes(started, [
    ...['gpu-1', 'gpu-2'].map(name => ({ name, labels: role('gpu'), taints: [TAINT] })),
    { name: 'spare-1', allocatable: { cpu: '500m' } },
    ...['worker-1', 'worker-2'].map(name => ({ name, labels: role('worker') })),
    { name: 'worker-3', labels: role('worker'), unschedulable: true },
  ]),
);

test('every command prints what the page says', { timeout: MAX_MS }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  for (const command of ['create gpu', 'create worker']) await allowed(sh, `kubectl nodepool ${command}`);
  const shop = { name: 'shop', spec: { containers: [container('main', { cpu: '2500m', memory: '1Gi' })] } };
  await createPods(cluster(), 'worker-1', [shop]);
  await followPage(PAGE, sh);
});
