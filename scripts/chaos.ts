/**
 * `npm run chaos [-- --minutes M --seed N --nodes N]` runs random commands next to up to three `reconcile --watch`,
 * kills both at random, and changes the same nodes and pools from outside. Fails when a `reconcile` after a round does
 * not reach the desired state. It runs the bundle, whose commands start in a third of the time of the sources.
 */
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { productCommand } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { chaos } from '../test/fault/chaos.ts';
import { buildPackage } from './build.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '5' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    nodes: { type: 'string', default: '10' },
  },
});
const [minutes, seed, nodes] = [Number(values.minutes), Number(values.seed), Number(values.nodes)];
console.log(`seed ${seed}, ${nodes} nodes, ${minutes} minutes`);
await ensureBinaries(['etcd', 'kube-apiserver']);
await step(process.stderr, 'bundling kubectl-nodepool', buildPackage);
process.env.NODEPOOL_TEST_PRODUCT = 'bundle';
const start = () => startControlPlane({ audit: true });
const cluster = await step(process.stderr, 'starting etcd and kube-apiserver', start);
try {
  const [program, ...args] = productCommand();
  await run(program, [...args, 'install'], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
  await chaos(cluster, { seconds: minutes * 60, seed, nodes, tell: line => console.log(line) });
  console.log('every node, pool and RuntimeClass is as it should be');
} catch (error) {
  console.error(`seed ${seed}: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await cluster.stop();
}
