/** docs/commands/report.md, run by page.ts. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/report.md';
const cluster = useCluster({ crd: true }, started => createNodes(started, [{ name: 'web-1', labels: role('web') }]));

test('every command prints what the page says', async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  for (const line of ['create web', 'create db', 'reconcile']) await allowed(sh, `kubectl nodepool ${line}`);
  await followPage(PAGE, sh);
});
