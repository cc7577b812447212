/** The number of writes of a reconcile, by the server's metrics. Times: `npm run bench`. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { useCluster } from '../cluster/harness.ts';
import { productCommand } from '../cluster/product.ts';
import { run } from '../cluster/run.ts';
import { benchPools, createBenchNodes } from './cluster.ts';
import { countWrites, recreatePools, timeReconcile } from './from-scratch.ts';

const [NODES, POOLS] = [100, 20];
const cluster = useCluster({ own: true });

test('sends one write per node and six per pool from scratch, and none in the second run', async () => {
  const [program, ...args] = productCommand();
  const env = { ...process.env, KUBECONFIG: cluster().kubeconfig };
  assert.equal((await run(program, [...args, 'install'], { env })).code, 0);
  await createBenchNodes(cluster(), NODES, POOLS);
  await recreatePools(cluster(), benchPools(POOLS));

  const start = await countWrites(cluster());
  const { stdout } = await timeReconcile(cluster(), productCommand());
  assert.equal(stdout.trim().split('\n').length, POOLS);
  const first = (await countWrites(cluster())) - start;
  // A pool: finalizer, revision, RuntimeClass, status, and the events RuntimeClassCreated and NodeJoined.
  assert.equal(first, NODES + POOLS * 6);

  await timeReconcile(cluster(), productCommand());
  assert.equal((await countWrites(cluster())) - start - first, 0);
});
