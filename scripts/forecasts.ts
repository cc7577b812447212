/**
 * `npm run forecasts [-- --seed N --workloads N --changes N --drains N]` creates workloads of random rules on small clusters, and compares how many of their
 * replicas kube-scheduler and the controllers run with what `fit` said before; then it drains nodes, and compares how many evicted pods have
 * a place with what `drain --check-fit` promised. Fails where a forecast was wrong.
 */
import { parseArgs } from 'node:util';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { CONTROLLER_BINARIES, startControllers } from '../test/cluster/controllers.ts';
import { productCommand } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { runChanges } from '../test/e2e/forecast-changes.ts';
import { runDrains, runForecasts } from '../test/e2e/forecasts.ts';
import { buildExecutable } from './package/executable.ts';
import { hostTarget } from './package/targets.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: String(Math.floor(Math.random() * 1_000_000)) },
    workloads: { type: 'string', default: '300' },
    changes: { type: 'string', default: '100' },
    drains: { type: 'string', default: '40' },
  },
});
const [seed, workloads, changes, drains] = [values.seed, values.workloads, values.changes, values.drains].map(
  Number,
) as [number, number, number, number];
console.log(`seed ${seed}, ${workloads} workloads, ${changes} changes, ${drains} drains`);
await ensureBinaries(['etcd', 'kube-apiserver', ...CONTROLLER_BINARIES]);
const cluster = await step(process.stderr, 'starting etcd and kube-apiserver', () => startControlPlane());
// Thousands of commands: the sources take four times as long to start.
process.env.NODEPOOL_TEST_PRODUCT = 'executable';
await step(process.stderr, 'building the executable', () => buildExecutable(hostTarget()));
const [program, ...args] = productCommand();
await run(program, [...args, 'install'], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
const controllers = await startControllers(cluster);
try {
  const tell = (line: string) => console.log(line);
  const { exact, differences } = await runForecasts(cluster, { seed, workloads, tell });
  console.log(`${exact} of ${workloads} forecasts were one number; ${differences.length} were wrong`);
  const changed = await runChanges(cluster, { seed, changes, tell });
  console.log(
    `${changed.evicted} pods were evicted, ${changed.pending} stayed Pending, ${changed.failed} were of Jobs that failed, budgets held ${changed.held}; ${changed.promisedOwners} owners were promised a place, ${changed.exactOwners} compared exactly; ${changed.differences.length} changes were forecast wrong`,
  );
  const drained = await runDrains(cluster, { seed, drains, tell });
  console.log(
    `${drained.certain} of ${drained.moving} evicted pods were promised a place, ${drained.without} were to have none; ${drained.differences.length} drains were forecast wrong`,
  );
  if (differences.length + changed.differences.length + drained.differences.length > 0) process.exitCode = 1;
} finally {
  await controllers.stop();
  await cluster.stop();
}
