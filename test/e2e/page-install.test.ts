/** docs/commands/install.md, on a cluster without the CRD. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes, type NodeSpec } from '../cluster/nodes.ts';
import { followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/install.md';
const NODES: NodeSpec[] = [{ name: 'worker-1', labels: role('worker') }];

const cluster = useCluster({}, started => createNodes(started, NODES));

test(PAGE, { timeout: 300_000 }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await followPage(PAGE, sh);
});
