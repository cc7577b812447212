/**
 * Starts the parts of a controller process in order, and ends them in the reverse order.
 *
 * Start: the caches, until they have synced; then, with an elector, until this process leads; then the controllers.
 * First stop(): no key is begun any more, the running ones end, events are flushed for 5 s at most, the lease is handed
 * over; at most 30 s in all, then as a second stop(). Second stop(): the running reconciles are told to abort, and
 * nothing is waited for. Lost lease: as a second stop().
 *
 * The lease is handed over only when no key runs any more: not after a second stop() and not after 30 s. It expires.
 * Not guaranteed: that what does not heed its signal has ended when run() does. End the process then.
 */
import { type Clock, sleep } from './clock.ts';
import type { LeadershipCallbacks } from './leader-election.ts';
import { type Log, messageOf } from './log.ts';

const STOP_MS = 30_000;
/** An API server that takes no events is no reason to keep the lease. */
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
  /** All ended as it should. */
  | 'stopped'
  /** By a second stop(), or after 30 s: something was cut off. */
  | 'aborted'
  /** The lease was lost. */
  | 'lost';

export class Manager {
  readonly #options: ManagerOptions;
  readonly #stop = Promise.withResolvers<'stop'>();
  readonly #abort = Promise.withResolvers<'aborted'>();
  #state: 'starting' | 'ready' | 'stopping' = 'starting';

  constructor(options: ManagerOptions) {
    this.#options = options;
  }

  /** Whether the caches have synced and no stop was asked for: a process that waits to lead is ready too. */
  get isReady(): boolean {
    return this.#state === 'ready';
  }

  /** Whether this process may write: it leads, or nobody has to. */
  get leads(): boolean {
    return this.#options.elector?.isLeader() !== false;
  }

  /** Runs until stopped, or until the lease is lost. Call it once. Rejects with what a part threw: all is cut off then. */
  async run(): Promise<ManagerEnd> {
    try {
      const end = await this.#run();
      if (end !== 'stopped') this.#cutOff();
      return end;
    } catch (error) {
      this.#cutOff();
      throw error;
    }
  }

  async #run(): Promise<ManagerEnd> {
    const { caches, log } = this.#options;
    for (const cache of caches) cache.start();
    const synced = Promise.all(caches.map(cache => cache.synced())).then(() => 'synced' as const);
    let why: 'stop' | 'synced' | 'lost' = await Promise.race([this.#stop.promise, synced]);
    if (why === 'synced') {
      if (this.#state === 'starting') this.#state = 'ready';
      log('info', 'the caches have synced');
      why = await Promise.race([this.#stop.promise, this.#lead()]);
    }
    return why === 'lost' ? why : this.#end();
  }

  /** The first time gracefully, the second at once. Does not wait: run() tells when it has ended. */
  stop(): void {
    if (this.#state === 'stopping') this.#abort.resolve('aborted');
    this.#state = 'stopping';
    this.#stop.resolve('stop');
  }

  /** Starts the controllers, once this process leads if that matters. Resolves when it leads no more; else never. */
  #lead(): Promise<'lost'> {
    const { controllers, elector } = this.#options;
    const start = () => {
      if (this.#state === 'stopping') return;
      for (const controller of controllers) controller.start();
    };
    return new Promise((resolve, reject) => {
      if (elector === undefined) return start();
      elector.run({ onStarted: start }).then(end => (end === 'lost' ? resolve(end) : undefined), reject);
    });
  }

  async #end(): Promise<ManagerEnd> {
    const { clock, log } = this.#options;
    log('info', 'stopping: the running keys are finished');
    const done = new AbortController();
    const late = sleep(clock, STOP_MS, done.signal).then(() => 'aborted' as const);
    const end = await Promise.race([this.#finish(clock.now() + STOP_MS), this.#abort.promise, late]);
    done.abort();
    return end;
  }

  async #finish(deadline: number): Promise<'stopped'> {
    const { controllers, recorder, elector, caches, clock, log } = this.#options;
    await Promise.all(controllers.map(controller => controller.stop()));
    const flushMs = Math.min(FLUSH_MS, deadline - clock.now());
    if (recorder !== undefined && !(await recorder.flush(flushMs))) log('warning', 'events were left');
    recorder?.stop();
    await elector?.stop({ release: true });
    await Promise.all(caches.map(cache => cache.stop()));
    return 'stopped';
  }

  #cutOff(): void {
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
