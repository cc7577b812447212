/** One reflector each for pools, nodes and pool events, and whether the server is reachable. Writes nothing. */
import { objectsOf } from '../commands/shared/follow.ts';
import type { Clock } from '../controller/clock.ts';
import type { Log } from '../controller/log.ts';
import { Reflector } from '../controller/reflector.ts';
import { VERSION_LIMIT } from '../controller/restore-detector.ts';
import type { Failure, Source, WatchedResource } from '../controller/source.ts';
import { Store } from '../controller/store.ts';
import type { ClusterPort, NodePoolsClient, NodesClient } from '../kube/cluster.ts';
import type { EventsPort, PoolEventRecord } from '../kube/resources/events.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { Node, NodePool } from '../nodepool/types.ts';
import { EventHandlers } from '../reconciler/event-handlers.ts';
import { type ClusterState, clusterStateOf, looksSame } from '../reconciler/state/cluster-state.ts';
import { annotationReader } from '../reconciler/state/unread-annotations.ts';

/** Why a resource is not being watched right now. */
export interface WatchOutage {
  resource: string;
  message: string;
  /** Time of the last response or event for the resource, in milliseconds of `now`; undefined before the first. */
  since: number | undefined;
}

export interface LiveView {
  /** Replaced after a restore of etcd, so do not keep a reference. */
  readonly clusterState: ClusterState;
  /** Events about pools, with unique keys. */
  events(): Iterable<readonly [key: string, event: PoolEventRecord]>;
  outages(): WatchOutage[];
  /** Increases with every visible change. */
  version(): number;
  /** The clock for the settle times of rollouts. */
  serverTime(): Date;
  /** Resolves when pools and nodes are loaded. Throws NodepoolError if the user may not read them. */
  start(): Promise<void>;
  stop(): Promise<void>;
}

export interface LiveViewDeps {
  cluster: Pick<ClusterPort, 'rules'> & {
    pools: Pick<NodePoolsClient, 'watch'>;
    nodes: Pick<NodesClient, 'watch' | 'list' | 'serverTime'>;
  };
  events: Pick<EventsPort, 'watch'>;
  clock: Clock;
  now: () => Date;
  /** From 0 inclusive to 1 exclusive. */
  random: () => number;
  log: Log;
  /** Called for every visible change. */
  onChange: () => void;
}

/** The dashboard needs these; with the resource names of RBAC. */
const NEEDED: Readonly<Record<string, string>> = { nodepools: 'nodepools.nodes.lailin.xyz', nodes: 'nodes' };

export function createLiveView(deps: LiveViewDeps): LiveView {
  const { cluster, onChange, now } = deps;
  let clusterState: ClusterState;
  let handlers: EventHandlers;
  const show = (pools: Iterable<NodePool>, nodes: Iterable<Node>) => {
    clusterState = clusterStateOf(cluster, pools, nodes);
    handlers = new EventHandlers({ state: clusterState, enqueue() {}, enqueueLater() {}, onNodeDeleted() {} });
  };
  show([], []);
  /** Resources whose next events follow a restore of etcd: a ClusterState would ignore them as outdated. */
  const restored = new Set<string>();
  const showAnew = (resource: string) => {
    if (!restored.delete(resource)) return;
    show(objectsOf(pools.store), objectsOf(nodes.store));
  };
  const outages = new Map<string, WatchOutage>();
  const refused = Promise.withResolvers<never>();
  // After start() it is no longer awaited.
  refused.promise.catch(() => {});
  let version = 0;
  const changed = () => {
    version += 1;
    onChange();
  };

  function reflector<T>(resource: string, { source, transform }: WatchedResource<T>): Reflector<T> {
    let last: number | undefined;
    const reporting = observed(source, failure => {
      if (failure === undefined) {
        last = now().getTime();
        if (outages.delete(resource)) changed();
        return;
      }
      const needed = NEEDED[resource];
      if (failure.kind === 'refused' && failure.status === 403 && needed !== undefined) {
        refused.reject(forbidden(resource, needed, failure.message));
      }
      outages.set(resource, { resource, message: failure.message, since: last });
      changed();
    });
    const { clock, random, log } = deps;
    const onRestored = () => void restored.add(resource);
    const store = new Store<T>();
    return new Reflector({ name: resource, source: reporting, transform, store, clock, random, log, onRestored });
  }

  const pools = reflector<NodePool>('nodepools', cluster.pools.watch());
  const nodes = reflector<Node>('nodes', cluster.nodes.watch());
  const readAnnotations = annotationReader(cluster.nodes.list, () => clusterState, changed);
  const events = reflector<PoolEventRecord | undefined>('events', deps.events.watch());
  pools.subscribe(event => {
    showAnew(pools.name);
    handlers.pool(event);
    readAnnotations();
    changed();
  });
  nodes.subscribe(event => {
    showAnew(nodes.name);
    handlers.node(event);
    // Thousands of nodes send a heartbeat every second.
    if (event.type !== 'updated' || !looksSame(event.old.object, event.item.object)) changed();
  });
  events.subscribe(changed);

  return {
    get clusterState() {
      return clusterState;
    },
    *events() {
      for (const { key, object } of events.store.items()) if (object !== undefined) yield [key, object] as const;
    },
    outages: () => [...outages.values()],
    version: () => version,
    serverTime: () => cluster.nodes.serverTime(),
    async start() {
      for (const each of [pools, nodes, events]) each.start();
      await Promise.race([Promise.all([pools.synced(), nodes.synced()]), refused.promise]);
      readAnnotations();
    },
    async stop() {
      await Promise.all([pools.stop(), nodes.stop(), events.stop()]);
    },
  };
}

/** The same source, but calls `report` with every failure, and with undefined for every response or event. */
function observed(source: Source, report: (failure: Failure | undefined) => void): Source {
  // 410 Expired is not an outage: the reflector lists again.
  const end = (failure: Failure) => report(failure.kind === 'refused' && failure.status === 410 ? undefined : failure);
  return {
    async list(options) {
      const page = await source.list(options);
      if (options.signal.aborted) return page;
      if (page.kind !== 'page') end(page);
      else if (options.limit !== VERSION_LIMIT) report(undefined);
      return page;
    },
    async watch(options, onLine) {
      const { signal } = options;
      const onOpen = () => report(undefined);
      const ended = await source.watch({ ...options, onOpen }, line => {
        report(undefined);
        onLine(line);
      });
      if (!signal.aborted && ended.kind !== 'ended') end(ended);
      return ended;
    },
  };
}

function forbidden(resource: string, qualified: string, message: string): NodepoolError {
  const next = `ask for a role with verbs list and watch on ${qualified}`;
  return new NodepoolError('cluster', `cannot watch ${resource}: ${message}`, next);
}
