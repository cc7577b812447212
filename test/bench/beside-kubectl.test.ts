/**
 * The quick part of `npm run bench` on a small cluster. Limits are well above usual values and apply to the least CPU
 * time of some alternating runs, so that other load does not break them.
 */
import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { buildExecutable } from '../../scripts/package/executable.ts';
import { hostTarget } from '../../scripts/package/targets.ts';
import { ensureBinaries } from '../cluster/binaries.ts';
import { useCluster } from '../cluster/harness.ts';
import { run } from '../cluster/run.ts';
import { benchPools, createBenchNodes } from './cluster.ts';
import { countWrites, recreatePools, timeReconcile } from './from-scratch.ts';
import { measuredEnvironment } from './measure.ts';
import { type Race, type Result, runRace } from './race.ts';
import { type Programs, readNodes, readPools, startUp } from './races.ts';

const [NODES, POOLS, ROUNDS] = [3_000, 20, 3];
const BUILD_MS = 300_000;
/** MB: the target for 5,000 nodes with a tenth for noise. Holding a whole response body would need 27 more. */
const MAX_MEMORY = 110;

const cluster = useCluster({ own: true });
let programs: Programs;
let env: Record<string, string>;

before(
  async () => {
    const { kubectl } = await ensureBinaries(['kubectl']);
    programs = { kubectl: [kubectl], executable: [await buildExecutable(hostTarget())] };
  },
  { timeout: BUILD_MS },
);

test('prints the table of pools within the time limits relative to kubectl', async () => {
  env = await measuredEnvironment(cluster());
  const [program] = programs.executable;
  assert.equal((await run(program, ['install'], { env })).code, 0);
  await createBenchNodes(cluster(), NODES, POOLS);
  await recreatePools(cluster(), benchPools(POOLS));
  await timeReconcile(cluster(), programs.executable);
  await race(readPools(programs, env, false), 1.6);
});

test('starts with less CPU than kubectl', async () => {
  await race(startUp(programs, env), 1);
});

test('writes nothing and limits memory when nothing is to do', async () => {
  const start = await countWrites(cluster());
  const others = await race(readNodes(programs, env, false), 3);
  assert.equal((await countWrites(cluster())) - start, 0);
  for (const { name, samples } of others) {
    const least = Math.min(...samples.map(({ rss }) => rss));
    assert.ok(least < MAX_MEMORY, `${name}: ${least} MB`);
  }
});

/** @param most the limit of each CPU time, as a multiple of the peer's */
async function race(what: Race, most: number): Promise<Result[]> {
  const { peer, others } = await runRace(what, ROUNDS);
  assert.notEqual(others.length, 0);
  for (const other of others) {
    const ratio = leastCpu(other) / leastCpu(peer);
    assert.ok(ratio < most, `${other.name}: ${ratio.toFixed(2)} x ${peer.name}, at most ${most}`);
  }
  return others;
}

function leastCpu({ samples }: Result): number {
  return Math.min(...samples.map(({ cpu }) => cpu));
}
