/**
 * `npm run bench:watch [-- --nodes N --pools M --rate R --seconds S --rounds N --product P --old COMMIT]` measures
 * `reconcile --watch` while nodes change, next to its baseline; also at other rates, and of the bundle. `--rollouts`
 * measures its memory while a changed spec reaches the nodes, at once and in steps. Fails when a target is missed.
 */
import { parseArgs } from 'node:util';
import { benchPools, createBenchNodes } from '../test/bench/cluster.ts';
import { recreatePools, timeReconcile } from '../test/bench/from-scratch.ts';
import { buildOld } from '../test/bench/old.ts';
import { buildPrograms } from '../test/bench/races.ts';
import { rolloutMemory } from '../test/bench/rollout-memory.ts';
import { watchFigures } from '../test/bench/watch-figures.ts';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { print } from './bench/report.ts';

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pools: { type: 'string', default: '100' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '30' },
    rounds: { type: 'string', default: '3' },
    product: { type: 'string', default: 'executable' },
    old: { type: 'string' },
    rollouts: { type: 'boolean', default: false },
  },
});
if (values.old !== undefined && (values.rollouts || values.product !== 'executable')) {
  throw new Error('--old is for the executable, without --rollouts');
}
const [nodes, pools] = [Number(values.nodes), Number(values.pools)];
const load = {
  nodes,
  rate: Number(values.rate),
  seconds: Number(values.seconds),
  rounds: Number(values.rounds),
};
const progress = process.stderr;
await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);
const programs = await step(progress, 'building the executable and the npm package', buildPrograms);
const old = await buildOld(values.old, progress);
const [program, ...args] = values.product === 'bundle' ? programs.npm : programs.executable;
const cluster = await step(progress, 'starting etcd and kube-apiserver', () => startControlPlane({ audit: true }));
try {
  await run(program, [...args, 'install'], { env: { ...process.env, KUBECONFIG: cluster.kubeconfig } });
  await step(progress, `creating ${nodes} nodes`, () => createBenchNodes(cluster, nodes, pools));
  await recreatePools(cluster, benchPools(pools));
  await step(progress, 'reconciling once', () => timeReconcile(cluster, [program, ...args]));
  const figures = values.rollouts
    ? await rolloutMemory(cluster, [program, ...args], progress)
    : await watchFigures(cluster, { executable: [program, ...args], old }, load, progress);
  const title = `reconcile --watch, ${values.product}, ${nodes} nodes in ${pools} pools`;
  const measured = { races: [], figures: [{ title, figures }] };
  if (!print(measured)) process.exitCode = 1;
} finally {
  await cluster.stop();
}
