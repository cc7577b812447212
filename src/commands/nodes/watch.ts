/** `nodes --watch`: prints the current nodes, then each node whose row changes. */
import type { Connection } from '../../cli/factory.ts';
import type { Io } from '../../cli/io.ts';
import { type MatchLabels, parseLabelSelector } from '../../nodepool/membership/label-selector.ts';
import type { Node } from '../../nodepool/types.ts';
import { makeStyle } from '../../print/style.ts';
import { type ClusterState, clusterStateOf } from '../../reconciler/state/cluster-state.ts';
import { type FollowFlags, untilStopped } from '../shared/follow.ts';
import { type ClusterRows, type FollowClusterDeps, followCluster } from '../shared/follow-cluster.ts';
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
            else io.err('No nodes found; watching for new nodes.');
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

// Watches the nodes of pools as listNodes() lists them, and the pools, which determine members and pending changes.

interface FollowNodesOptions extends NodesOptions {
  /** Called once, with the initial nodes, sorted by name. */
  onStart: (nodes: PoolNode[]) => void;
  /** The node is new or its PoolNode has changed; also called when it leaves the pools or is deleted. */
  onChanged: (node: PoolNode) => void;
  signal: AbortSignal;
}

/** Resolves soon after the signal is aborted. The server has already validated the selector in the list. */
export async function followNodes(options: FollowNodesOptions, deps: FollowClusterDeps): Promise<void> {
  const matches = parseLabelSelector(options.selector ?? '');
  const rows = new NodeRows(options, matches, clusterStateOf(deps.cluster, [], []));
  return followCluster(rows, options.signal, deps);
}

class NodeRows implements ClusterRows {
  #state: ClusterState;
  readonly #options: FollowNodesOptions;
  readonly #matches: MatchLabels;
  /** Undefined: all pools. */
  readonly #wanted: ReadonlySet<string> | undefined;
  /** What was last reported for each node. */
  readonly #reported = new Map<string, string>();
  #started = false;

  constructor(options: FollowNodesOptions, matches: MatchLabels, state: ClusterState) {
    this.#state = state;
    this.#options = options;
    this.#matches = matches;
    this.#wanted = options.pools.length === 0 ? undefined : new Set(options.pools);
  }

  /** Replaced after a restore of etcd, so do not keep a reference. */
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

  /** Reports what differs from the previous state, which would ignore restored objects as outdated. */
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

/** Equal for rows that look the same: every heartbeat changes a node's resourceVersion. */
function contentOf({ node, ...rest }: PoolNode): string {
  return JSON.stringify({ ...rest, node: { ...node, resourceVersion: '' } });
}
