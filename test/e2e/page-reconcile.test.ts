/** docs/commands/reconcile.md, with drift, a conflict, and a watch while others write. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { allowed, followPage, type Meanwhile, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/reconcile.md';
const gpu = { 'node-restriction.kubernetes.io/accelerator': 'nvidia' };
const NODES: NodeSpec[] = [
  { name: 'gpu-1', labels: gpu },
  { name: 'gpu-2', labels: gpu },
  { name: 'worker-1', labels: role('worker') },
  { name: 'worker-2', labels: { ...role('worker'), tier: 'legacy' } },
];

const MEANWHILE: Meanwhile = {
  'kubectl nodepool reconcile --watch': [
    [/caches have synced/, 'kubectl label node worker-1 node-role.kubernetes.io/worker-'],
    [/ NodeLeft .*\n.* 1 of 1 node ready/, 'kubectl taint node gpu-2 nvidia.com/gpu-'],
    [/ NodesUpdated /, 'kubectl label node worker-1 node-role.kubernetes.io/worker='],
    [/ NodeJoined .*\n.* 2 of 2 nodes ready/, '^C'],
  ],
};

const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test(PAGE, { timeout: 300_000 }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await allowed(sh, 'kubectl nodepool create worker --label tier=silver');
  const taint = '--taint nvidia.com/gpu=present:NoSchedule';
  await allowed(
    sh,
    `kubectl nodepool create gpu --node-selector node-restriction.kubernetes.io/accelerator=nvidia ${taint} --handler nvidia`,
  );
  await followPage(PAGE, sh, MEANWHILE);
});
