/**
 * `npm run soak [-- --minutes M --seed N --nodes N]` makes random faults and changes while two `reconcile --watch
 * --leader-elect` run behind the fault proxy. Fails when the cluster does not reach the desired state, or when memory
 * grew.
 */
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { productCommand } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { soak } from '../test/fault/soak.ts';

const { values } = parseArgs({
  options: {
    minutes: { type: 'string', default: '15' },
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    nodes: { type: 'string', default: '200' },
  },
});
const [minutes, seed, nodes] = [Number(values.minutes), Number(values.seed), Number(values.nodes)];
console.log(`seed ${seed}, ${nodes} nodes, ${minutes} minutes`);
await ensureBinaries(['etcd', 'kube-apiserver']);
const start = () => startControlPlane({ audit: true });
const cluster = await step(process.stderr, 'starting etcd and kube-apiserver', start);
try {
  const [program, ...args] = productCommand();
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
  await run(program, [...args, 'install'], { env });
  await soak(cluster, { seconds: minutes * 60, seed, nodes, tell: line => console.log(line) });
  console.log('every node, pool and RuntimeClass is as it should be');
} catch (error) {
  console.error(`seed ${seed}: ${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
} finally {
  await cluster.stop();
}
