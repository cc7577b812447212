/**
 * Leader election among several processes by a Lease, with the numbers of client-go's tools/leaderelection: a lease
 * lasts 15 s; the leader renews it every 2 s and gives up after 10 s without success.
 *
 * Guaranteed if the clocks run at about the same rate. Their times of day do not matter: the age of a lease counts from
 * when its last change was observed here.
 * - isLeader() is false from 10 s after the last successful renewal was sent, without depending on a timer. So a
 *   process that was suspended notices before its next write. No other process becomes leader before 15 s.
 * - Every write of the lease is guarded by its resourceVersion: only one of several candidates succeeds.
 * - After a leader dies, a candidate tries when the lease expires: at most 18 s and one request later.
 * - A renewal that hangs is abandoned after 5 s and retried before the lease is lost.
 * - stop() releases the lease: the next candidate becomes leader within 3 s.
 *
 * Not guaranteed, as with client-go: a single leader after someone deletes the lease. A candidate that never observed
 * the lease acquires it; the leader notices at its next renewal. Not guaranteed: fencing. A write that was in flight
 * when the process was suspended may arrive after another process becomes leader. A caller that checks isLeader()
 * immediately before each write leaves the write 5 s to arrive.
 */
import { isDeepStrictEqual } from 'node:util';
import { type Clock, sleep } from './clock.ts';
import { type Log, messageOf } from './log.ts';
import { withTimeLimit } from './time-limit.ts';

const LEASE_S = 15;
const RENEW_DEADLINE_MS = 10_000;
const RETRY_MS = 2_000;
/** Half the deadline, as in controller-runtime: a hanging request is retried before the lease is lost. */
const ATTEMPT_LIMIT_MS = RENEW_DEADLINE_MS / 2;
/** Candidates retry every 2 to 3 s. */
const JITTER = 0.5;

export interface LeaseRecord {
  /** Empty after the lease was released. */
  holder: string;
  durationSeconds: number;
  acquired: Date;
  renewed: Date;
  /** Number of changes of the holder. */
  transitions: number;
}

export interface Lease {
  record: LeaseRecord;
  resourceVersion: string;
}

export type LeaseWrite = { kind: 'written'; lease: Lease } | { kind: 'conflict' };

/** A method that throws (no response, or a refusal) counts as a failed attempt. */
export interface LeasePort {
  /** Undefined when there is no lease. */
  get(): Promise<Lease | undefined>;
  /** `conflict` when the lease exists. */
  create(record: LeaseRecord): Promise<LeaseWrite>;
  /** `conflict` when the lease has another resourceVersion. */
  update(record: LeaseRecord, resourceVersion: string): Promise<LeaseWrite>;
}

export interface ElectorOptions {
  port: LeasePort;
  /** NAMESPACE/NAME of the lease, for the log. */
  lease: string;
  /** Unique among all candidates. */
  identity: string;
  clock: Clock;
  /** The time of day. */
  wall: () => Date;
  /** In [0, 1). */
  random: () => number;
  log: Log;
  /** For the metric: false at the start and at the end, true while this process is leader. */
  onLeaderChange?: (isLeader: boolean) => void;
}

export interface LeadershipCallbacks {
  /** Called once, when this process becomes leader. The signal is aborted when it is no longer leader. */
  onStarted(signal: AbortSignal): void;
}

export class LeaderElector {
  readonly #options: ElectorOptions;
  readonly #stop = new AbortController();
  #running: Promise<'lost' | 'stopped'> | undefined;
  /** The lease as last observed, and the clock time when this state was first observed. */
  #observed: { lease: Lease; at: number } | undefined;
  /** Whether the log already says that this process waits. */
  #waits = false;
  /** When the last successful renewal was sent, as clock time and time of day; undefined when not leading. */
  #renewed: { at: number; date: number } | undefined;

  constructor(options: ElectorOptions) {
    if (options.identity === '') throw new Error('a candidate needs an identity');
    this.#options = options;
  }

  /** Check it immediately before every write. */
  isLeader(): boolean {
    return this.#remainingMs() > 0;
  }

  /** Becomes leader at most once. `lost`: it led, and others may lead now; `stopped`: stop() was called. */
  run(callbacks: LeadershipCallbacks): Promise<'lost' | 'stopped'> {
    this.#running ??= this.#run(callbacks);
    return this.#running;
  }

  /** Ends run(). `release` releases the lease for the next candidate: set it only when nothing writes any more. */
  async stop({ release }: { release: boolean }): Promise<void> {
    this.#stop.abort();
    await this.#running;
    if (release && this.isLeader()) await this.#release();
    this.#renewed = undefined;
  }

