/** `nodes --watch`: prints the current nodes, then each whose row changes. */
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { Store } from '../../controller/store.ts';
import type { ClusterPort, NodePoolsClient, NodesClient } from '../../kube/cluster.ts';
import { type MatchLabels, parseLabelSelector } from '../../nodepool/membership/label-selector.ts';
import { sameOwnership } from '../../nodepool/membership/membership.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import { makeStyle } from '../../print/style.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { annotationReader } from '../../reconciler/state/unread-annotations.ts';
import { type FollowDeps, type FollowFlags, follow, objectsOf, untilStopped } from '../shared/follow.ts';
import { isListed, type NodesOptions, type PoolNode, poolNodeOf } from '../shared/pools/nodes.ts';
import { type NodesTableOptions, nodesPrinter, withTerminal } from './print.ts';

export interface NodeChanges extends NodesOptions, FollowFlags {
  table: NodesTableOptions;
  sort: (nodes: PoolNode[]) => PoolNode[];
}

/** Returns the exit code. */
export function showNodeChanges(
  { table, sort, verbosity, requestTimeoutMs, ...options }: NodeChanges,
  io: Io,
  { cluster }: Connection,
): Promise<number> {
  const render = nodesPrinter({ ...withTerminal(table, io), isWatch: true }, makeStyle(io.color));
  const print = (nodes: PoolNode[]) => io.out(render(nodes, io.serverNow()));
  return untilStopped(
    (signal, guarded, deps) =>
      followNodes(
        {
          ...options,
          onStart: guarded(nodes => {
            if (nodes.length > 0) print(sort(nodes));
            else io.err('No nodes found; waiting for one.');
          }),
          onChanged: guarded(node => print([node])),
          signal,
        },
        { cluster, ...deps },
      ),
    { verbosity, requestTimeoutMs },
    io,
  );
}

// Watches the nodes of pools as listNodes() lists them. Pools are watched too: they decide on members and what is due.

interface FollowNodesOptions extends NodesOptions {
  /** Called once, with what is there, by name. */
  onStart: (nodes: PoolNode[]) => void;
  /** A node that is new, or of which something has changed that a PoolNode shows; also when it leaves the pools or is deleted. */
  onChanged: (node: PoolNode) => void;
  signal: AbortSignal;
}

interface FollowNodesDeps extends FollowDeps {
  cluster: Pick<ClusterPort, 'rules'> & {
    pools: Pick<NodePoolsClient, 'watch'>;
    nodes: Pick<NodesClient, 'watch' | 'list' | 'serverTime'>;
  };
}

/** Resolves soon after the signal is aborted. The server has checked the selector: the nodes were listed by it. */
export async function followNodes(options: FollowNodesOptions, deps: FollowNodesDeps): Promise<void> {
  const matches = parseLabelSelector(options.selector ?? '');
  const rows = new NodeRows(options, matches, clusterStateOf(deps.cluster, [], []));
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
  const signal = AbortSignal.any([options.signal, over.signal]);
  const setPool = (pool: NodePool) => {
    const before = rows.state.pool(pool.metadata.name);
    rows.state.setPool(pool);
    // No row depends on more of a pool. Every reconcile writes a status, and planning all nodes is expensive.
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
  // A refused watch also ends the other one, after its list.
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

class NodeRows {
  #state: ClusterState;
  readonly #options: FollowNodesOptions;
  readonly #matches: MatchLabels;
  /** Undefined: all pools. */
  readonly #wanted: ReadonlySet<string> | undefined;
  /** What was reported last of each node. */
  readonly #reported = new Map<string, string>();
  #started = false;

  constructor(options: FollowNodesOptions, matches: MatchLabels, state: ClusterState) {
    this.#state = state;
    this.#options = options;
    this.#matches = matches;
    this.#wanted = options.pools.length === 0 ? undefined : new Set(options.pools);
  }

  /** Replaced after a restore of etcd: do not keep a reference. */
  get state(): ClusterState {
    return this.#state;
  }

  start(): void {
    const found = [...this.#state.nodes()]
      .map(node => poolNodeOf(this.#state, node))
      .filter(row => this.#isListed(row));
    for (const row of found) this.#reported.set(row.node.name, contentOf(row));
    this.#started = true;
    this.#options.onStart(found.sort((a, b) => (a.node.name < b.node.name ? -1 : 1)));
  }

  /** Reports what differs from the state so far. That state would ignore restored objects as older ones. */
  restore(state: ClusterState): void {
    for (const name of [...this.#reported.keys()]) {
      const lost = state.node(name) === undefined ? this.#state.node(name) : undefined;
      if (lost !== undefined) this.remove(lost);
    }
    this.#state = state;
    this.refreshAll();
  }

  refreshAll(): void {
    for (const node of this.#state.nodes()) this.refresh(node);
  }

  refresh(node: Node): void {
    if (!this.#started) return;
    const row = poolNodeOf(this.#state, node);
    const before = this.#reported.get(node.name);
    const isIn = this.#isListed(row);
    const content = contentOf(row);
    if (isIn) this.#reported.set(node.name, content);
    else this.#reported.delete(node.name);
    if (isIn ? content !== before : before !== undefined) this.#options.onChanged(row);
  }

  remove(node: Node): void {
    if (this.#reported.delete(node.name)) this.#options.onChanged(poolNodeOf(this.#state, node));
  }

  #isListed(row: PoolNode): boolean {
    return this.#matches(row.node.labels) && isListed(row, this.#options.unassigned, this.#wanted);
  }
}

/** Equal for rows that show the same: a node's resourceVersion changes with each heartbeat. */
function contentOf({ node, ...rest }: PoolNode): string {
  return JSON.stringify({ ...rest, node: { ...node, resourceVersion: '' } });
}
