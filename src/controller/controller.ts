/**
 * Workers that take keys from a queue and reconcile them.
 *
 * Guaranteed: a key is never processed by two workers at the same time. A failed key is retried until it succeeds, with
 * growing delays (work-queue.ts) or after the time that its reconcile returned. A reconcile that throws counts as
 * failed. stop() waits for in-flight reconciles.
 *
 * Not guaranteed: that a reconcile ends (abort() aborts its signal, which it must observe), or one reconcile for each
 * change: reconciling is level-based.
 */
import type { Clock } from './clock.ts';
import { type Log, messageOf } from './log.ts';
import type { WorkQueue } from './work-queue.ts';

export type ReconcileResult =
  | { kind: 'done' }
  /** Succeeded; reconcile again after `ms`. */
  | { kind: 'requeueAfter'; ms: number }
  /** Another writer was faster: reconcile again at once; with the rate limiter's delay if this repeats. */
  | { kind: 'requeue' }
  /** Retry with the rate limiter's delay, or after `ms`. */
  | { kind: 'error'; error: unknown; ms?: number };

export interface ControllerMetrics {
  /** Called by start(). */
  workers(count: number): void;
  /** Number of workers that are processing a key. */
  active(count: number): void;
  reconciled(result: ReconcileResult['kind'], seconds: number): void;
}

interface ControllerOptions<K extends string> {
  /** For the log. */
  name: string;
  queue: WorkQueue<K>;
  /** At least 1. */
  workers: number;
  /** The signal is aborted when the reconcile must end. */
  reconcile: (key: K, signal: AbortSignal) => Promise<ReconcileResult>;
  clock: Clock;
  log: Log;
  metrics?: ControllerMetrics;
}

export class Controller<K extends string = string> {
  readonly name: string;
  readonly #options: ControllerOptions<K>;
  readonly #abort = new AbortController();
  #running: Promise<unknown> | undefined;
  #active = 0;
  #stopping = false;

  constructor(options: ControllerOptions<K>) {
    if (!Number.isInteger(options.workers) || options.workers < 1) throw new Error('a controller needs a worker');
    this.name = options.name;
    this.#options = options;
  }

  start(): void {
    const { workers, metrics } = this.#options;
    metrics?.workers(workers);
    this.#running ??= Promise.all(Array.from({ length: workers }, () => this.#work()));
  }

  /** Shuts down the queue, starts no further reconcile and waits for in-flight ones. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#options.queue.shutDown();
    await this.#running;
  }

  /** Like stop(), and aborts the signal of in-flight reconciles. */
  abort(): Promise<void> {
    this.#abort.abort();
    return this.stop();
  }

  async #work(): Promise<void> {
    const { queue } = this.#options;
    for (;;) {
      const taken = await queue.get();
      if (taken.kind === 'shutdown') return;
      if (!this.#stopping) await this.#handle(taken.key);
      queue.done(taken.key);
    }
  }

  async #handle(key: K): Promise<void> {
    const { queue, reconcile, clock, log, metrics } = this.#options;
    const start = clock.now();
    metrics?.active(++this.#active);
    let result: ReconcileResult;
    try {
      result = await reconcile(key, this.#abort.signal);
    } catch (error) {
      result = { kind: 'error', error };
    }
    metrics?.active(--this.#active);
    const ms = clock.now() - start;
    metrics?.reconciled(result.kind, ms / 1000);
    log('debug', `${this.name}: ${key} ${result.kind} after ${Math.round(ms)} ms`, { controller: this.name, key });
    switch (result.kind) {
      case 'done':
        return queue.forget(key);
      case 'requeueAfter':
        queue.forget(key);
        return queue.addAfter(key, result.ms);
      case 'requeue':
        return queue.addAgain(key);
      case 'error':
        if (result.ms !== undefined) {
          queue.addAfter(key, result.ms);
          return this.#report(key, result.error, `failed; retrying in ${Math.round(result.ms / 1000)} s`);
        }
        queue.addRateLimited(key);
        return this.#report(key, result.error, `failed, attempt ${queue.retries(key)}; retrying`);
    }
  }

  #report(key: K, error: unknown, what: string): void {
    this.#options.log('error', `${this.name}: ${key} ${what}: ${messageOf(error)}`, { controller: this.name, key });
  }
}
