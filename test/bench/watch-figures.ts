/** `reconcile --watch` while nodes change: memory, CPU, and how long a change waits for its write, beside the floor. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type ProgressStream, step } from '../cluster/progress.ts';
import { type Answered, answers, auditSize, drift, startFloor, startWatch } from './change-to-write.ts';
import type { Figure } from './figure.ts';
import type { Command } from './race.ts';
import { OLD_EXECUTABLE, type Programs } from './races.ts';
import { median, quantile, ratios } from './statistics.ts';
import { cpuSeconds, memoryOf } from './usage.ts';

/** Two watches of each resource end and begin again. */
const IDLE_S = 70;
const PAUSE_MS = 5_000;
const MAX_WAIT_MS = 60_000;
const MAX_IDLE = 0.3;
/** The load of the targets. */
const [NODES, RATE] = [5_000, 100];
/** Divides the second rate, so that no core of a small machine is saturated. */
const QUIETER = 5;
/** Maximum of our p99 relative to the floor's, at the two rates. */
const MOST_P99: BothRates = { fast: 1.1, slow: 1.2 };
/** MB, by the number of nodes. */
const MAX_MEMORY: Record<number, number> = { 5000: 100, 50000: 250 };

export interface Load {
  nodes: number;
  /** Changes a second. */
  rate: number;
  seconds: number;
  /** In each, the floor and the watch run once. */
  rounds: number;
}

/** On a cluster with an audit log, reconciled. */
export async function watchFigures(
  cluster: ControlPlane,
  { executable, old }: Pick<Programs, 'executable' | 'old'>,
  load: Load,
  progress: ProgressStream,
): Promise<Figure[]> {
  const quiet = { ...load, rate: Math.ceil(load.rate / QUIETER) };
  const floors: Loaded[] = [];
  const [watches, olds]: [Watch[], Watch[]] = [[], []];
  const watching = (command: Command) => underWatch(cluster, command, [load, quiet], progress);
  const runs = [
    async () => floors.push(await underFloor(cluster, [load, quiet], progress)),
    async () => watches.push(await watching(executable)),
    ...(old === undefined ? [] : [async () => olds.push(await watching(old))]),
  ];
  for (let round = 0; round < load.rounds; round++) {
    for (const run of round % 2 === 0 ? runs : runs.toReversed()) await run();
  }
  const isHeld = load.rate === RATE && load.nodes === NODES;
  const memory = MAX_MEMORY[load.nodes];
  const most = isHeld ? { memory, idle: MAX_IDLE, p99: MOST_P99 } : { memory };
  const rates: BothRates = { fast: load.rate, slow: quiet.rate };
  const unanswered = (all: Loaded[]) => all.reduce((sum, { fast, slow }) => sum + fast.unanswered + slow.unanswered, 0);
  return [
    ...ofWatches(watches, most),
    ...ofWaits(rates, 'change to write', watches),
    ...ofWaits(rates, FLOOR, floors),
    ...inTimesOf(floors, rates, watches, most.p99),
    count('changes without an answer', unanswered(watches), 0),
    count('changes without an answer from the floor', unanswered(floors), 0),
    ...(watches.at(-1)?.fast.cpu ?? []).map(({ who, share }): Figure => {
      return { name: `CPU at ${load.rate} changes a second: ${who}`, value: share * 100, unit: '%' };
    }),
    ...(olds.length === 0 ? [] : ofOld([...ofWatches(olds), ...inTimesOf(floors, rates, olds)])),
  ];
}

function ofOld(figures: Figure[]): Figure[] {
  return figures.map(figure => ({ ...figure, name: `${OLD_EXECUTABLE}: ${figure.name}` }));
}

interface WatchLimits {
  memory?: number | undefined;
  idle?: number;
  p99?: BothRates;
}

function ofWatches(watches: Watch[], { memory, idle }: WatchLimits = {}): Figure[] {
  const of = (name: string, value: (watch: Watch) => number, unit: Figure['unit'], most?: number) =>
    figure(name, watches.map(value), unit, most);
  return [
    of('memory with its caches', ({ synced }) => synced.now, 'MB', memory),
    of('memory after the load', ({ after }) => after.now, 'MB', memory),
    of('of that, pages of the program', ({ after }) => after.files, 'MB'),
    of('peak memory', ({ after }) => after.peak, 'MB'),
    of('CPU when nothing changes', watch => watch.idle * 100, '%', idle),
  ];
}

