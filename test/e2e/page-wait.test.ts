/** docs/commands/wait.md. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { holdLease } from './controller-lease.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/wait.md';
const NODES = [
  { name: 'gpu-1', labels: role('gpu') },
  { name: 'worker-1', labels: role('worker') },
  { name: 'worker-2', labels: role('worker') },
];
const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test('wait.md shows what its commands print', async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  for (const pool of ['gpu', 'worker']) await allowed(sh, `kubectl nodepool create ${pool} --reconcile`);
  await holdLease(cluster());
  await followPage(PAGE, sh);
});
