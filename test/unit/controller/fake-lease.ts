/** A lease on no server, and candidates for it on a fake clock. */
import {
  LeaderElector,
  type Lease,
  type LeasePort,
  type LeaseRecord,
  type LeaseWrite,
} from '../../../src/controller/leader-election.ts';
import { FakeClock, settle } from './fake-clock.ts';

/** A server with one lease; each candidate has a port of its own, which can be made to fail or to fall silent. */
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

export function create(server: FakeLease, clock: FakeClock, identity: string, random = () => 0) {
  const { port, state } = server.port();
  const [events, log]: [string[], string[]] = [[], []];
  const elector = new LeaderElector({
    port,
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

export async function pair(random?: () => number) {
  const clock = new FakeClock();
  const server = new FakeLease();
  const a = create(server, clock, 'a', random);
  await settle();
  const b = create(server, clock, 'b', random);
  await settle();
  return { clock, server, a, b };
}
