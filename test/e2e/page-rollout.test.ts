/** docs/commands/rollout.md. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/rollout.md';
const NODES = ['a', 'b', 'c', 'd'].map(name => ({ name, labels: role('web') }));
const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test('rollout.md shows what its commands print', async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await followPage(PAGE, sh);
});
