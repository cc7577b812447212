/** docs/commands/create.md, with a pool of two nodes, and refusals. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { followPage, pageShell, readPage } from './page.ts';

const PAGE = 'docs/commands/create.md';
const NODES: NodeSpec[] = [
  { name: 'node-1' },
  { name: 'node-2' },
  { name: 'gpu-1', labels: { accelerator: 'nvidia' } },
];

const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test(PAGE, { timeout: 300_000 }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await followPage(PAGE, sh);
});
