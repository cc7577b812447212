/** docs/gitops.md. A pool that is applied from Git keeps the fields that `edit` set. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { commandsOf } from './commands.ts';
import { followPage, pageShell, readPage } from './page.ts';

const PAGE = 'docs/gitops.md';

const cluster = useCluster({ crd: true }, async started => {
  await createNodes(started, [{ name: 'web-1', labels: { tier: 'web' } }]);
});
const { ok } = commandsOf(cluster);

test(PAGE, { timeout: 300_000 }, async () => {
  await followPage(PAGE, await pageShell(cluster(), await readPage(PAGE)));
  // The label of `edit` is still there, beside those of Git.
  const { spec } = JSON.parse(await ok(['get', 'web', '-o', 'json'])) as { spec: { labels: object } };
  assert.deepEqual(spec.labels, { team: 'payments', stage: 'canary' });
});
