/**
 * `npm run bench [-- --nodes N --pools M --rounds R]`: how long it takes to give N nodes in M pools their labels and
 * taints from nothing, against the bare merge patches over as many connections, in turn on the same server; and what a
 * second run costs. Ratios are the result: the seconds are this machine's.
 */
import { parseArgs } from 'node:util';
import { benchPools, createBenchNodes } from '../test/bench/cluster.ts';
import {
  CONNECTIONS,
  countWrites,
  recreatePools,
  reset,
  timeBarePatches,
  timeReconcile,
} from '../test/bench/from-scratch.ts';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { productCommand } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { buildPackage } from './build.ts';

/** What labels and taints from nothing may cost, in bare patches; beyond it the benchmark fails. */
const MOST_RATIO = 1.5;

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pools: { type: 'string', default: '100' },
    rounds: { type: 'string', default: '3' },
  },
});
const [nodes, pools, rounds] = [Number(values.nodes), Number(values.pools), Number(values.rounds)];
const progress = process.stderr;
await ensureBinaries(['etcd', 'kube-apiserver']);
await step(progress, 'bundling kubectl-nodepool', buildPackage);
const cluster = await step(progress, 'starting etcd and kube-apiserver', () => startControlPlane());
try {
  const specs = benchPools(pools);
  const product = productCommand('bundle');
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
  await run(product[0], [...product.slice(1), 'install'], { env });
  await step(progress, `creating ${nodes} nodes`, () => createBenchNodes(cluster, nodes, pools));
  const [bare, scratch, again]: [number[], number[], number[]] = [[], [], []];
  let writes = 0;
  for (let round = 1; round <= rounds; round++) {
    await step(progress, `round ${round} of ${rounds}`, async () => {
      await recreatePools(cluster, specs);
      bare.push(await timeBarePatches(cluster, specs, nodes));
      await reset(cluster, specs, nodes);
      scratch.push((await timeReconcile(cluster, product)).seconds);
      const before = await countWrites(cluster);
      again.push((await timeReconcile(cluster, product)).seconds);
      writes = Math.max(writes, (await countWrites(cluster)) - before);
      await reset(cluster, specs, nodes);
    });
  }
  console.log(`\n${nodes} nodes in ${pools} pools, ${CONNECTIONS} connections, median of ${rounds} rounds in turn\n`);
  console.log(row('', 'seconds', 'spread', 'ratio'));
  console.log(row('bare merge patches', ...figures(bare), '1.00'));
  console.log(row('reconcile from nothing', ...figures(scratch), ratio(scratch, bare)));
  console.log(row('reconcile, nothing to do', ...figures(again), ratio(again, bare)));
  console.log(`\nwrites that the run with nothing to do sent, by the server's count: ${writes}`);
  const tooSlow = Number(ratio(scratch, bare)) > MOST_RATIO;
  if (tooSlow) console.log(`reconciling from nothing took more than ${MOST_RATIO} x the bare patches`);
  if (writes > 0 || tooSlow) process.exitCode = 1;
} finally {
  await cluster.stop();
}

function row(name: string, ...cells: string[]): string {
  return name.padEnd(26) + cells.map(cell => cell.padStart(14)).join('');
}

function median(samples: number[]): number {
  const sorted = samples.toSorted((a, b) => a - b);
  const at = (index: number) => sorted[index] ?? Number.NaN;
  return (at(Math.floor((sorted.length - 1) / 2)) + at(Math.floor(sorted.length / 2))) / 2;
}

function figures(samples: number[]): [string, string] {
  return [median(samples).toFixed(2), `${Math.min(...samples).toFixed(2)}-${Math.max(...samples).toFixed(2)}`];
}

/** Median of the ratios round by round: what the machine did between rounds cancels out. */
function ratio(samples: number[], floor: number[]): string {
  return median(samples.map((sample, index) => sample / (floor[index] ?? Number.NaN))).toFixed(2);
}
