/**
 * `npm run bench [-- --nodes N --pools M --rounds R --peers FOLDER --old COMMIT --write]` compares the executable and the
 * npm package with kubectl and with bare requests, in turns on the same server (docs/benchmarks.md). Prints tables and
 * writes dist/bench/results.json; `--write` updates the page in docs/. Fails when a target is missed.
 */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { besideOthers, othersIn } from '../test/bench/beside-others.ts';
import { benchPools, createBenchNodes } from '../test/bench/cluster.ts';
import type { Figure } from '../test/bench/figure.ts';
import { countWrites, recreatePools, timeReconcile } from '../test/bench/from-scratch.ts';
import { extrapolation, growth } from '../test/bench/growth.ts';
import { installed } from '../test/bench/installed.ts';
import { measuredEnvironment } from '../test/bench/measure.ts';
import { buildOld } from '../test/bench/old.ts';
import { type Race, type RaceResult, runRace } from '../test/bench/race.ts';
import { buildPrograms, readCompressed, readNodes, readPools, startUp } from '../test/bench/races.ts';
import { fromScratch } from '../test/bench/scratch-race.ts';
import { watchFigures } from '../test/bench/watch-figures.ts';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { type ControlPlane, startControlPlane } from '../test/cluster/control-plane.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { originOf } from './bench/machine.ts';
import { writePage } from './bench/page.ts';
import { print, type Report } from './bench/report.ts';
import { ROOT } from './root.ts';

/** The cluster size that the targets are for. */
const TARGET = { nodes: 5_000, pools: 100 };
/** Above this number, a tenth of the nodes is measured first, and loops over kubectl are left out: they would take hours. */
const LARGE = 10_000;
/** Each takes four minutes. */
const WATCH_ROUNDS = 3;
/** Runs in each round for commands that take less than a second. */
const QUICK = 5;

const { values } = parseArgs({
  options: {
    nodes: { type: 'string', default: String(TARGET.nodes) },
    pools: { type: 'string', default: String(TARGET.pools) },
    rounds: { type: 'string', default: '5' },
    peers: { type: 'string' },
    old: { type: 'string' },
    write: { type: 'boolean', default: false },
  },
});
const [nodes, pools, rounds] = [Number(values.nodes), Number(values.pools), Number(values.rounds)];
const held = nodes === TARGET.nodes && pools === TARGET.pools;
/** Creating so many nodes takes minutes, so one cluster with an audit log is used for everything. */
const isLarge = nodes > LARGE;
if (values.write && !held && !isLarge) throw new Error('--write is for 5,000 nodes in 100 pools, or a large cluster');
const others = othersIn(values.peers);
const specs = benchPools(pools);
const progress = process.stderr;

// Between two compactions, 5 minutes apart, runs from scratch write more than etcd's default quota of 2 GiB.
process.env.ETCD_QUOTA_BACKEND_BYTES = String(8 * 1024 ** 3);
await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);
const built = await step(progress, 'building the executable and the npm package', buildPrograms);
const programs = { ...built, old: await buildOld(values.old, progress) };
const compared = { kubectl: programs.kubectl[0], others: others.map(({ command: [path] }) => path), old: values.old };
const origin = originOf(compared, values.write);
const races: RaceResult[] = [];
const figures: Report['figures'] = [];
await withCluster({ audit: isLarge }, async cluster => {
  await readsAndWrites(cluster);
  if (!isLarge) return;
  await measureWatch(async () => {
    await step(progress, 'reconciling', () => timeReconcile(cluster, programs.executable));
    return watch(cluster);
  });
});
if (!isLarge) {
  await measureWatch(() =>
    withCluster({ audit: true }, async cluster => {
      await populate(cluster, nodes);
      return watch(cluster);
    }),
  );
}

const report: Report = { ...origin, nodes, pools, rounds, races, figures };
mkdirSync(join(ROOT, 'dist', 'bench'), { recursive: true });
writeFileSync(join(ROOT, 'dist', 'bench', 'results.json'), `${JSON.stringify(report, undefined, 2)}\n`);
if (values.write) writePage(report, isLarge ? 'scale' : 'benchmarks');
if (!print(report)) process.exitCode = 1;

async function readsAndWrites(cluster: ControlPlane): Promise<void> {
  const env = await measuredEnvironment(cluster);
  const race = (what: Race, times: number) => step(progress, what.title, () => runRace(what, times));
  const toRead = readNodes(programs, env, held);
  const fewer = isLarge ? Math.round(nodes / 10) : 0;
  let tenth: RaceResult | undefined;
  if (fewer > 0) {
    await populate(cluster, fewer);
    tenth = await race(toRead, rounds * QUICK);
  }
  await populate(cluster, nodes, fewer);
  // Start-up does not depend on the cluster.
  if (!isLarge) {
    races.push(await race(startUp(programs, env), rounds * QUICK));
    for (const each of await installed(programs, env, cluster.dir)) races.push(await race(each, rounds * QUICK));
  }
  races.push(await race(readPools(programs, env, pools === TARGET.pools), rounds * QUICK));
  const besideCurl = besideOthers(cluster, programs, env, { others, held });
  const before = await countWrites(cluster);
  const all = await race(toRead, rounds * QUICK);
  const writes: Figure = { name: 'writes', value: (await countWrites(cluster)) - before, unit: '', most: 0 };
  const compressed = await measuredEnvironment(cluster, true);
  races.push(all, await race(readCompressed(programs, compressed, held), rounds));
  races.push(await race(besideCurl, rounds * QUICK));
  figures.push({ title: 'Writes of all runs with nothing to do, counted by the server', figures: [writes] });
  if (tenth) {
    figures.push({ title: `${nodes} nodes, relative to ${fewer}`, figures: growth(tenth, all) });
    const title = 'Extrapolated, by the straight line through both sizes';
    figures.push({ title, figures: extrapolation(nodes, tenth, all) });
  }
  const scratch = { pools: specs, nodes, rounds, isLarge, held };
  races.push(...(await step(progress, 'from scratch', () => fromScratch(cluster, programs, scratch))));
}

/** Needs a reconciled cluster with an audit log. */
function watch(cluster: ControlPlane): Promise<Figure[]> {
  // On a small cluster, 100 changes a second would hit the same nodes.
  const load = { nodes, rate: Math.min(100, Math.ceil(nodes / 50)), seconds: 30, rounds: isLarge ? 1 : WATCH_ROUNDS };
  return watchFigures(cluster, programs, load, progress);
}

async function measureWatch(measure: () => Promise<Figure[]>): Promise<void> {
  const found = await measure().catch((error: Error): Figure[] => [
    // Keep the other results: they took long to measure.
    { name: error.message, value: Number.NaN, unit: '', most: 0 },
  ]);
  figures.push({ title: 'reconcile --watch, executable', figures: found });
}

/** Creates nodes and reconciles them. */
async function populate(cluster: ControlPlane, nodes: number, from = 0): Promise<void> {
  const [program, ...args] = programs.executable;
  const env = await measuredEnvironment(cluster);
  await run(program, [...args, 'install'], { env });
  await step(progress, `creating ${nodes - from} nodes`, () => createBenchNodes(cluster, nodes, pools, from));
  if (from === 0) await recreatePools(cluster, specs);
  await step(progress, 'reconciling once', () => timeReconcile(cluster, programs.executable));
}

async function withCluster<T>(options: { audit?: boolean }, work: (cluster: ControlPlane) => Promise<T>): Promise<T> {
  const cluster = await step(progress, 'starting etcd and kube-apiserver', () => startControlPlane(options));
  try {
    return await work(cluster);
  } finally {
    await cluster.stop();
  }
}
