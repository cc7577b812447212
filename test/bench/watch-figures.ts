/** `reconcile --watch` while nodes change: memory, CPU, and how long a change waits for its write, beside the floor. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type ProgressStream, step } from '../cluster/progress.ts';
import { type Answered, answers, auditSize, drift, startFloor, startWatch } from './change-to-write.ts';
import type { Figure } from './figure.ts';
import type { Command } from './race.ts';
import { quantile, quantileRatioInterval } from './statistics.ts';
import { cpuSeconds, memoryOf } from './usage.ts';

const IDLE_S = 20;
const SETTLE_MS = 5_000;
const MAX_SETTLE_MS = 60_000;
const MAX_IDLE = 0.3;
/** The rate of the target. */
const RATE = 100;
/** Divides the second rate, so that no core of a small machine is saturated. */
const QUIETER = 5;
/** Of our p99, in times of the floor's, at the two rates. */
const MOST_P99 = { fast: 1.1, quiet: 1.2 };
/** MB, by the number of nodes. */
const MAX_MEMORY: Record<number, number> = { 5000: 100, 50000: 250 };

export interface Load {
  nodes: number;
  /** Changes a second. */
  rate: number;
  seconds: number;
}

/** On a cluster with an audit log, reconciled. */
export async function watchFigures(
  cluster: ControlPlane,
  command: Command,
  load: Load,
  progress: ProgressStream,
): Promise<Figure[]> {
  const quiet = { ...load, rate: Math.ceil(load.rate / QUIETER) };
  const endFloor = await startFloor(cluster);
  const floor = await underLoad(cluster, 'the floor', load, progress);
  const quietFloor = await underLoad(cluster, 'the floor', quiet, progress);
  await endFloor();

  const { pid, end } = await step(progress, 'starting reconcile --watch', () => startWatch(cluster, command));
  await sleep(SETTLE_MS);
  const synced = await memoryOf(pid);
  const before = await cpuSeconds(pid);
  await step(progress, `idle for ${IDLE_S} s`, () => sleep(IDLE_S * 1000));
  const idle = ((await cpuSeconds(pid)) - before) / IDLE_S;
  const ours = await underLoad(cluster, 'reconcile --watch', load, progress, pid);
  const after = await memoryOf(pid);
  const quietOurs = await underLoad(cluster, 'reconcile --watch', quiet, progress, pid);
  await end();

  const memory = MAX_MEMORY[load.nodes];
  const most = load.rate === RATE ? MOST_P99 : undefined;
  return [
    figure('memory with its caches', synced.now, 'MB', memory),
    figure('memory after the load', after.now, 'MB', memory),
    figure('of that, pages of the program', after.files, 'MB'),
    figure('peak memory', after.peak, 'MB'),
    figure('CPU when nothing changes', idle * 100, '%', MAX_IDLE),
    ...waits(load.rate, ours, floor, most?.fast),
    ...waits(quiet.rate, quietOurs, quietFloor, most?.quiet),
    figure('changes without an answer', ours.unanswered + quietOurs.unanswered, '', 0),
    ...ours.cpu.map(({ who, share }) => figure(`CPU at ${load.rate} changes a second: ${who}`, share * 100, '%')),
  ];
}

/** Latency from change to write. @param most limit of our p99, in times of the floor's */
function waits(rate: number, ours: Answered, floor: Answered, most?: number): Figure[] {
  const [p99, floorP99] = [quantile(ours.times, 0.99), quantile(floor.times, 0.99)];
  const ratio = figure(`change to write at ${rate} a second, p99 in times of the floor's`, p99 / floorP99, 'x', most);
  return [
    figure(`change to write at ${rate} a second, p50`, quantile(ours.times, 0.5), 'ms'),
    figure(`change to write at ${rate} a second, p99`, p99, 'ms'),
    figure(`the floor at ${rate} a second, p50`, quantile(floor.times, 0.5), 'ms'),
    figure(`the floor at ${rate} a second, p99`, floorP99, 'ms'),
    { ...ratio, interval: quantileRatioInterval(ours.times, floor.times, 0.99) },
  ];
}

function figure(name: string, value: number, unit: Figure['unit'], most?: number): Figure {
  return { name, value, unit, ...(most === undefined ? {} : { most }) };
}

interface UnderLoad extends Answered {
  /** Share of one core during the load. */
  cpu: { who: string; share: number }[];
}

/** Runs the load twice; the second run counts, after compilation and the initial burst of events. */
async function underLoad(
  cluster: ControlPlane,
  what: string,
  load: Load,
  progress: ProgressStream,
  pid?: number,
): Promise<UnderLoad> {
  const { nodes, rate, seconds } = load;
  const [etcd = 0, apiserver = 0] = cluster.pids;
  const busy = [
    { who: 'kube-apiserver', pid: apiserver },
    { who: 'etcd', pid: etcd },
    ...(pid === undefined ? [] : [{ who: what, pid }]),
    { who: 'the maker of the changes', pid: process.pid },
  ];
  const used = () => Promise.all(busy.map(each => cpuSeconds(each.pid)));
  await sleep(SETTLE_MS);
  const warmUp = await auditSize(cluster);
  await step(progress, `${what}: warm-up`, () => drift(cluster, nodes, rate, seconds));
  await settled(cluster, warmUp);
  const start = await auditSize(cluster);
  const before = await used();
  await step(progress, `${what}: ${rate} changes a second`, () => drift(cluster, nodes, rate, seconds));
  const after = await used();
  const answered = await settled(cluster, start);
  const cpu = busy.map(({ who }, index) => ({ who, share: ((after[index] ?? 0) - (before[index] ?? 0)) / seconds }));
  return { ...answered, cpu };
}

/** Waits until every change has its write, or no more writes arrive, so that no work is left for the next one. */
async function settled(cluster: ControlPlane, since: number): Promise<Answered> {
  for (let waited = 0; ; waited += SETTLE_MS) {
    await sleep(SETTLE_MS);
    const answered = await answers(cluster, since);
    if (answered.unanswered === 0 || waited >= MAX_SETTLE_MS) return answered;
  }
}
