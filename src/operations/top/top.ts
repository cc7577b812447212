/** What pools and nodes have, what their pods ask for, what they use, and what is free. */

import type { Clock } from '../../controller/clock.ts';
import { collectGarbage } from '../../controller/collect.ts';
import { quantityReader } from '../../nodepool/amounts.ts';
import { ForbiddenError, NodepoolError } from '../../nodepool/errors.ts';
import { type MatchLabels, parseLabelSelector } from '../../nodepool/label-selector.ts';
import { omittedTexts } from '../../nodepool/node-resources.ts';
import { NO_LOAD, type NodeFacts, type Reading, Tally } from '../../nodepool/resource-usage.ts';
import type { Node } from '../../nodepool/types.ts';
import { ClusterState } from '../../reconciler/cluster-state.ts';
import { poolNotFound } from '../not-found.ts';
import { allPermitted } from '../permitted.ts';
import type { Demand, PodsPort, PodUsage, Usage } from '../pods-port.ts';
import type { ClusterReader, Connection } from '../ports.ts';
import { selectorError } from '../selector-error.ts';
import { checkPodKey, checkSortKey, parseSortKey, sortTop } from './top-order.ts';
import { type TopNode, type TopPod, topPods } from './top-pods.ts';
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
  /** Whether each pod is wanted too. */
  eachPod: boolean;
  resources: Choice;
  /** See parseSortKey(). */
  sortBy: string;
}

export interface TopDeps {
  cluster: ClusterReader;
  pods: Pick<PodsPort, 'demand'>;
  nodeUsage: Connection['nodeUsage'];
  podUsage: Connection['podUsage'];
  clock: Clock;
}

export interface TopPool {
  /** Undefined: the nodes that belong to no pool. */
  pool: string | undefined;
  tally: Tally;
}

export interface Top {
  /** In the order asked for: by name, nodes of no pool last, where there are any. */
  pools: TopPool[];
  /** The same: by pool and name. Empty unless they were asked for. */
  nodes: TopNode[];
  /** The same, by pool, node, namespace and name. Empty unless they were asked for. */
  pods: TopPod[];
  /** Of all pools in here. */
  total: Tally;
  /** What figures there are for. */
  resources: string[];
  /** Undefined where nobody asked for it. */
  usage: Usage | undefined;
  podUsage: PodUsage | undefined;
  /** What counts as nothing because it cannot be read, and resources that no node has; each a sentence. */
  warnings: string[];
}

/** Of 300 nodes, and of 5,000, with ten pods each, lists of the pods of each of a quarter took about as long as one of all. */
const MAX_SHARE = 0.25;
/** So many lists are under way at once, and none has a pod that is not needed: they are less work at any share. */
const FEW = 10;
/** How much longer than for the rest is waited for what is nice to have. */
const USAGE_WAIT_MS = 5_000;

/** Throws NodepoolError: a pool that is not there, a selector or a key that is none, a cluster that refuses. */
export async function top(options: TopOptions, deps: TopDeps): Promise<Top> {
  checkSortKey(options.sortBy, options.resources, options.pods);
  if (options.eachPod) checkPodKey(options.sortBy);
  const noUsage = new AbortController();
  const usageAsked = options.pods ? deps.nodeUsage(noUsage.signal) : undefined;
  const isAll = options.names.length === 0 && options.selector === undefined;
  const podsAsked = options.eachPod ? deps.podUsage(noUsage.signal) : undefined;
  const meant = meantPools(options, deps);
  const demandOf = async () => {
    const members = isAll ? undefined : membersOf(await meant);
    return deps.pods.demand(members, options.eachPod).catch(error => {
      throw options.eachPod ? error : withNoPods(error);
    });
  };
  const [{ state, nodes, pools }, demand] = await Promise.all([meant, options.pods ? demandOf() : undefined]);
  const cancel = deps.clock.after(USAGE_WAIT_MS, () => noUsage.abort());
  const [usage, podUsage] = await Promise.all([usageAsked, podsAsked]);
  cancel();
  const { resources, warnings } = chooseResources(options.resources, nodes, demand);
  const key = parseSortKey(options.sortBy, resources, options.pods);
  const table = new Table(resources, demand, usage, options.nodes || options.eachPod);
  for (const name of pools) table.add(name, state.members(name));
  if (isAll) {
    const free = nodes.filter(node => state.ownership(node.name)?.owner === undefined);
    if (free.length > 0) table.add(undefined, free);
  }
  for (const problem of demand?.problems ?? []) warnings.push(problem);
  for (const problem of table.problems) warnings.push(problem);
  const { total, pools: rows } = table;
  const pods = options.eachPod ? topPods(table.nodes, demand?.pods ?? [], podUsage) : [];
  const nodeRows = options.nodes ? sortTop(table.nodes, key) : [];
  return {
    ...{ pools: sortTop(rows, key), nodes: nodeRows, pods: sortTop(pods, key) },
    ...{ total, resources, usage, podUsage, warnings },
  };
}

/** What nodes offer is known without pods. */
function withNoPods(error: unknown): unknown {
  if (!(error instanceof ForbiddenError)) return error;
  const otherwise = 'show allocatable only with --no-pods';
  return new ForbiddenError(error.message, error.missing, { otherwise, cause: error });
}

/** The names of the nodes that figures are wanted of; undefined where one list of all pods is less work. */
function membersOf({ state, nodes, pools }: Awaited<ReturnType<typeof meantPools>>): string[] | undefined {
  const members = pools.flatMap(pool => state.members(pool)).map(({ name }) => name);
  const isLess = members.length < nodes.length && members.length <= Math.max(FEW, nodes.length * MAX_SHARE);
  return isLess ? members : undefined;
}

/** Pools and nodes, and the names of the pools that are meant, in order. Throws as top(). */
async function meantPools({ names, selector }: TopOptions, deps: TopDeps) {
  if (names.length > 0 && selector !== undefined) {
    throw new NodepoolError('usage', 'names and -l exclude each other', 'give one of the two');
  }
  // All pools are needed to know whose a node is: those that are meant are chosen here, not by a list of their own.
  const isMeant = selector === undefined ? undefined : readSelector(selector);
  const [all, nodes] = await allPermitted([deps.cluster.pools.listCoerced(), deps.cluster.nodes.list()]);
  // As loadClusterState(): what the reading left behind would stand beside what comes now.
  collectGarbage();
  const known = all.map(({ metadata }) => metadata.name);
  const missing = names.filter(name => !known.includes(name));
  const state = new ClusterState(all, nodes, []);
  if (missing.length > 0) throw poolNotFound('top', missing, { pools: known, node: name => state.ownership(name) });
  const matching = all.filter(({ metadata }) => isMeant?.(metadata.labels ?? {}) ?? true);
  const meant = names.length > 0 ? names : matching.map(({ metadata }) => metadata.name);
  return { state, nodes, pools: [...new Set(meant)].toSorted() };
}

function readSelector(selector: string): MatchLabels {
  try {
    return parseLabelSelector(selector);
  } catch (error) {
    throw selectorError(error, '-l', selector);
  }
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
    for (const node of members) this.problems.push(...omittedTexts(node).map(text => `left out: ${text}`));
    if (this.#keepsNodes) for (const node of members.toSorted(byName)) this.#addNode(pool, node, tally);
    else if (this.#demand === undefined) tally.addAllocatable(members, this.#reading);
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
