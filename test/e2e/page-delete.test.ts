/** docs/commands/delete.md, with the values that the nodes of two pools get back. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/delete.md';
const NODES: NodeSpec[] = [
  { name: 'gpu-1', labels: { accelerator: 'nvidia' } },
  { name: 'ml-1', labels: role('ml') },
  { name: 'worker-1', labels: role('worker') },
  { name: 'worker-2', labels: { ...role('worker'), tier: 'legacy' } },
];

const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test(PAGE, { timeout: 300_000 }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await allowed(sh, 'kubectl nodepool create worker --label tier=gold --reconcile');
  await allowed(sh, 'kubectl nodepool create gpu --node-selector accelerator=nvidia --label tier=gpu --reconcile');
  await followPage(PAGE, sh);
});