  async #run(callbacks: LeadershipCallbacks): Promise<'lost' | 'stopped'> {
    const { clock, random, log, identity, onLeaderChange } = this.#options;
    const { signal } = this.#stop;
    onLeaderChange?.(false);
    while (!signal.aborted && !(await this.#try(ATTEMPT_LIMIT_MS))) {
      const retry = RETRY_MS * (1 + random() * JITTER);
      await sleep(clock, Math.min(retry, this.#untilExpiry() || retry), signal);
    }
    if (signal.aborted) return 'stopped';
    log('info', `became leader: ${identity}`);
    onLeaderChange?.(true);
    const leading = new AbortController();
    callbacks.onStarted(leading.signal);
    while (!signal.aborted && this.isLeader()) {
      await sleep(clock, Math.min(RETRY_MS, this.#remainingMs()), signal);
      if (!signal.aborted && this.isLeader()) await this.#try(Math.min(ATTEMPT_LIMIT_MS, this.#remainingMs()));
    }
    const lost = !this.isLeader();
    if (lost) log('error', `${identity} lost the lease`);
    leading.abort();
    onLeaderChange?.(false);
    return lost ? 'lost' : 'stopped';
  }

  /** Whether this process is leader now. Ends after `ms` or on stop(). */
  async #try(ms: number): Promise<boolean> {
    const { clock, log } = this.#options;
    const outcomes = { late: false, stopped: false };
    try {
      return await withTimeLimit(clock, ms, this.#stop.signal, outcomes, ({ signal }) => this.#acquireOrRenew(signal));
    } catch (error) {
      log('warning', `the lease was not renewed: ${messageOf(error)}`);
      return false;
    }
  }

  async #acquireOrRenew(signal: AbortSignal): Promise<boolean> {
    // Usually the leader's lease has not changed: this saves the get request.
    if (this.isLeader() && this.#observed !== undefined && (await this.#write(signal, this.#observed.lease)))
      return true;
    const lease = await this.#options.port.get();
    if (signal.aborted) return false;
    if (lease !== undefined) this.#observe(lease);
    // The holder of a deleted lease may not have noticed yet, so wait for its lease duration anyway.
    const holder = (lease ?? this.#observed?.lease)?.record.holder ?? '';
    if (holder !== '' && holder !== this.#options.identity && this.#untilExpiry() > 0) {
      if (this.#renewed === undefined) this.#logWait(holder);
      this.#renewed = undefined;
      return false;
    }
    return this.#write(signal, lease);
  }

  #logWait(holder: string): void {
    const { lease, log } = this.#options;
    if (!this.#waits) log('info', `waiting for lease ${lease}, held by ${holder}`);
    this.#waits = true;
  }

  /** Creates or updates the lease with this process as holder. A late response does not make this process leader. */
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
      await withTimeLimit(this.#options.clock, this.#remainingMs(), never, outcomes, async () => {
        // A renewal that stop() aborted may have succeeded; the lease then has a newer resourceVersion.
        if ((await this.#clearHolder(this.#observed?.lease)) === 'conflict')
          await this.#clearHolder(await this.#options.port.get());
      });
    } catch (error) {
      this.#options.log('warning', `the lease was not released: ${messageOf(error)}`);
    }
  }

  async #clearHolder(lease: Lease | undefined): Promise<LeaseWrite['kind'] | undefined> {
    const { port, wall, identity } = this.#options;
    if (lease?.record.holder !== identity) return undefined;
    const record = { ...lease.record, holder: '', durationSeconds: 1, renewed: wall() };
    return (await port.update(record, lease.resourceVersion)).kind;
  }

  /** Only changes of the record count as renewals, not changes of the metadata. */
  #observe(lease: Lease): void {
    const before = this.#observed;
    const isChanged = !isDeepStrictEqual(before?.lease.record, lease.record);
    this.#observed = { lease, at: isChanged || before === undefined ? this.#options.clock.now() : before.at };
  }

  /** Milliseconds until the observed lease expires; 0 when it has expired or there is none. */
  #untilExpiry(): number {
    if (this.#observed === undefined) return 0;
    const { lease, at } = this.#observed;
    return Math.max(0, at + lease.record.durationSeconds * 1000 - this.#options.clock.now());
  }

  /** Milliseconds of leadership left without another renewal. A jump of the time of day counts as elapsed time. */
  #remainingMs(): number {
    if (this.#renewed === undefined) return 0;
    const { clock, wall } = this.#options;
    const passed = Math.max(clock.now() - this.#renewed.at, wall().getTime() - this.#renewed.date);
    return Math.max(0, RENEW_DEADLINE_MS - passed);
  }
}
