/**
 * One leader among several processes, by a Lease; numbers as client-go's tools/leaderelection: a lease lasts 15 s, the
 * leader renews it every 2 s and gives up after 10 s without success.
 *
 * Guaranteed, if the clocks run at about the same rate (their times of day do not matter: a lease's age counts from
 * when its last change was seen here):
 * - isLeader() is false from 10 s after the sending of the last renewal that succeeded, whether a timer fired or not, so
 *   a process that was halted and goes on sees it before its next write. Nobody else leads before 15 s.
 * - Every write of the lease is guarded by its resourceVersion: of several candidates one wins.
 * - When a leader dies, a candidate tries at the moment of expiry: 18 s at most after the death, plus one request.
 * - One renewal that hangs does not cost the lease: it is given up after 5 s and tried again.
 * - stop() hands the lease over: the next candidate leads within 3 s.
 *
 * Not guaranteed: that a lease which somebody deletes makes no second leader: a candidate that never saw it takes it, and
 * the leader learns so at its next renewal, as with client-go.
 * Not guaranteed: fencing. A write that was on its way when the process was halted may arrive after another leads. Who
 * asks isLeader() right before each write has 5 s for the write to arrive.
 */
import { isDeepStrictEqual } from 'node:util';
import { attempt } from './attempt.ts';
import { type Clock, sleep } from './clock.ts';
import { type Log, messageOf } from './log.ts';

const LEASE_S = 15;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
/** Half the deadline, as controller-runtime: a request that hangs is tried again before the lease is lost. */
const MOST_TRY_MS = RENEW_DEADLINE_MS / 2;
/** Candidates ask every 2 to 3 s. */
const JITTER = 0.5;

export interface LeaseRecord {
  /** Empty when the lease was handed over. */
  holder: string;
  durationSeconds: number;
  acquired: Date;
  renewed: Date;
  /** How often the holder changed. */
  transitions: number;
}

export interface Lease {
  record: LeaseRecord;
  resourceVersion: string;
}

export type LeaseWrite = { kind: 'written'; lease: Lease } | { kind: 'conflict' };

/** Throws when there is no answer, or a refusal; such an attempt counts as failed. */
export interface LeasePort {
  /** Undefined when there is none. */
  get(): Promise<Lease | undefined>;
  /** `conflict` when there is one by now. */
  create(record: LeaseRecord): Promise<LeaseWrite>;
  /** `conflict` when it is not of that resourceVersion any more. */
  update(record: LeaseRecord, resourceVersion: string): Promise<LeaseWrite>;
}

export interface ElectorOptions {
  port: LeasePort;
  /** Of this process among all that ever ask for the lease. */
  identity: string;
  clock: Clock;
  /** The time of day. */
  wall: () => Date;
  /** From 0 up to, not including, 1. */
  random: () => number;
  log: Log;
  /** For the metric: false at first, true when it leads, false at the end. */
  onLeads?: (leads: boolean) => void;
}

export interface LeadershipCallbacks {
  /** Called once, when this process leads. The signal is aborted when it does so no longer. */
  onStarted(signal: AbortSignal): void;
}

export class LeaderElector {
  readonly #options: ElectorOptions;
  readonly #stop = new AbortController();
  #running: Promise<'lost' | 'stopped'> | undefined;
  /** The lease as last seen, and when by the clock it was first seen so. */
  #observed: { lease: Lease; at: number } | undefined;
  /** When the last renewal that succeeded was sent, by the clock and by the time of day; undefined: no leader. */
  #renewed: { at: number; date: number } | undefined;

  constructor(options: ElectorOptions) {
    if (options.identity === '') throw new Error('a candidate needs an identity');
    this.#options = options;
  }

  /** To be asked before every write. */
  isLeader(): boolean {
    return this.#remainingMs() > 0;
  }

  /** Leads once. `lost`: it did, and others may now; `stopped`: stop() was called. */
  run(callbacks: LeadershipCallbacks): Promise<'lost' | 'stopped'> {
    this.#running ??= this.#run(callbacks);
    return this.#running;
  }

  /** Ends run(). With `release` the lease is handed over: only when nothing writes any more. */
  async stop({ release }: { release: boolean }): Promise<void> {
    this.#stop.abort();
    await this.#running;
    if (release && this.isLeader()) await this.#release();
    this.#renewed = undefined;
  }

