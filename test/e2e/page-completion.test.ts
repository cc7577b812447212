/** docs/commands/completion.md, and the files that its commands install. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/completion.md';
const NODES = [
  { name: 'gpu-1' },
  { name: 'worker-1', labels: role('worker') },
  { name: 'worker-2', labels: role('worker') },
];
const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test('the commands of completion.md print what the page shows, and kubectl completes', async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  await allowed(sh, 'mkdir -p ~/.local/bin');
  await allowed(sh, 'kubectl nodepool create gpu && kubectl nodepool create worker');
  await followPage(PAGE, sh);
  const { stdout } = await sh.run(`PATH=~/.local/bin:$PATH kubectl __complete nodepool cordon ''`);
  assert.equal(stdout, 'gpu\nworker\n:4\n');
});
