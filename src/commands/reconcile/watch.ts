/** Wires a controller process: caches, event handlers, work queue, workers, Event recorder, leader election. */
import { hostname } from 'node:os';
import { type Clock, sleep } from '../../controller/clock.ts';
import { Controller, type ReconcileResult } from '../../controller/controller.ts';
import { LeaderElector, type LeasePort } from '../../controller/leader-election.ts';
import type { Log } from '../../controller/log.ts';
import { Manager } from '../../controller/manager.ts';
import { Recorder } from '../../controller/recorder.ts';
import { Reflector } from '../../controller/reflector.ts';
import { type Resync, startResync } from '../../controller/resync.ts';
import type { WatchedResource } from '../../controller/source.ts';
import type { StandardMetrics } from '../../controller/standard-metrics.ts';
import { Store } from '../../controller/store.ts';
import { WorkQueue } from '../../controller/work-queue.ts';
import type { ClusterPort, PoolEvent } from '../../kube/cluster.ts';
import type { EventsPort } from '../../kube/resources/events.ts';
import type { PodPlace, PodsPort } from '../../kube/resources/pods.ts';
import { API_VERSION, CONTROLLER, type NodePool } from '../../nodepool/types.ts';
import { EventHandlers } from '../../reconciler/event-handlers.ts';
import { MoveRecorder, REASON } from '../../reconciler/events.ts';
import { limitersOf, WORKERS } from '../../reconciler/limits/limiters.ts';
import { StatusRateLimiter } from '../../reconciler/limits/rate-limiters.ts';
import type { PoolOutcome } from '../../reconciler/outcome.ts';
import { Reconciler } from '../../reconciler/reconciler.ts';
import { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { NodeBirths } from '../../reconciler/state/node-births.ts';
import type { PoolMetrics } from './pool-metrics.ts';
import { poolReconcile } from './pool-reconcile.ts';
import { noExecuteLog, noMatchLog } from './watch-log.ts';

export interface PoolWatchOptions {
  /** Maximum number of pools in progress, and of nodes. */
  concurrency: number;
  /** Milliseconds between two reconciles of every pool. */
  resyncMs: number;
  /** Write pod counts to the status, which needs a cache of all pods. */
  podCounts: boolean;
}

export interface WatchDeps {
  /** Refuses writes once the lease is lost, because another process may be writing. */
  cluster: ClusterPort;
  pods: Pick<PodsPort, 'watch'>;
  events: Pick<EventsPort, 'sink'>;
  /** If set, only the process that holds the lease reconciles. */
  lease: { namespace: string; name: string; port: LeasePort } | undefined;
  /** This process' name in the leader election. */
  identity: string;
  clock: Clock;
  now: () => Date;
  random: () => number;
  newId: () => string;
  log: Log;
  metrics: StandardMetrics;
  poolMetrics: PoolMetrics;
  /** Called after every reconcile that changed something. */
  onChanged: (outcome: PoolOutcome) => void;
}

export interface WatchState {
  pools: number;
  nodes: number;
  /** Number of pools that wait for a worker. */
  queued: number;
}

/** How long a pool's pod count may be stale. A rollout changes hundreds of pods in that time. */
const PODS_DELAY_MS = 10_000;
/** Retry delay while all watches are broken: a restore of etcd may have undone what the caches contain. */
const UNCONFIRMED_MS = 1_000;

/** A manager that is ready to run(), and its state. If it ends with `restored`, call this again with new caches. */
export function createWatch(options: PoolWatchOptions, deps: WatchDeps): { manager: Manager; state: () => WatchState } {
  const { lease, clock, now, random, newId, log, metrics, poolMetrics } = deps;
  const births = new NodeBirths(deps.cluster.nodes.serverTime);
  const state = new ClusterState([], [], [], { ...deps.cluster.rules, withholdsNoExecute: true }, births);
  const queue = new WorkQueue<string>({ clock, metrics: metrics.queue(CONTROLLER) });
  const recorder = new Recorder({ sink: deps.events.sink(), clock, wall: now, random, newId, log });
  const elector =
    lease &&
    new LeaderElector({
      port: lease.port,
      lease: `${lease.namespace}/${lease.name}`,
      identity: deps.identity,
      clock,
      wall: now,
      random,
      log,
      onLeaderChange: isLeader => metrics.leader(lease.name, isLeader),
    });
  const record = (pool: NodePool, event: PoolEvent) => recorder.event({ ...event, regarding: referenceTo(pool) });
  const moves = new MoveRecorder({ clock, poolOf: name => state.pool(name), record });

  const handlers = new EventHandlers({
    state,
    enqueue: pool => queue.add(pool),
    enqueueLater: pool => queue.addAfter(pool, PODS_DELAY_MS),
    onNodeDeleted: (name, node) => {
      const pool = state.pool(name);
      const note = `1 node left: ${node} (deleted from the cluster)`;
      if (pool !== undefined) {
        record(pool, { type: 'Normal', reason: REASON.nodeLeft, action: 'Reconcile', note });
      }
    },
  });
  const onRestored = () => manager.restored();
  const pools = cache('nodepools', deps.cluster.pools.watch(), deps, onRestored);
  const nodes = cache('nodes', deps.cluster.nodes.watch(), deps, onRestored);
  const runtimeClasses = cache('runtimeclasses', deps.cluster.runtimeClasses.watch(), deps, onRestored);
  const pods = options.podCounts ? podCache(deps, handlers, onRestored) : undefined;
  const caches = [pools, nodes, runtimeClasses, ...(pods === undefined ? [] : [pods])];
  pools.subscribe(event => handlers.pool(event));
  nodes.subscribe(event => handlers.node(event));
  runtimeClasses.subscribe(event => handlers.runtimeClass(event));

  /** Once it is aborted, reconciles in flight start nothing new. */
  const stopping = new AbortController();
  const reconciler = new Reconciler({
    cluster: { ...deps.cluster, createEvent: async (pool, event) => record(pool, event) },
    state,
    ...limitersOf(options.concurrency),
    // Rollouts use the server's clock, whoever reconciles. The local clock detects that this machine slept.
    now: deps.cluster.nodes.serverTime,
    sleep: ms => sleep(clock, ms),
    clock,
    signal: stopping.signal,
    hasCaches: true,
    statusLimiter: new StatusRateLimiter(clock),
    onWrite: noExecuteLog(log, clock),
    onMoves: written => {
      moves.add(written);
      poolMetrics.nodesWritten(written);
    },
    ...(pods === undefined ? {} : { podsOn: (node: string) => pods.store.byIndex('node', node).length }),
  });
  const reconcilePool = poolReconcile(reconciler, {
    log,
    onChanged: deps.onChanged,
    onSuccess: pool => poolMetrics.reconcileSucceeded(pool),
    requeueAfter: (pool, ms) => queue.addAfter(pool, ms),
  });
  const logNoMatch = noMatchLog(state, log);
  const controller = new Controller<string>({
    name: CONTROLLER,
    queue,
    workers: WORKERS,
    clock,
    log,
    metrics: metrics.controller(CONTROLLER),
    async reconcile(name): Promise<ReconcileResult> {
      resync.detectPause();
      // One confirmed cache is enough: a restore of etcd affects all. After a pause of the process none is trusted.
      const isUnconfirmed =
        caches.every(({ isConfirmed }) => !isConfirmed) || caches.some(({ isDoubted }) => isDoubted);
      if (isUnconfirmed) return { kind: 'requeueAfter', ms: UNCONFIRMED_MS };
      const result = await reconcilePool(name);
      logNoMatch(name);
      return result;
    },
  });
  let resync: Resync = { detectPause() {}, stop() {} };
  const begin = () => {
    poolMetrics.started();
    handlers.start();
    // Pods are many and affect only the pod count, so they are listed again only after a pause.
    const onInterval = () => {
      for (const each of [pools, nodes, runtimeClasses]) each.relist();
      handlers.enqueueAll();
    };
    const onPause = () => {
      for (const each of caches) each.doubt();
      handlers.enqueueAll();
    };
    resync = startResync({ everyMs: options.resyncMs, clock, wall: now }, { onInterval, onPause });
    return () => {
      stopping.abort();
      resync.stop();
    };
  };
  const manager = new Manager({
    caches,
    controllers: [starting(controller, begin)],
    recorder: {
      flush(ms) {
        moves.flush();
        return recorder.flush(ms);
      },
      stop: () => recorder.stop(),
    },
    ...(elector === undefined ? {} : { elector }),
    clock,
    log,
  });
  poolMetrics.observe(state, () => manager.isReady && manager.isLeader);
  return { manager, state: () => ({ pools: pools.store.size, nodes: nodes.store.size, queued: queue.length }) };
}

/** `host_random`, like the identities in client-go. */
export function candidateIdentity(newId: () => string): string {
  return `${hostname()}_${newId()}`;
}

function cache<T>(
  name: string,
  { source, transform }: WatchedResource<T>,
  { clock, random, log }: WatchDeps,
  onRestored: () => void,
  store = new Store<T>(),
): Reflector<T> {
  return new Reflector({ name, source, transform, store, clock, random, log, onRestored });
}

/** Pods by node. Updates enqueue nothing: a pod never changes its node. */
function podCache(deps: WatchDeps, handlers: EventHandlers, onRestored: () => void): Reflector<PodPlace> {
  const store = new Store<PodPlace>({ node: ({ node }) => [node] });
  const pods = cache('pods', deps.pods.watch(), deps, onRestored, store);
  pods.subscribe(event => {
    if (event.type === 'added') handlers.pod(event.item.object.node);
    if (event.type === 'deleted') handlers.pod(event.tombstone.item.object.node);
  });
  return pods;
}

/** The controller plus a task that begins when it starts and ends before it stops. */
function starting(controller: Controller, begin: () => () => void) {
  let end = () => {};
  return {
    start() {
      end = begin();
      controller.start();
    },
    stop() {
      end();
      return controller.stop();
    },
    abort() {
      end();
      return controller.abort();
    },
  };
}

function referenceTo({ metadata }: NodePool) {
  const { name, uid } = metadata;
  return { apiVersion: API_VERSION, kind: 'NodePool', name, ...(uid === undefined ? {} : { uid }) };
}
