/** The screens of docs/commands/view.md: UPDATE_PAGES=1 npm test -- page-view writes them. */
import { test } from 'node:test';
import { container, createPods, preparePods } from './many-pods.ts';
import { followScreens } from './page.ts';
import { createSmallCluster } from './small-cluster.ts';
import { openTerminal } from './terminal.ts';
import { useTestEnv } from './test-env.ts';

const testEnv = useTestEnv();
const { cluster } = testEnv;

test('the page shows real screens', async t => {
  await createSmallCluster(testEnv);
  // A pending change on the nodes of this pool.
  await testEnv.edit('worker', { spec: { labels: { tier: 'silver' } } });
  await preparePods(cluster());
  const gpus = { 'nvidia.com/gpu': '6' };
  const requests = { cpu: '3500m', memory: '2Gi' };
  await createPods(cluster(), 'gpu-1', [{ name: 'p', spec: { containers: [container('a', gpus, gpus)] } }]);
  await createPods(cluster(), 'worker-1', [{ name: 'p', spec: { containers: [container('a', requests)] } }]);
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
