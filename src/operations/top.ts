/** What pools and nodes have, what their pods ask for, what they use, and what is free. */
import type { Clock } from '../controller/clock.ts';
import { quantityReader } from '../nodepool/amounts.ts';
import { NO_LOAD, type NodeFacts, type Reading, Tally } from '../nodepool/capacity.ts';
import type { Node } from '../nodepool/types.ts';
import type { ClusterPort } from '../reconciler/ports.ts';
import { View } from '../reconciler/view.ts';
import type { Demand, DemandPort, Usage } from './demand-port.ts';
import { getPools } from './get.ts';
import { poolNotFound } from './load-view.ts';
import type { PoolsPort } from './ports.ts';
import { type Choice, chooseResources } from './top-resources.ts';

export interface TopOptions {
  /** Empty: all pools, and the nodes of no pool. */
  names: string[];
  /** A label selector of pools, as the server takes it; then nodes of no pool are left out as well. */
  selector: string | undefined;
  /** Whether pods and usage are read: without them only what nodes offer is known. */
  pods: boolean;
  /** Whether each node is wanted too. */
  nodes: boolean;
  resources: Choice;
}

export interface TopDeps {
  cluster: Pick<ClusterPort, 'listPools' | 'listNodes'>;
  pools: PoolsPort;
  demand: DemandPort;
  clock: Clock;
}

export interface TopPool {
  /** Undefined: the nodes that belong to no pool. */
  pool: string | undefined;
  tally: Tally;
}

export interface TopNode {
  node: Node;
  pool: string | undefined;
  /** Of this node alone. */
  tally: Tally;
}

export interface Top {
  /** By name; nodes of no pool last, where there are any. */
  pools: TopPool[];
  /** By pool and name. Empty unless they were asked for. */
  nodes: TopNode[];
  /** Of all pools in here. */
  total: Tally;
  /** What figures there are for. */
  resources: string[];
  /** Undefined where nobody asked for it. */
  usage: Usage | undefined;
  /** What counts as nothing because it cannot be read, and resources that no node has; each a sentence. */
  warnings: string[];
}

/** How much longer than for the rest is waited for what is nice to have. */
const USAGE_WAIT_MS = 5_000;

/** Throws NodepoolError: a pool that is not there, a selector that is none, a cluster that refuses. */
export async function top(options: TopOptions, deps: TopDeps): Promise<Top> {
  const { names, selector } = options;
  const noUsage = new AbortController();
  const usageAsked = options.pods ? deps.demand.nodeUsage(noUsage.signal) : undefined;
  const [pools, nodes, demand, selected] = await Promise.all([
    deps.cluster.listPools(),
    deps.cluster.listNodes(),
    options.pods ? deps.demand.podDemand() : undefined,
    selector === undefined
      ? undefined
      : getPools({ names, selector, fieldSelector: undefined, ignoreNotFound: false }, deps),
  ]);
  const cancel = deps.clock.after(USAGE_WAIT_MS, () => noUsage.abort());
  const usage = await usageAsked;
  cancel();
  const view = new View(pools, nodes, []);
  const known = pools.map(({ metadata }) => metadata.name).toSorted();
  const missing = names.filter(name => !known.includes(name));
  if (missing.length > 0) throw poolNotFound(missing);
  const wanted = selected?.pools.map(({ metadata }) => metadata.name) ?? (names.length > 0 ? names : known);
  const { resources, warnings } = chooseResources(options.resources, nodes, demand);
  const table = new Table(resources, demand, usage, options.nodes);
  for (const name of [...new Set(wanted)].toSorted()) table.add(name, view.members(name));
  if (names.length === 0 && selector === undefined) {
    const free = nodes.filter(node => view.claim(node.name)?.owner === undefined);
    if (free.length > 0) table.add(undefined, free);
  }
  warnings.push(...(demand?.problems ?? []), ...table.problems);
  return { pools: table.pools, nodes: table.nodes, total: table.total, resources, usage, warnings };
}

/** Adds up node after node. */
class Table {
  readonly pools: TopPool[] = [];
  readonly nodes: TopNode[] = [];
  readonly total: Tally;
  readonly problems: string[] = [];
  readonly #resources: readonly string[];
  readonly #demand: Demand | undefined;
  readonly #usage: Usage | undefined;
  readonly #keepsNodes: boolean;
  readonly #reading: Reading = { read: quantityReader(), onProblem: problem => this.problems.push(problem) };

  constructor(resources: readonly string[], demand: Demand | undefined, usage: Usage | undefined, keepsNodes: boolean) {
    this.#resources = resources;
    this.#demand = demand;
    this.#usage = usage;
    this.#keepsNodes = keepsNodes;
    this.total = this.#tally();
  }

  /** @param pool undefined: those of no pool */
  add(pool: string | undefined, members: readonly Node[]): void {
    const tally = this.#tally();
    if (this.#keepsNodes) for (const node of members.toSorted(byName)) this.#addNode(pool, node, tally);
    else if (this.#demand === undefined) tally.addOffers(members, this.#reading);
    else for (const node of members) tally.add(this.#factsOf(node), this.#reading);
    this.total.addAll(tally);
    this.pools.push({ pool, tally });
  }

  #addNode(pool: string | undefined, node: Node, tally: Tally): void {
    const own = this.#tally();
    own.add(this.#factsOf(node), this.#reading);
    tally.addAll(own);
    this.nodes.push({ node, pool, tally: own });
  }

  #tally(): Tally {
    return new Tally(this.#resources, this.#demand !== undefined);
  }

  #factsOf(node: Node): NodeFacts {
    const load = this.#demand && (this.#demand.byNode.get(node.name) ?? NO_LOAD);
    return { node, load, used: this.#usage?.kind === 'served' ? this.#usage.byNode.get(node.name) : undefined };
  }
}

function byName(a: Node, b: Node): number {
  return a.name < b.name ? -1 : 1;
}