/** At the two rates. */
interface Loaded {
  fast: UnderLoad;
  slow: UnderLoad;
}

interface Watch extends Loaded {
  synced: { now: number };
  after: { now: number; files: number; peak: number };
  /** CPU seconds a second. */
  idle: number;
}

const [FLOOR, WATCH] = ['the floor', 'reconcile --watch'];

async function underFloor(
  cluster: ControlPlane,
  [load, quiet]: [Load, Load],
  progress: ProgressStream,
): Promise<Loaded> {
  const end = await startFloor(cluster);
  await warmUp(cluster, FLOOR, load, progress);
  const fast = await underLoad(cluster, FLOOR, load, progress);
  const slow = await underLoad(cluster, FLOOR, quiet, progress);
  await end();
  return { fast, slow };
}

async function underWatch(
  cluster: ControlPlane,
  command: Command,
  [load, quiet]: [Load, Load],
  progress: ProgressStream,
): Promise<Watch> {
  const { pid, end } = await step(progress, 'starting reconcile --watch', () => startWatch(cluster, command));
  await sleep(PAUSE_MS);
  const synced = await memoryOf(pid);
  const before = await cpuSeconds(pid);
  await step(progress, `idle for ${IDLE_S} s`, () => sleep(IDLE_S * 1000));
  const idle = ((await cpuSeconds(pid)) - before) / IDLE_S;
  await warmUp(cluster, WATCH, load, progress);
  const fast = await underLoad(cluster, WATCH, load, progress, pid);
  const after = await memoryOf(pid);
  const slow = await underLoad(cluster, WATCH, quiet, progress, pid);
  await end();
  return { synced, idle, fast, slow, after };
}

type BothRates = Record<keyof Loaded, number>;
const BOTH = ['fast', 'slow'] as const;

const quantiles = (all: Loaded[], at: keyof Loaded, share: number) => all.map(each => quantile(each[at].times, share));

/** The latencies from change to write. */
function ofWaits(rates: BothRates, who: string, all: Loaded[]): Figure[] {
  return BOTH.flatMap(at => [
    figure(`${who} at ${rates[at]} a second, p50`, quantiles(all, at, 0.5), 'ms'),
    figure(`${who} at ${rates[at]} a second, p99`, quantiles(all, at, 0.99), 'ms'),
  ]);
}

/** The p99 of the watches relative to the floor's. */
function inTimesOf(floors: Loaded[], rates: BothRates, watches: Loaded[], most?: BothRates): Figure[] {
  return BOTH.map(at => {
    const found = ratios(quantiles(watches, at, 0.99), quantiles(floors, at, 0.99));
    return figure(`change to write at ${rates[at]} a second, p99 relative to the floor`, found, 'x', most?.[at]);
  });
}

/** @param samples one for each round */
function figure(name: string, samples: number[], unit: Figure['unit'], most?: number): Figure {
  return { name, value: median(samples), samples, unit, ...(most === undefined ? {} : { most }) };
}

function count(name: string, value: number, most: number): Figure {
  return { name, value, unit: '', most };
}

interface UnderLoad extends Answered {
  /** Share of one core during the load. */
  cpu: { who: string; share: number }[];
}

/** Before what counts: compilation, and the first Events of each pool, which are not rate-limited. */
async function warmUp(
  cluster: ControlPlane,
  what: string,
  { nodes, rate, seconds }: Load,
  progress: ProgressStream,
): Promise<void> {
  await sleep(PAUSE_MS);
  const start = await auditSize(cluster);
  await step(progress, `${what}: warm-up`, () => drift(cluster, nodes, rate, seconds));
  await waitForWrites(cluster, start);
}

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
  const start = await auditSize(cluster);
  const before = await used();
  await step(progress, `${what}: ${rate} changes a second`, () => drift(cluster, nodes, rate, seconds));
  const after = await used();
  const answered = await waitForWrites(cluster, start);
  const cpu = busy.map(({ who }, index) => ({ who, share: ((after[index] ?? 0) - (before[index] ?? 0)) / seconds }));
  return { ...answered, cpu };
}

/** Waits until every change has its write, or no more writes arrive, so that no work is left for the next one. */
async function waitForWrites(cluster: ControlPlane, since: number): Promise<Answered> {
  for (let waited = 0; ; waited += PAUSE_MS) {
    await sleep(PAUSE_MS);
    const answered = await answers(cluster, since);
    if (answered.unanswered === 0 || waited >= MAX_WAIT_MS) return answered;
  }
}
