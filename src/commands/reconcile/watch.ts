/** Wires a controller process: caches, event handlers, work queue, workers, recorder of Events, leader election. */
import { hostname } from 'node:os';
import { type Clock, type NowClock, sleep } from '../../controller/clock.ts';
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
import { NodepoolError, warningText } from '../../nodepool/errors.ts';
import type { WritePlan } from '../../nodepool/plan/plan.ts';
import { DroppedFieldsError } from '../../nodepool/spec/schema.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { arrivingNoExecute } from '../../nodepool/spec/taints.ts';
import { STATUS_WORDS } from '../../nodepool/status/status.ts';
import { plural } from '../../nodepool/text.ts';
import { API_VERSION, CONTROLLER, type NodePool, type NodePoolStatus } from '../../nodepool/types.ts';
import { EventHandlers } from '../../reconciler/event-handlers.ts';
import { MoveRecorder, REASON } from '../../reconciler/events.ts';
import { limitersOf, WORKERS } from '../../reconciler/limits/limiters.ts';
import { StatusRateLimiter } from '../../reconciler/limits/rate-limiters.ts';
import { nextReconcile, type PoolOutcome } from '../../reconciler/outcome.ts';
import { Reconciler } from '../../reconciler/reconciler.ts';
import { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { NodeBirths } from '../../reconciler/state/node-births.ts';
import { lackingWarning, STATUS_SUBRESOURCE, UPDATED_COUNT } from '../../reconciler/write/status-writer.ts';
import { emptyPoolWarnings } from '../shared/consent/no-match.ts';
import type { PoolMetrics } from './pool-metrics.ts';

export interface WatchOptions {
  /** Nodes and pools in progress at most. */
  concurrency: number;
  /** Milliseconds between two looks at every pool. */
  resyncMs: number;
  /** Count pods into the status: caches where every pod is. */
  podCounts: boolean;
}

export interface WatchDeps {
  /** Refuses writes once the lease is lost: another process may write by then. */
  cluster: ClusterPort;
  pods: Pick<PodsPort, 'watch'>;
  events: Pick<EventsPort, 'sink'>;
  /** With it, only the process that holds the lease reconciles. */
  lease: { namespace: string; name: string; port: LeasePort } | undefined;
  /** Of this process among the candidates. */
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
  /** Pools that wait for a worker. */
  queued: number;
}

/** How long a pool's number of pods may be stale. A rollout changes hundreds of pods in that time. */
const PODS_DELAY_MS = 10_000;
/** Retry delay while all connections are broken: a restore of etcd may have undone what the caches have. */
const UNCONFIRMED_MS = 1_000;

/**
 * A manager that is ready to run(), and its current state. When it ends with `restored`, call this again: no cached object
 * may be used again.
 */
export function createWatch(options: WatchOptions, deps: WatchDeps): { manager: Manager; state: () => WatchState } {
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

  /** Reconciles in flight begin nothing further once it ends. */
  const stopping = new AbortController();
  const reconciler = new Reconciler({
    cluster: { ...deps.cluster, createEvent: async (pool, event) => record(pool, event) },
    state,
    ...limitersOf(options.concurrency),
    now,
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
      resync.look();
      // One confirmed cache is enough: a restore of etcd affects all of them. After a pause of the process none is trusted.
      const isUnconfirmed =
        caches.every(({ isConfirmed }) => !isConfirmed) || caches.some(({ isDoubted }) => isDoubted);
      if (isUnconfirmed) return { kind: 'requeueAfter', ms: UNCONFIRMED_MS };
      const result = await reconcilePool(name);
      logNoMatch(name);
      return result;
    },
  });
  let resync: Resync = { look() {}, stop() {} };
  const begin = () => {
    poolMetrics.started();
    handlers.start();
    // Pods are many, and only the number of pods depends on them: they are listed again only after a pause.
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

/** `host_random`, as client-go's candidates call themselves. */
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

/** Pods by their node. An update enqueues nothing: a pod does not change its node. */
function podCache(deps: WatchDeps, handlers: EventHandlers, onRestored: () => void): Reflector<PodPlace> {
  const store = new Store<PodPlace>({ node: ({ node }) => [node] });
  const pods = cache('pods', deps.pods.watch(), deps, onRestored, store);
  pods.subscribe(event => {
    if (event.type === 'added') handlers.pod(event.item.object.node);
    if (event.type === 'deleted') handlers.pod(event.tombstone.item.object.node);
  });
  return pods;
}

/** The controller, with something that begins when it starts and ends before it stops. */
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

// Logs pools that no node matches, each once while its spec stays as it is: an autoscaler may take all nodes every night.

/** To be called after a reconcile of the pool. */
function noMatchLog(
  state: Pick<ClusterState, 'pool' | 'members' | 'lost' | 'isActive' | 'nodes'>,
  log: Log,
): (pool: string) => void {
  /** Generations, by pool. */
  const said = new Map<string, number | undefined>();
  return name => {
    const pool = state.pool(name);
    if (pool === undefined) {
      said.delete(name);
      return;
    }
    const { generation } = pool.metadata;
    if (said.has(name) && said.get(name) === generation) return;
    for (const warning of emptyPoolWarnings(state, [name])) {
      // No warning: a pool may be there before its nodes.
      log('info', warningText(warning), { pool: name });
      said.set(name, generation);
    }
  };
}

// Logs that taints with the effect NoExecute are about to be set: `reconcile --watch` does not ask.

/** Of a pool that sets one taint on many nodes, the first is logged. */
const SILENT_MS = 60_000;

const WITHIN = 'PodDisruptionBudgets are respected';
const REGARDLESS = 'pods that do not tolerate it are evicted, and PodDisruptionBudgets are not respected';

export function noExecuteLog(log: Log, clock: NowClock): (plan: WritePlan) => void {
  const loggedAt = new Map<string, number>();
  const say = (level: 'info' | 'warning', pool: string, what: string, more: string) => {
    const [key, now] = [`${pool} ${what}`, clock.now()];
    if (now - (loggedAt.get(key) ?? Number.NEGATIVE_INFINITY) < SILENT_MS) return;
    loggedAt.set(key, now);
    log(level, `${pool}: ${what}, first on ${more}`, { pool });
  };
  return ({ node, owner, previous, patch, drain, isCleared = false }) => {
    const pool = owner ?? previous ?? '';
    for (const taint of (drain?.hasBegun ? [] : (drain?.taints ?? [])).map(formatTaint)) {
      say('info', pool, `evicting pods from nodes before they get taint ${taint}`, `${node.name}: ${WITHIN}`);
    }
    for (const taint of arrivingNoExecute(node.taints, patch.taints ?? []).map(formatTaint)) {
      if (isCleared) say('info', pool, `setting taint ${taint} on nodes without pods that it evicts`, node.name);
      else say('warning', pool, `setting taint ${taint} on nodes`, `${node.name}: ${REGARDLESS}`);
    }
  };
}

// One reconcile of a pool by `reconcile --watch`: logs what it did, and tells the controller when the next one is due.

interface PoolReconcileDeps {
  log: Log;
  /** Gets each outcome that changed something. */
  onChanged: (outcome: PoolOutcome) => void;
  /** A reconcile of the pool ended without a failure. */
  onSuccess: (pool: string) => void;
  requeueAfter: (pool: string, ms: number) => void;
}

/** Between two attempts while the CRD lacks fields: CRDs are not watched. */
const CRD_RETRY_MS = 10_000;
/** After errors that a retry alone does not mend, such as a missing permission. Roles and policies are not watched. */
const PERMANENT_RETRY_MS = 30_000;

/** The reconcile function of the pools' controller. */
export function poolReconcile(
  reconciler: Pick<Reconciler, 'reconcile'>,
  { log, onChanged, onSuccess, requeueAfter }: PoolReconcileDeps,
): (pool: string) => Promise<ReconcileResult> {
  const logLacking = lackingLog(log);
  return async name => {
    const outcome = await reconciler.reconcile(name).catch((error: unknown): ReconcileResult => {
      if (error instanceof NodepoolError && error.isPermanent) return { kind: 'error', error, ms: PERMANENT_RETRY_MS };
      if (!(error instanceof DroppedFieldsError)) throw error;
      logLacking(name, error.fields);
      return { kind: 'requeueAfter', ms: CRD_RETRY_MS };
    });
    if (!('pool' in outcome)) return outcome;
    if (hasChanged(outcome)) onChanged(outcome);
    if (outcome.status !== undefined && outcome.statusWritten) log('info', ...statusEntry(name, outcome.status));
    for (const warning of outcome.warnings) log('warning', `${name}: ${warningText(warning)}`);
    if (outcome.statusWritten || outcome.lacking.length > 0) logLacking(name, outcome.lacking);
    const next = nextReconcile(outcome);
    if (next.kind === 'changed') return { kind: 'requeue' };
    // The process is stopping, and the queue is shut down.
    if (next.kind === 'interrupted') return { kind: 'requeueAfter', ms: 0 };
    const waiting = next.kind === 'error' ? next.rest : next;
    const dueMs = waiting.kind === 'done' ? undefined : waiting.ms;
    if (waitsForCrd(outcome)) return { kind: 'requeueAfter', ms: Math.min(CRD_RETRY_MS, dueMs ?? CRD_RETRY_MS) };
    if (next.kind !== 'error') {
      if (outcome.failures.length === 0) onSuccess(name);
      return dueMs === undefined ? { kind: 'done' } : { kind: 'requeueAfter', ms: dueMs };
    }
    // What is throttled has a delay of its own: a retry with backoff would come too early or too late for it.
    if (dueMs !== undefined) requeueAfter(name, dueMs);
    const error = new NodepoolError('cluster', next.failure.message, next.failure.next);
    return { kind: 'error', error, ...(next.isPermanent ? { ms: PERMANENT_RETRY_MS } : {}) };
  };
}

function hasChanged({ kind, statusWritten, moves, runtimeClass }: PoolOutcome): boolean {
  const wrote = statusWritten || moves.length > 0 || !['unchanged', 'foreign'].includes(runtimeClass.kind);
  return kind === 'released' || wrote;
}

/** Whether all that is left to do is for want of what the CRD lacks. */
function waitsForCrd({ lacking, failures }: PoolOutcome): boolean {
  // A field that is only shown waits for the next change or resync: it is worth no request in 10 s.
  const needed = lacking.filter(field => field !== UPDATED_COUNT);
  return needed.length > 0 && failures.length === (lacking.includes(STATUS_SUBRESOURCE) ? 1 : 0);
}

/** Says what the CRD lacks, once for all pools that lack the same. */
function lackingLog(log: Log): (pool: string, lacking: readonly string[]) => void {
  const said = new Map<string, string>();
  return (pool, lacking) => {
    if (lacking.length === 0) {
      said.delete(pool);
      return;
    }
    const text = warningText(lackingWarning(lacking));
    if (![...said.values()].includes(text)) log('warning', text);
    said.set(pool, text);
  };
}

function statusEntry(pool: string, { status, nodeCount, readyNodeCount = 0 }: NodePoolStatus) {
  const word = STATUS_WORDS[status];
  const message = `status of nodepool ${pool}: ${status} ${word}, ${readyNodeCount} of ${plural(nodeCount, 'node')} ready`;
  return [message, { pool, status, nodeCount, readyNodeCount }] as const;
}
