/** One process of `reconcile --watch` in a simulated cluster, from its start until it is killed. */
import { poolReconcile } from '../../../src/commands/reconcile/pool-reconcile.ts';
import { sleep } from '../../../src/controller/clock.ts';
import { Controller } from '../../../src/controller/controller.ts';
import type { Log } from '../../../src/controller/log.ts';
import { WorkQueue } from '../../../src/controller/work-queue.ts';
import { NodepoolError } from '../../../src/nodepool/errors.ts';
import { EventHandlers } from '../../../src/reconciler/event-handlers.ts';
import { limitersOf, WORKERS } from '../../../src/reconciler/limits/limiters.ts';
import { StatusRateLimiter } from '../../../src/reconciler/limits/rate-limiters.ts';
import { Reconciler } from '../../../src/reconciler/reconciler.ts';
import { ClusterState } from '../../../src/reconciler/state/cluster-state.ts';
import { NodeBirths } from '../../../src/reconciler/state/node-births.ts';
import type { FakeClock } from '../controller/fake-clock.ts';
import type { FaultyCluster, Watcher } from './faulty-cluster.ts';

interface ProcessOptions {
  clock: FakeClock;
  /** Maximum number of requests at the same time. */
  concurrency: number;
  log: Log;
  /** Called with an error that is not a NodepoolError. */
  onBug: (text: string) => void;
}

export class ControllerProcess {
  readonly state: ClusterState;
  /** Pools that are being reconciled. */
  readonly running = new Set<string>();
  readonly #queue: WorkQueue<string>;
  readonly #watcher: Watcher;
  readonly #stopping = new AbortController();
  readonly #onBug: (text: string) => void;

  constructor(cluster: FaultyCluster, { clock, concurrency, log, onBug }: ProcessOptions) {
    this.#onBug = onBug;
    const { pools, nodes, classes, serverTime } = cluster;
    const births = new NodeBirths(serverTime);
    const rules = { withholdsNoExecute: true };
    const state = new ClusterState(pools.values(), nodes.values(), classes.values(), rules, births);
    const queue = new WorkQueue<string>({ clock });
    const handlers = new EventHandlers({
      state,
      enqueue: pool => queue.add(pool),
      enqueueLater: pool => queue.addAfter(pool, 10_000),
      onNodeDeleted() {},
    });
    this.state = state;
    this.#queue = queue;
    this.#watcher = { isAlive: true, handlers };
    cluster.watcher = this.#watcher;
    const reconciler = new Reconciler({
      cluster: cluster.clientsOf(this.#watcher),
      state,
      signal: this.#stopping.signal,
      ...limitersOf(concurrency),
      now: serverTime,
      sleep: ms => sleep(clock, ms),
      clock,
      hasCaches: true,
      statusLimiter: new StatusRateLimiter(clock),
      onMoves() {},
    });
    const requeueAfter = (pool: string, ms: number) => queue.addAfter(pool, ms);
    const reconcile = poolReconcile(reconciler, { log, onChanged() {}, onSuccess() {}, requeueAfter });
    const watched = (name: string) => this.#watched(name, reconcile);
    handlers.start();
    new Controller<string>({ name: 'nodepool', queue, workers: WORKERS, clock, log, reconcile: watched }).start();
  }

  /** From now on, its requests get no response, and no event reaches it. */
  kill(): void {
    this.#watcher.isAlive = false;
    this.#stopping.abort();
    this.#queue.shutDown();
  }

  async #watched<T>(name: string, reconcile: (name: string) => Promise<T>): Promise<T> {
    this.running.add(name);
    try {
      return await reconcile(name);
    } catch (error) {
      if (!(error instanceof NodepoolError)) this.#onBug(error instanceof Error ? `${error.stack}` : String(error));
      throw error;
    } finally {
      this.running.delete(name);
    }
  }
}
