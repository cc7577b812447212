/**
 * `npm run bench:watch [-- --nodes N --pools M --rate R --seconds S]`: `reconcile --watch` while nodes change. How long
 * the server waits from a node's change for the write that answers it, by the server's own clock; and the memory. Beside it
 * the floor on the same machine: a process that watches metadata and answers with bare patches. Both are measured after a
 * warm-up under the same load: compilers, and the burst of events that a pool may send before they are held back.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { type Answered, answers, drift, startFloor, startWatch } from '../test/bench/change-to-write.ts';
import { benchPools, createBenchNodes } from '../test/bench/cluster.ts';
import { recreatePools, timeReconcile } from '../test/bench/from-scratch.ts';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { productCommand } from '../test/cluster/product.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { buildPackage } from './build.ts';

/** Milliseconds for 99 of 100 changes. On a machine whose floor is above that, so much more than the floor. */
const MOST_P99 = 100;
const MOST_OVER_FLOOR = 1.5;
/** Megabytes of the process with its caches. */
const MOST_RSS = 45 + 120;
const IDLE_S = 20;
const SETTLE_MS = 5_000;

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: '5000' },
    pools: { type: 'string', default: '100' },
    rate: { type: 'string', default: '100' },
    seconds: { type: 'string', default: '30' },
  },
});
const [nodes, pools] = [Number(values.nodes), Number(values.pools)];
const [rate, seconds] = [Number(values.rate), Number(values.seconds)];
const progress = process.stderr;
await ensureBinaries(['etcd', 'kube-apiserver']);
await step(progress, 'bundling kubectl-nodepool', buildPackage);
const cluster = await step(progress, 'starting etcd and kube-apiserver', () => startControlPlane({ audit: true }));
try {
  const product = productCommand('bundle');
  const env = { ...process.env, KUBECONFIG: cluster.kubeconfig };
  await run(product[0], [...product.slice(1), 'install'], { env });
  await step(progress, `creating ${nodes} nodes`, () => createBenchNodes(cluster, nodes, pools));
  await recreatePools(cluster, benchPools(pools));
  await step(progress, 'reconciling once', () => timeReconcile(cluster, product));

  const endFloor = await startFloor(cluster);
  const floor = await underLoad('the floor');
  await endFloor();

  const watching = await step(progress, 'starting reconcile --watch', () => startWatch(cluster, product));
  await sleep(SETTLE_MS);
  const synced = await watching.memory();
  const before = await watching.cpu();
  await step(progress, `idle for ${IDLE_S} s`, () => sleep(IDLE_S * 1000));
  const idle = ((await watching.cpu()) - before) / IDLE_S;
  const ours = await underLoad('reconcile --watch');
  const after = await watching.memory();
  await watching.end();

  const text = (megabytes: number) => `${megabytes.toFixed(0)} MB`;
  console.log(`\n${nodes} nodes in ${pools} pools, ${rate} changes a second for ${seconds} s, to their answers:`);
  console.log(`reconcile --watch: ${spread(ours)}`);
  console.log(`the floor: ${spread(floor)}`);
  console.log(
    `memory: ${text(synced.rss)} with its caches, ${text(after.rss)} at the end, ${text(after.peak)} at most`,
  );
  console.log(`CPU when nothing changes: ${(idle * 100).toFixed(2)} %`);
  const most = Math.max(MOST_P99, MOST_OVER_FLOOR * at(floor, 0.99));
  if (ours.unanswered > 0 || at(ours, 0.99) > most || after.peak > MOST_RSS) process.exitCode = 1;
} finally {
  await cluster.stop();
}

/** Twice the load; the second time counts. */
async function underLoad(what: string): Promise<Answered> {
  await sleep(SETTLE_MS);
  await step(progress, `${what}: warm-up`, () => drift(cluster, nodes, rate, seconds));
  await sleep(SETTLE_MS);
  await answers(cluster);
  await step(progress, `${what}: ${rate} changes a second`, () => drift(cluster, nodes, rate, seconds));
  await sleep(SETTLE_MS);
  return answers(cluster);
}

function at({ times }: Answered, share: number): number {
  return times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? Number.NaN;
}

function spread(answered: Answered): string {
  const shares = [50, 90, 99].map(percent => `p${percent} ${at(answered, percent / 100).toFixed(1)} ms`);
  return `${shares.join(', ')} of ${answered.times.length}; ${answered.unanswered} not answered`;
}
