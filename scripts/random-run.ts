/** The common part of `npm run soak` and `npm run chaos`: options, a control plane, and the verdict. */
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { type ControlPlane, startControlPlane } from '../test/cluster/control-plane.ts';
import { productCommand } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import type { SoakOptions } from '../test/fault/soak.ts';

/** @param work throws when the cluster does not reach the desired state */
export async function randomRun(
  defaults: { minutes: number; nodes: number },
  work: (cluster: ControlPlane, options: SoakOptions) => Promise<unknown>,
): Promise<void> {
  const { values } = parseArgs({
    options: {
      minutes: { type: 'string', default: String(defaults.minutes) },
      seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
      nodes: { type: 'string', default: String(defaults.nodes) },
    },
  });
  const [minutes, seed, nodes] = [Number(values.minutes), Number(values.seed), Number(values.nodes)];
  console.log(`seed ${seed}, ${nodes} nodes, ${minutes} minutes`);
  await ensureBinaries(['etcd', 'kube-apiserver']);
  const start = () => startControlPlane({ audit: true });
  const cluster = await step(process.stderr, 'starting etcd and kube-apiserver', start);
  try {
    const [program, ...args] = productCommand();
    await run(program, [...args, 'install'], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
    await work(cluster, { seconds: minutes * 60, seed, nodes, tell: line => console.log(line) });
    console.log('every node, pool and RuntimeClass is as it should be');
  } catch (error) {
    console.error(`seed ${seed}: ${error instanceof Error ? error.message : error}`);
    process.exitCode = 1;
  } finally {
    await cluster.stop();
  }
}
