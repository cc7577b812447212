/** The screens of docs/commands/view.md: UPDATE_PAGES=1 npm test -- page-view writes them. */
import { test } from 'node:test';
import { followScreens } from './page.ts';
import { createSmallCluster } from './small-cluster.ts';
import { openTerminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

test('the page shows the real screens', async t => {
  await createSmallCluster(testEnv);
  // A pending change on the nodes of this pool.
  await testEnv.edit('worker', { spec: { labels: { tier: 'silver' } } });
  const terminal = openTerminal(t, cluster(), ['view'], { rows: 12, env: { NO_COLOR: '1' } });
  await terminal.shows(/^>gpu /m);
  terminal.type('{down}');
  const pools = await terminal.shows(/^spare: NodeConflict/m);
  terminal.type('t');
  const usage = await terminal.shows(/CPU REQ[\s\S]* 0% /m);
  terminal.type('t{down}{enter}');
  const nodes = await terminal.shows(/^>worker-1 .* due /m);
  terminal.type('c');
  const question = await terminal.shows(/^Cordon node worker-1\?/m);
  await followScreens('docs/commands/view.md', [pools, nodes, usage, question]);
});
