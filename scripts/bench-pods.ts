/**
 * `npm run bench:pods -- --peer PATH [--nodes N --pods N --rounds R --write]`: `fit`, `diff --impact` and `top` beside
 * kube-capacity (github.com/robscott/kube-capacity, built by Go at PATH), which reads the same nodes and pods. `--write`
 * updates the page in docs/. Fails when a target is missed.
 */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { benchPools, createBenchNodes } from '../test/bench/cluster.ts';
import { editBenchPools, recreatePools } from '../test/bench/from-scratch.ts';
import { measuredEnvironment } from '../test/bench/measure.ts';
import { askedPods, createBenchPods } from '../test/bench/pods.ts';
import { type Command, contender, type Limits, runRace } from '../test/bench/race.ts';
import { buildPrograms } from '../test/bench/races.ts';
import { ensureBinaries } from '../test/cluster/binaries.ts';
import { startControlPlane } from '../test/cluster/control-plane.ts';
import { step } from '../test/cluster/progress.ts';
import { run } from '../test/cluster/run.ts';
import { originOf } from './bench/machine.ts';
import { writePods } from './bench/page.ts';
import { print } from './bench/report.ts';

const MOST: Limits = { ratio: 0.4, rss: 200 };
/** It asks for less of the pods. */
const MOST_FIT = 0.15;
const TARGET = { nodes: 5_000, pods: 50_000 };

const { values } = parseArgs({
  options: {
    peer: { type: 'string' },
    nodes: { type: 'string', default: String(TARGET.nodes) },
    pods: { type: 'string', default: String(TARGET.pods) },
    rounds: { type: 'string', default: '5' },
    write: { type: 'boolean', default: false },
  },
});
const { peer } = values;
if (peer === undefined) throw new Error('--peer PATH: the program kube-capacity');
const [nodes, pods, rounds] = [Number(values.nodes), Number(values.pods), Number(values.rounds)];
const pools = Math.max(1, Math.round(nodes / 50));
const held = nodes === TARGET.nodes && pods === TARGET.pods;
if (values.write && !held) throw new Error('--write is for 50,000 pods on 5,000 nodes');
/** @param own in place of MOST */
const limitsOf = (own: Limits = {}): Limits => (held ? { ...MOST, ...own } : {});

process.env.ETCD_QUOTA_BACKEND_BYTES = String(8 * 1024 ** 3);
await ensureBinaries(['etcd', 'kube-apiserver', 'kubectl']);
const { executable, kubectl } = await step(process.stderr, 'building', buildPrograms);
const origin = originOf({ kubectl: kubectl[0], others: [peer] }, values.write);
const cluster = await startControlPlane();
try {
  const env = await measuredEnvironment(cluster);
  const [program, ...args] = executable;
  await run(program, [...args, 'install'], { env });
  await step(process.stderr, `creating ${nodes} nodes`, () => createBenchNodes(cluster, nodes, pools));
  await recreatePools(cluster, benchPools(pools));
  await step(process.stderr, `creating ${pods} pods`, () => createBenchPods(cluster, pods, nodes));
  await run(program, [...args, 'reconcile', '--yes'], { env, timeoutMs: 600_000 });
  const impact = (name: string, ...of: string[]) => {
    // Differences are exit code 1.
    const command: Command = ['sh', '-c', '"$@"; [ $? -eq 1 ]', 'sh', ...executable, 'diff', ...of, '--impact'];
    return contender(`executable: diff --impact, ${name}`, command, env, /^Impact:/m, limitsOf());
  };
  await editBenchPools(cluster, benchPools(pools));
  const { plain, spreading } = askedPods();
  const fit = (name: string, pod: object) => {
    const file = join(cluster.dir, `${name}.json`);
    writeFileSync(file, JSON.stringify(pod));
    const says = /^TOTAL +yes +\d/m;
    const limits = limitsOf({ ratio: MOST_FIT });
    return contender(`executable: fit, ${name}`, [...executable, 'fit', '-f', file], env, says, limits);
  };
  const race = {
    title: `Every node and ${pods.toLocaleString('en')} pods read`,
    peer: contender('kube-capacity', [peer], env, /^\* +/m),
    others: [
      fit('a pod with requests', plain),
      fit('a pod with spread and anti-affinity', spreading),
      impact('a pool', 'pool-0'),
      impact('every pool'),
      contender('executable: top', [...executable, 'top'], env, /^TOTAL /m, limitsOf({ rss: 150 })),
      contender('executable: top, a pool', [...executable, 'top', 'pool-0'], env, /^pool-0 /m, limitsOf({ rss: 150 })),
    ],
  };
  const result = await step(process.stderr, race.title, () => runRace(race, rounds));
  if (values.write) writePods(result, origin);
  if (!print({ races: [result], figures: [] })) process.exitCode = 1;
} finally {
  await cluster.stop();
}
