/** docs/commands/history.md, run by page.ts. */
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { createNodes } from '../cluster/nodes.ts';
import { allowed, followPage, pageShell, readPage } from './page.ts';
import { role } from './test-env.ts';

const PAGE = 'docs/commands/history.md';
const MAX_MS = 180_000;
const NODES = [1, 2, 3].map(n => ({ name: `web-${n}`, labels: role('web') }));
const BEFORE = [
  'kubectl nodepool create web --label tier=gold',
  'kubectl patch npool web --type=merge -p \'{"spec":{"rollout":{}}}\'',
  'kubectl nodepool reconcile',
  'sleep 1; kubectl annotate npool web kubernetes.io/change-cause="two tiers"',
  'kubectl nodepool edit web --label tier=silver',
  'sleep 1; kubectl nodepool reconcile',
  'sleep 1; kubectl label node web-1 tier=mine --overwrite',
  'kubectl label node web-3 tier-',
  'sleep 1; kubectl nodepool cordon web --node web-2 --reason="disk swap" --until=2h',
];
const cluster = useCluster({ crd: true }, started => createNodes(started, NODES));

test('every command prints what the page says', { timeout: MAX_MS }, async () => {
  const sh = await pageShell(cluster(), await readPage(PAGE));
  for (const line of BEFORE) await allowed(sh, line);
  await followPage(PAGE, sh);
});
