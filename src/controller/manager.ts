/**
 * Starts the parts of a controller process in order and stops them in reverse order.
 *
 * Start: caches until they have synced; then, with an elector, leader election; then controllers. First stop():
 * in-flight reconciles end, events are flushed for at most 5 s, and the lease is released. After 30 s in total, this
 * becomes a second stop(). Second stop(), or a lost lease: in-flight reconciles are aborted and not waited for.
 * restored(): in-flight reconciles must not write any more and are waited for, so that the caller can start again in
 * this process.
 *
 * The lease is released only when no reconcile is in flight. After a second stop(), after 30 s and after restored(),
 * the lease expires instead. Not guaranteed: that code that ignores its signal has ended when run() has. Exit the
 * process then.
 */
import { type Clock, sleep } from './clock.ts';
import type { LeadershipCallbacks } from './leader-election.ts';
import { type Log, messageOf } from './log.ts';

const STOP_MS = 30_000;
/** An API server that rejects events is no reason to keep the lease longer. */
const FLUSH_MS = 5_000;

export interface ManagerOptions {
  caches: readonly { start(): void; synced(): Promise<void>; stop(): Promise<void> }[];
  controllers: readonly { start(): void; stop(): Promise<void>; abort(): Promise<void> }[];
  recorder?: { flush(ms: number): Promise<boolean>; stop(): void };
  elector?: {
    run(callbacks: LeadershipCallbacks): Promise<'lost' | 'stopped'>;
    stop(options: { release: boolean }): Promise<void>;
    isLeader(): boolean;
  };
  clock: Clock;
  log: Log;
}

export type ManagerEnd =
  /** Everything ended in order. */
  | 'stopped'
  /** By a second stop() or after 30 s; some code may still be running. */
  | 'aborted'
  /** The lease was lost. */
  | 'lost'
  /** restored() was called, and no reconcile is in flight. */
  | 'restored';

export class Manager {
  readonly #options: ManagerOptions;
  readonly #stop = Promise.withResolvers<'stop'>();
  readonly #abort = Promise.withResolvers<'aborted'>();
  readonly #restored = Promise.withResolvers<'restored'>();
  #isRestored = false;
  #state: 'starting' | 'ready' | 'stopping' = 'starting';

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  /** Whether the caches have synced and stop() was not called. A process that waits for the lease is ready as well. */
  get isReady(): boolean {
    return this.#state === 'ready' && !this.#isRestored;
  }

  /** Whether this process may write: it is leader, or there is no leader election. */
  get isLeader(): boolean {
    return !this.#isRestored && this.#options.elector?.isLeader() !== false;
  }

  /** Runs until stopped or until the lease is lost. Call it once. When a part throws, aborts the others and rejects. */
  async run(): Promise<ManagerEnd> {
    try {
      const end = await this.#run();
      if (end === 'lost' || end === 'aborted') this.#abortAll();
      return end;
    } catch (error) {
      this.#abortAll();
      throw error;
    }
  }

  async #run(): Promise<ManagerEnd> {
    const { caches, log } = this.#options;
    for (const cache of caches) cache.start();
    const synced = Promise.all(caches.map(cache => cache.synced())).then(() => 'synced' as const);
    const ends = [this.#stop.promise, this.#restored.promise];
    let why: 'stop' | 'synced' | 'lost' | 'restored' = await Promise.race([...ends, synced]);
    if (why === 'synced') {
      if (this.#state === 'starting') this.#state = 'ready';
      log('info', 'the caches have synced');
      why = await Promise.race([...ends, this.#lead()]);
    }
    if (why === 'lost') return why;
    return this.#end(why === 'restored' ? () => this.#endRestored() : deadline => this.#finish(deadline));
  }

  /** etcd was restored: nothing is written from now on, and run() ends with `restored`. */
  restored(): void {
    this.#isRestored = true;
    this.#restored.resolve('restored');
  }

  /** The first call stops gracefully, the second immediately. Does not wait: run() resolves when it has ended. */
  stop(): void {
    if (this.#state === 'stopping') this.#abort.resolve('aborted');
    this.#state = 'stopping';
    this.#stop.resolve('stop');
  }

  /** Starts the controllers, with an elector once this process is leader. Resolves when it loses the lease. */
  #lead(): Promise<'lost'> {
    const { controllers, elector } = this.#options;
    const start = () => {
      if (this.#state === 'stopping' || this.#isRestored) return;
      for (const controller of controllers) controller.start();
    };
    return new Promise((resolve, reject) => {
      if (elector === undefined) return start();
      elector.run({ onStarted: start }).then(end => (end === 'lost' ? resolve(end) : undefined), reject);
    });
  }

  async #end(finish: (deadline: number) => Promise<ManagerEnd>): Promise<ManagerEnd> {
    const { clock, log } = this.#options;
    log('info', 'shutting down: finishing in-flight reconciles');
    const done = new AbortController();
    const late = sleep(clock, STOP_MS, done.signal).then(() => 'aborted' as const);
    const end = await Promise.race([finish(clock.now() + STOP_MS), this.#abort.promise, late]);
    done.abort();
    return end;
  }

  async #finish(deadline: number): Promise<'stopped'> {
    const { controllers, recorder, elector, caches, clock, log } = this.#options;
    await Promise.all(controllers.map(controller => controller.stop()));
    const flushMs = Math.min(FLUSH_MS, deadline - clock.now());
    if (recorder !== undefined && !(await recorder.flush(flushMs))) log('warning', 'some events were not sent');
    recorder?.stop();
    await elector?.stop({ release: true });
    await Promise.all(caches.map(cache => cache.stop()));
    return 'stopped';
  }

  async #endRestored(): Promise<'restored' | 'aborted'> {
    const { controllers, recorder, elector, caches } = this.#options;
    recorder?.stop();
    await Promise.all(controllers.map(controller => controller.abort()));
    await elector?.stop({ release: false });
    await Promise.all(caches.map(cache => cache.stop()));
    return this.#state === 'stopping' ? 'aborted' : 'restored';
  }

  #abortAll(): void {
    const { controllers, recorder, elector, caches, log } = this.#options;
    recorder?.stop();
    const ends = [
      ...controllers.map(controller => controller.abort()),
      ...caches.map(cache => cache.stop()),
      elector?.stop({ release: false }),
    ];
    for (const end of ends) end?.catch((error: unknown) => log('error', messageOf(error)));
  }
}
