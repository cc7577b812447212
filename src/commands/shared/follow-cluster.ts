/** Follows pools and nodes in a ClusterState, for rows that depend on both. */
import { Store } from '../../controller/store.ts';
import type { ClusterPort, NodePoolsClient, NodesClient } from '../../kube/cluster.ts';
import { sameOwnership } from '../../nodepool/membership/membership.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { annotationReader } from '../../reconciler/state/unread-annotations.ts';
import { type FollowDeps, follow, objectsOf } from './follow.ts';

export interface FollowClusterDeps extends FollowDeps {
  cluster: Pick<ClusterPort, 'rules'> & {
    pools: Pick<NodePoolsClient, 'watch'>;
    nodes: Pick<NodesClient, 'watch' | 'list' | 'serverTime'>;
  };
}

export interface ClusterRows {
  /** The watched objects are stored here. Replaced by restore(). */
  readonly state: ClusterState;
  /** Called once, when the state has all pools and nodes. */
  start(): void;
  /** etcd was restored: the previous state would ignore the restored objects as outdated. */
  restore(state: ClusterState): void;
  /** Ownership of nodes, or pending changes, may differ from now on. */
  refreshAll(): void;
  /** Called after the node was updated in the state. */
  refresh(node: Node): void;
  /** Called before the node leaves the state. */
  remove(node: Node): void;
}

/** Resolves soon after the signal is aborted. A missing permission rejects, after start(). */
export async function followCluster(rows: ClusterRows, ended: AbortSignal, deps: FollowClusterDeps): Promise<void> {
  const stores = { pools: new Store<NodePool | undefined>(), nodes: new Store<Node | undefined>() };
  const onRestored = () => rows.restore(clusterStateOf(deps.cluster, objectsOf(stores.pools), objectsOf(stores.nodes)));
  const [gotPools, gotNodes] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const missing = new Set([gotPools, gotNodes]);
  const started = (got: typeof gotPools) => {
    missing.delete(got);
    got.resolve();
    if (missing.size > 0) return;
    rows.start();
    readAnnotations();
  };
  const readAnnotations = annotationReader(
    deps.cluster.nodes.list,
    () => rows.state,
    () => rows.refreshAll(),
  );
  const over = new AbortController();
  const signal = AbortSignal.any([ended, over.signal]);
  const setPool = (pool: NodePool) => {
    const before = rows.state.pool(pool.metadata.name);
    rows.state.setPool(pool);
    // Every reconcile writes a status, and planning all nodes is expensive. Rows that depend on it observe the state.
    if (before !== undefined && sameOwnership(before, pool)) return;
    rows.refreshAll();
    readAnnotations();
  };
  const setNode = (node: Node) => {
    rows.state.setNode(node);
    rows.refresh(node);
  };
  const pools = follow<NodePool>(
    {
      resource: 'nodepools.nodes.lailin.xyz',
      watched: deps.cluster.pools.watch(),
      store: stores.pools,
      onStart(found) {
        for (const pool of found) rows.state.setPool(pool);
        started(gotPools);
      },
      onChanged: setPool,
      onDeleted({ metadata: { name, uid } }) {
        rows.state.removePool(name, uid);
        rows.refreshAll();
      },
      onRestored,
      signal,
    },
    deps,
  );
  const nodes = follow<Node>(
    {
      resource: 'nodes',
      watched: deps.cluster.nodes.watch(),
      store: stores.nodes,
      onStart(found) {
        for (const node of found) rows.state.setNode(node);
        started(gotNodes);
      },
      onChanged: setNode,
      onDeleted(node) {
        rows.remove(node);
        rows.state.removeNode(node.name, node.uid);
      },
      onRestored,
      signal,
    },
    deps,
  );
  // If one watch is refused, the other one ends too, after its list.
  const end = async (watch: Promise<void>, { resolve }: typeof gotPools) => {
    await watch.finally(resolve).catch(() => undefined);
    await Promise.all([gotPools.promise, gotNodes.promise]);
    over.abort();
    return watch;
  };
  const ends = [end(pools, gotPools), end(nodes, gotNodes)];
  await Promise.allSettled(ends);
  await Promise.all(ends);
}
