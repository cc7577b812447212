/** `reconcile --watch` while nodes change: memory, CPU, and how long a change waits for its write, beside the floor. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { type ProgressStream, step } from '../cluster/progress.ts';
import { type Answered, answers, drift, startFloor, startWatch } from './change-to-write.ts';
import type { Figure } from './figure.ts';
import type { Command } from './race.ts';

const IDLE_S = 20;
const SETTLE_MS = 5_000;
/** startWatch counts memory in units of 1024 x 1024 bytes. */
const MB = 1024 ** 2 / 1e6;
const MOST_P99_MS = 50;
const MOST_IDLE = 1;
/** The rate that the target is for. */
const RATE = 100;
/** MB, by the number of nodes. */
const MOST_MEMORY: Record<number, number> = { 5000: 100, 50000: 400 };

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
  const endFloor = await startFloor(cluster);
  const floor = await underLoad(cluster, 'the floor', load, progress);
  await endFloor();

  const watching = await step(progress, 'starting reconcile --watch', () => startWatch(cluster, command));
  await sleep(SETTLE_MS);
  const synced = await watching.memory();
  const before = await watching.cpu();
  await step(progress, `idle for ${IDLE_S} s`, () => sleep(IDLE_S * 1000));
  const idle = ((await watching.cpu()) - before) / IDLE_S;
  const ours = await underLoad(cluster, 'reconcile --watch', load, progress);
  const after = await watching.memory();
  await watching.end();

  const memory = MOST_MEMORY[load.nodes];
  const p99 = load.rate === RATE ? MOST_P99_MS : undefined;
  return [
    figure('memory with its caches', synced.rss * MB, 'MB', memory),
    figure('memory after the load', after.rss * MB, 'MB', memory),
    figure('peak memory', after.peak * MB, 'MB'),
    figure('CPU when nothing changes', idle * 100, '%', MOST_IDLE),
    figure('changes a second', load.rate, ''),
    figure('change to write, p50', at(ours, 0.5), 'ms'),
    figure('change to write, p99', at(ours, 0.99), 'ms', p99),
    figure('the floor, p50', at(floor, 0.5), 'ms'),
    figure('the floor, p99', at(floor, 0.99), 'ms'),
    figure('changes without an answer', ours.unanswered, '', 0),
  ];
}

function figure(name: string, value: number, unit: Figure['unit'], most?: number): Figure {
  return { name, value, unit, ...(most === undefined ? {} : { most }) };
}

/** Twice the load; the second time counts: compilers, and the burst of events that are not held back yet. */
async function underLoad(cluster: ControlPlane, what: string, load: Load, progress: ProgressStream): Promise<Answered> {
  const { nodes, rate, seconds } = load;
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