  async #run(callbacks: LeadershipCallbacks): Promise<'lost' | 'stopped'> {
    const { clock, random, log, identity, onLeads } = this.#options;
    const { signal } = this.#stop;
    onLeads?.(false);
    while (!signal.aborted && !(await this.#try(MOST_TRY_MS))) {
      const retry = RETRY_MS * (1 + random() * JITTER);
      await sleep(clock, Math.min(retry, this.#untilExpiry() || retry), signal);
    }
    if (signal.aborted) return 'stopped';
    log('info', `${identity} leads`);
    onLeads?.(true);
    const leading = new AbortController();
    callbacks.onStarted(leading.signal);
    while (!signal.aborted && this.isLeader()) {
      await sleep(clock, Math.min(RETRY_MS, this.#remainingMs()), signal);
      if (!signal.aborted && this.isLeader()) await this.#try(Math.min(MOST_TRY_MS, this.#remainingMs()));
    }
    const lost = !this.isLeader();
    if (lost) log('error', `${identity} lost the lease`);
    leading.abort();
    onLeads?.(false);
    return lost ? 'lost' : 'stopped';
  }

  /** True when it leads now. Ends after `ms`, or when told to stop. */
  async #try(ms: number): Promise<boolean> {
    const { clock, log } = this.#options;
    const outcomes = { late: false, stopped: false };
    try {
      return await attempt(clock, ms, this.#stop.signal, outcomes, ({ signal }) => this.#acquireOrRenew(signal));
    } catch (error) {
      log('warning', `the lease was not renewed: ${messageOf(error)}`);
      return false;
    }
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<boolean> {
    // A leader's lease is most likely as it left it: one request instead of two.
    if (this.isLeader() && this.#observed !== undefined && (await this.#write(signal, this.#observed.lease)))
      return true;
    const lease = await this.#options.port.get();
    if (signal.aborted) return false;
    if (lease !== undefined) this.#observe(lease);
    // Who held one that was deleted may not know yet: its time is waited for all the same.
    const holder = (lease ?? this.#observed?.lease)?.record.holder ?? '';
    if (holder !== '' && holder !== this.#options.identity && this.#untilExpiry() > 0) {
      this.#renewed = undefined;
      return false;
    }
    return this.#write(signal, lease);
  }

  /** Creates or updates the lease in our name. An answer that comes too late makes nobody a leader. */
  async #write(signal: AbortSignal, current: Lease | undefined): Promise<boolean> {
    const { clock, wall, identity, port } = this.#options;
    const [at, date] = [clock.now(), wall()];
    const before = current?.record;
    const keeps = before?.holder === identity;
    const record: LeaseRecord = {
      holder: identity,
      durationSeconds: LEASE_S,
      acquired: keeps ? before.acquired : date,
      renewed: date,
      transitions: before === undefined ? 0 : before.transitions + (keeps ? 0 : 1),
    };
    const write = await (current === undefined ? port.create(record) : port.update(record, current.resourceVersion));
    if (signal.aborted || write.kind === 'conflict') return false;
    this.#observe(write.lease);
    this.#renewed = { at, date: date.getTime() };
    return true;
  }

  async #release(): Promise<void> {
    const outcomes = { late: undefined, stopped: undefined };
    const never = new AbortController().signal;
    try {
      await attempt(this.#options.clock, this.#remainingMs(), never, outcomes, async () => {
        // A renewal that was cut off by stop() may have got through: then the lease has another version by now.
        if ((await this.#vacate(this.#observed?.lease)) === 'conflict')
          await this.#vacate(await this.#options.port.get());
      });
    } catch (error) {
      this.#options.log('warning', `the lease was not handed over: ${messageOf(error)}`);
    }
  }

  async #vacate(lease: Lease | undefined): Promise<LeaseWrite['kind'] | undefined> {
    const { port, wall, identity } = this.#options;
    if (lease?.record.holder !== identity) return undefined;
    const record = { ...lease.record, holder: '', durationSeconds: 1, renewed: wall() };
    return (await port.update(record, lease.resourceVersion)).kind;
  }

  /** What others write into its metadata is no sign of life of its holder. */
  #observe(lease: Lease): void {
    const before = this.#observed;
    const isNews = !isDeepStrictEqual(before?.lease.record, lease.record);
    this.#observed = { lease, at: isNews || before === undefined ? this.#options.clock.now() : before.at };
  }

  /** Milliseconds until the lease seen last expires; 0 when it has, or there is none. */
  #untilExpiry(): number {
    if (this.#observed === undefined) return 0;
    const { lease, at } = this.#observed;
    return Math.max(0, at + lease.record.durationSeconds * 1000 - this.#options.clock.now());
  }

  /** Milliseconds for which this process leads without a further renewal. A time of day that jumped counts as passed. */
  #remainingMs(): number {
    if (this.#renewed === undefined) return 0;
    const { clock, wall } = this.#options;
    const passed = Math.max(clock.now() - this.#renewed.at, wall().getTime() - this.#renewed.date);
    return Math.max(0, RENEW_DEADLINE_MS - passed);
  }
}
