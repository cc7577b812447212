/** A fake Lease, and candidates for it on a fake clock. */

import type { Clock } from '../../../src/controller/clock.ts';
import {
  LeaderElector,
  type Lease,
  type LeasePort,
  type LeaseRecord,
  type LeaseWrite,
} from '../../../src/controller/leader-election.ts';
import { FakeClock, flushPromises } from './fake-clock.ts';
import { ProcessClock, type Skew } from './process-clock.ts';

/** A server with one Lease; each candidate has its own port, which can fail or hang. */
export class FakeLease {
  lease: Lease | undefined;
  /** `holder@version` of each write. */
  readonly writes: string[] = [];
  #version = 0;

  write(record: LeaseRecord, expected: string | undefined): LeaseWrite {
    if (this.lease?.resourceVersion !== expected) return { kind: 'conflict' };
    this.lease = { record, resourceVersion: String(++this.#version) };
    this.writes.push(`${record.holder}@${this.#version}`);
    return { kind: 'written', lease: this.lease };
  }

  /** Another client writes a label: a new resourceVersion of the same record. */
  touch(): void {
    if (this.lease !== undefined) this.lease = { ...this.lease, resourceVersion: String(++this.#version) };
  }

  remove(): void {
    this.lease = undefined;
  }

  port() {
    const state: { network: 'up' | 'down' | 'silent' | 'answers are lost' } = { network: 'up' };
    const pass = async <T>(call: () => T): Promise<T> => {
      if (state.network === 'down') throw new Error('no network');
      if (state.network === 'silent') return new Promise(() => {});
      const result = call();
      if (state.network === 'answers are lost') throw new Error('connection reset');
      return result;
    };
    const port: LeasePort = {
      get: () => pass(() => this.lease),
      create: record => pass(() => this.write(record, undefined)),
      update: (record, version) => pass(() => this.write(record, version)),
    };
    return { port, state };
  }
}

export function create(
  server: FakeLease,
  clock: Clock & { wall: () => Date },
  identity: string,
  random: () => number = () => 0,
) {
  const { port, state } = server.port();
  const [events, log]: [string[], string[]] = [[], []];
  const elector = new LeaderElector({
    port,
    lease: 'kube-system/candidates',
    identity,
    clock,
    wall: clock.wall,
    random,
    log: (level, message) => level !== 'info' && log.push(message),
  });
  let end: string | undefined;
  elector
    .run({
      onStarted: signal => {
        events.push('started');
        signal.addEventListener('abort', () => events.push('aborted'));
      },
    })
    .then(how => {
      end = how;
    });
  return { elector, events, log, state, end: () => end };
}

/** Two processes, the first of which is leader, each with its own clock. */
export async function pair(random?: () => number, skews: { a?: Skew; b?: Skew } = {}) {
  const clock = new FakeClock();
  const server = new FakeLease();
  const [clockA, clockB] = [new ProcessClock(clock, skews.a), new ProcessClock(clock, skews.b)];
  const a = { ...create(server, clockA, 'a', random), clock: clockA };
  await flushPromises();
  const b = { ...create(server, clockB, 'b', random), clock: clockB };
  await flushPromises();
  return { clock, server, a, b };
}
