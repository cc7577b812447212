/**
 * `npm run forecasts [-- --seed N --workloads N]` creates workloads of random rules on small clusters, and compares how many of their
 * replicas kube-scheduler and the controllers run with what `fit` said before. Fails where a forecast was wrong.
 */
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { CONTROLLER_BINARIES, startControllers } from '../test/cluster/controllers.ts';
import { productCommand } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { runForecasts } from '../test/e2e/forecasts.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    workloads: { type: 'string', default: '300' },
  },
});
const [seed, workloads] = [Number(values.seed), Number(values.workloads)];
console.log(`seed ${seed}, ${workloads} workloads`);
await ensureBinaries(['etcd', 'kube-apiserver', ...CONTROLLER_BINARIES]);
const cluster = await step(process.stderr, 'starting etcd and kube-apiserver', () => startControlPlane());
const [program, ...args] = productCommand();
await run(program, [...args, 'install'], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
const controllers = await startControllers(cluster);
try {
  const { exact, differences } = await runForecasts(cluster, { seed, workloads, tell: line => console.log(line) });
  console.log(`${exact} of ${workloads} forecasts were one number; ${differences.length} were wrong`);
  if (differences.length > 0) process.exitCode = 1;
} finally {
  await controllers.stop();
  await cluster.stop();
}
