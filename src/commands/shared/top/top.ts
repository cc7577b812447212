/** For pools and nodes: allocatable resources, requests, usage, and free capacity. */
import type { Clock } from '../../../controller/clock.ts';
import type { ClusterReader } from '../../../kube/cluster.ts';
import type { Connection } from '../../../kube/connect.ts';
import type { NodeUsage, PodDemand, PodLoad, PodsPort, PodUsage } from '../../../kube/resources/pods.ts';
import { ForbiddenError, NodepoolError } from '../../../nodepool/errors.ts';
import {
  type Amounts,
  inResourceOrder,
  isAccelerator,
  quantityReader,
  usualResources,
  ZERO,
} from '../../../nodepool/quantity/amounts.ts';
import { MAX_RESOURCES, omittedTexts, sortByReports } from '../../../nodepool/quantity/node-resources.ts';
import { compareQuantities } from '../../../nodepool/quantity/quantity.ts';
import {
  MEASURES,
  type Measure,
  NO_LOAD,
  type NodeFacts,
  percentOf,
  type QuantityReading,
  type ResourceFigures,
  ResourceTotals,
} from '../../../nodepool/quantity/resource-usage.ts';
import { plural, suggest } from '../../../nodepool/text.ts';
import type { Node } from '../../../nodepool/types.ts';
import { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { selectExistingPools } from '../pools/load-cluster-state.ts';
import { readSelector } from '../pools/not-found.ts';
import { allPermitted } from '../refusals.ts';

export interface TopOptions {
  /** Empty: all pools, and the nodes without a pool. */
  names: string[];
  /** A label selector for pools, in the server's syntax; then nodes without a pool are left out as well. */
  selector: string | undefined;
  /** Read pods and usage; without them only allocatable is known. */
  pods: boolean;
  /** Also return each node. */
  nodes: boolean;
  /** Also return each pod. */
  eachPod: boolean;
  resources: ResourceChoice;
  /** `name`, `nodes`, `RESOURCE` or `RESOURCE.MEASURE`. */
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
  /** Undefined: the nodes without a pool. */
  pool: string | undefined;
  members: readonly Node[];
  tally: ResourceTotals;
}

export interface TopResult {
  /** In the requested order: by name, nodes without a pool last, if any. */
  pools: TopPool[];
  /** In the same order: by pool and name. Empty unless requested. */
  nodes: TopNode[];
  /** In the same order: by pool, node, namespace and name. Empty unless requested. */
  pods: TopPod[];
  /** Total of these pools. */
  total: ResourceTotals;
  /** The resources that have figures. */
  resources: string[];
  /** Undefined if not requested. */
  usage: NodeUsage | undefined;
  podUsage: PodUsage | undefined;
  /** A sentence each: unreadable quantities, which count as zero, and resources that no node has. */
  warnings: string[];
}

/** Measured with 300 and 5,000 nodes, ten pods each: a pod list for each of a quarter took as long as one of all. */
const MAX_NODE_SHARE = 0.25;
/** This many lists run at the same time and contain only needed pods: they cost less at any share. */
const FEW = 10;
/** How much longer to wait for optional data than for the rest. */
export const USAGE_WAIT_MS = 5_000;

/** Throws NodepoolError for an unknown pool, an invalid selector or key, or a refusal by the server. */
export async function top(options: TopOptions, deps: TopDeps): Promise<TopResult> {
  checkSortKey(options.sortBy, options.resources, options.pods);
  if (options.eachPod) checkPodKey(options.sortBy);
  const noUsage = new AbortController();
  const usageRequest = options.pods ? deps.nodeUsage(noUsage.signal) : undefined;
  const isAll = options.names.length === 0 && options.selector === undefined;
  const podUsageRequest = options.eachPod ? deps.podUsage(noUsage.signal) : undefined;
  const meant = meantPools(options, deps);
  const demandOf = async () => {
    const members = isAll ? undefined : membersOf(await meant);
    return deps.pods.demand(members, options.eachPod).catch(error => {
      throw options.eachPod ? error : withNoPods(error);
    });
  };
  const [{ state, nodes, pools }, demand] = await Promise.all([meant, options.pods ? demandOf() : undefined]);
  const cancel = deps.clock.after(USAGE_WAIT_MS, () => noUsage.abort());
  const [usage, podUsage] = await Promise.all([usageRequest, podUsageRequest]);
  cancel();
  const { resources, warnings } = chooseResources(options.resources, nodes, demand);
  const key = parseSortKey(options.sortBy, resources, options.pods);
  const table = new TopTable(resources, demand, usage, options.nodes || options.eachPod);
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

/** Without permission for pods, allocatable is still known. */
function withNoPods(error: unknown): unknown {
  if (!(error instanceof ForbiddenError)) return error;
  const otherwise = 'show allocatable only with --no-pods';
  return new ForbiddenError(error.message, error.missing, { otherwise, cause: error });
}

/** The names of nodes that need figures; undefined if one list of all pods costs less. */
function membersOf({ state, nodes, pools }: Awaited<ReturnType<typeof meantPools>>): string[] | undefined {
  const members = pools.flatMap(pool => state.members(pool)).map(({ name }) => name);
  const isLess = members.length < nodes.length && members.length <= Math.max(FEW, nodes.length * MAX_NODE_SHARE);
  return isLess ? members : undefined;
}

/** Pools and nodes, and the names of the chosen pools, in order. Throws like top(). */
async function meantPools({ names, selector }: TopOptions, deps: TopDeps) {
  if (names.length > 0 && selector !== undefined) {
    throw new NodepoolError('usage', 'names and -l cannot be used together', 'use one of the two');
  }
  // All pools are needed to find each node's owner, so the chosen ones are filtered here, without another list.
  const isSelected = selector === undefined ? undefined : readSelector(selector);
  const [all, nodes] = await allPermitted([deps.cluster.pools.listCoerced(), deps.cluster.nodes.list()]);
  const state = new ClusterState(all, nodes, []);
  return { state, nodes, pools: selectExistingPools('top', names, isSelected, state) };
}

/** Adds up nodes one by one. */
class TopTable {
  readonly pools: TopPool[] = [];
  readonly nodes: TopNode[] = [];
  readonly total: ResourceTotals;
  readonly problems: string[] = [];
  readonly #resources: readonly string[];
  readonly #demand: PodDemand | undefined;
  readonly #usage: NodeUsage | undefined;
  readonly #keepsNodes: boolean;
  readonly #reading: QuantityReading = { read: quantityReader(), onProblem: problem => this.problems.push(problem) };

  constructor(
    resources: readonly string[],
    demand: PodDemand | undefined,
    usage: NodeUsage | undefined,
    keepsNodes: boolean,
  ) {
    this.#resources = resources;
    this.#demand = demand;
    this.#usage = usage;
    this.#keepsNodes = keepsNodes;
    this.total = this.#tally();
  }

  /** @param pool undefined: nodes without a pool */
  add(pool: string | undefined, members: readonly Node[]): void {
    const tally = this.#tally();
    for (const node of members) this.problems.push(...omittedTexts(node).map(text => `left out: ${text}`));
    if (this.#keepsNodes) for (const node of members.toSorted(byName)) this.#addNode(pool, node, tally);
    else if (this.#demand === undefined) tally.addAllocatable(members, this.#reading);
    else for (const node of members) tally.add(this.#factsOf(node), this.#reading);
    this.total.addAll(tally);
    this.pools.push({ pool, members, tally });
  }

  #addNode(pool: string | undefined, node: Node, tally: ResourceTotals): void {
    const nodeTotals = this.#tally();
    nodeTotals.add(this.#factsOf(node), this.#reading);
    tally.addAll(nodeTotals);
    this.nodes.push({ node, pool, tally: nodeTotals });
  }

  #tally(): ResourceTotals {
    return new ResourceTotals(this.#resources, this.#demand !== undefined);
  }

  #factsOf(node: Node): NodeFacts {
    const load = this.#demand && (this.#demand.byNode.get(node.name) ?? NO_LOAD);
    return { node, load, used: this.#usage?.kind === 'served' ? this.#usage.byNode.get(node.name) : undefined };
  }
}

function byName(a: Node, b: Node): number {
  return a.name < b.name ? -1 : 1;
}

// `--sort-by` of `top`.

type SortKey = { by: 'name' } | { by: 'nodes' } | { by: 'figure'; resource: string; measure: Measure | 'percent' };

const NEXT =
  'use name, nodes, RESOURCE (highest requested percentage first) or RESOURCE.MEASURE, such as cpu.free; RESOURCE is a shown resource or in --resources';

const POD_NEXT = 'with --pods, use name, RESOURCE or RESOURCE.MEASURE, such as cpu.requested';

/** `name`, `nodes`, `RESOURCE` (percent; allocatable without pods) or `RESOURCE.MEASURE`. Throws a usage error. */
export function parseSortKey(text: string, resources: readonly string[], pods: boolean): SortKey {
  if (text === 'name' || text === 'nodes') return { by: text };
  if (resources.includes(text)) return { by: 'figure', resource: text, measure: pods ? 'percent' : 'allocatable' };
  const dot = text.lastIndexOf('.');
  const [resource, word] = [text.slice(0, Math.max(dot, 0)), text.slice(dot + 1)];
  if (!resources.includes(resource)) {
    const near = suggest(text, ['name', 'nodes', ...resources]);
    const meant = near === undefined ? '' : `; did you mean "${near}"?`;
    throw new NodepoolError('usage', `--sort-by: "${text}" is not shown${meant}`, NEXT);
  }
  const measure = word === 'percent' ? word : MEASURES.find(name => name === word);
  if (measure === undefined) {
    const all = [...MEASURES, 'percent'].join(', ');
    throw new NodepoolError('usage', `--sort-by: "${word}" is not a measure`, `use one of ${all}`);
  }
  if (!pods && measure !== 'allocatable') {
    throw new NodepoolError('usage', `--sort-by: ${measure} is unknown with --no-pods`, 'leave out --no-pods');
  }
  return { by: 'figure', resource, measure };
}

/** Throws a usage error if pods have no such figure, because nothing would be sorted. */
function checkPodKey(text: string): void {
  const measure = ['free', 'maxFree'].find(name => text.endsWith(`.${name}`));
  const isPodless = text === 'nodes' || text === 'pods' || text.startsWith('pods.');
  if (measure === undefined && !isPodless) return;
  throw new NodepoolError('usage', `--sort-by: pods have no "${text}"`, POD_NEXT);
}

/** Throws like parseSortKey() if the key is invalid in any cluster, before anything is read. */
function checkSortKey(text: string, choice: ResourceChoice, pods: boolean): void {
  if (typeof choice !== 'string') parseSortKey(text, choice, pods);
  else if (choice === 'usual' && !isAccelerator(text)) parseSortKey(text, usualResources([]), pods);
}

/** Highest first, unknown last; equal values stay sorted by name. */
function sortTop<T extends { tally: Pick<ResourceTotals, 'nodes' | 'figures'> }>(
  rows: readonly T[],
  key: SortKey,
): T[] {
  if (key.by === 'name') return [...rows];
  if (key.by === 'nodes') return rows.toSorted((a, b) => b.tally.nodes - a.tally.nodes);
  const { resource, measure } = key;
  return rows.toSorted((a, b) => compare(b.tally.figures.get(resource), a.tally.figures.get(resource), measure));
}

function compare(a: ResourceFigures | undefined, b: ResourceFigures | undefined, measure: Measure | 'percent'): number {
  if (measure === 'percent') return ((a && percentOf(a, 'requested')) ?? -1) - ((b && percentOf(b, 'requested')) ?? -1);
  const [left, right] = [a?.[measure], b?.[measure]];
  if (left === undefined || right === undefined) return Number(left !== undefined) - Number(right !== undefined);
  return compareQuantities(left, right);
}

// Chooses the resources that `top` shows.

/** A list of names, every existing resource, or cpu, memory, pods and accelerators. */
type ResourceChoice = readonly string[] | 'all' | 'usual';

/** The names in order, and a sentence for each that no node and no pod has, and about those beyond the limit. */
function chooseResources(
  choice: ResourceChoice,
  nodes: readonly Node[],
  demand: PodDemand | undefined,
): { resources: string[]; warnings: string[] } {
  const { known, offered } = resourcesOf(nodes);
  const requested = new Set<string>();
  for (const { requests } of demand?.byNode.values() ?? []) for (const name of requests.keys()) requested.add(name);
  // If a device plugin died, a node no longer offers what its pods requested.
  if (choice === 'usual') return mostOf(usualResources([...offered, ...requested]), nodes, demand);
  if (choice === 'all') return mostOf(inResourceOrder([...offered, ...requested]), nodes, demand);
  const unknown = choice.filter(name => !known.has(name) && !requested.has(name));
  const warnings = unknown.map(name => {
    const near = suggest(name, [...known]);
    return `no node has the resource "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`;
  });
  return { resources: [...new Set(choice)], warnings: nodes.length === 0 ? [] : warnings };
}

/** The same limit as in a pool's status: kubelets and pods can use any names. */
function mostOf(resources: string[], nodes: readonly Node[], demand: PodDemand | undefined) {
  const more = resources.length - MAX_RESOURCES;
  if (more <= 0) return { resources, warnings: [] };
  const offers = nodes.map(({ allocatable }) => Object.keys(allocatable));
  const requests = [...(demand?.byNode.values() ?? [])].map(load => load.requests.keys());
  const kept = sortByReports(resources, [...offers, ...requests]).slice(0, MAX_RESOURCES);
  const warning = `${plural(more, 'more resource')} of nodes and pods ${more === 1 ? 'is' : 'are'} not shown; use --resources NAME,NAME`;
  return { resources: inResourceOrder(kept), warnings: [warning] };
}

/** Resources that nodes name, and those of them with an amount above zero. */
function resourcesOf(nodes: readonly Node[]): { known: Set<string>; offered: Set<string> } {
  const known = new Set<string>();
  const offered = new Set<string>();
  for (const { allocatable } of nodes) {
    for (const name of Object.keys(allocatable)) {
      if (offered.has(name)) continue;
      known.add(name);
      if (allocatable[name] !== '0') offered.add(name);
    }
  }
  return { known, offered };
}

// The rows of `top --pods`: requests and usage of each pod, compared with its node.

export interface TopNode {
  node: Node;
  pool: string | undefined;
  /** Only this node. */
  tally: ResourceTotals;
}

export interface TopPod {
  pod: PodLoad;
  /** Undefined on a node without a pool. */
  pool: string | undefined;
  /** `allocatable` is the node's; `free` is undefined. */
  tally: Pick<ResourceTotals, 'nodes' | 'figures'>;
}

/** In the order of the nodes, then by namespace and name; skips pods on other nodes. @param nodes to show */
function topPods(nodes: readonly TopNode[], pods: readonly PodLoad[], usage: PodUsage | undefined): TopPod[] {
  const byNode = Map.groupBy(pods, ({ node }) => node);
  return nodes.flatMap(({ node, pool, tally }) =>
    (byNode.get(node.name) ?? []).toSorted(byPodName).map(pod => {
      const used = usage?.kind === 'served' ? usage.byPod.get(`${pod.namespace}/${pod.name}`) : undefined;
      return { pod, pool, tally: { nodes: 0, figures: figuresOf(tally.figures, pod, used) } };
    }),
  );
}

function figuresOf(
  ofNode: ReadonlyMap<string, ResourceFigures>,
  { requests, limits }: PodLoad,
  used: Amounts | undefined,
): Map<string, ResourceFigures> {
  const figures = new Map<string, ResourceFigures>();
  for (const [resource, { allocatable }] of ofNode) {
    // Every pod takes one pod slot without requesting it.
    if (resource === 'pods') continue;
    const [requested, limit] = [requests.get(resource) ?? ZERO, limits.get(resource) ?? ZERO];
    const its = { allocatable, requested, limits: limit, used: used?.get(resource), free: undefined };
    figures.set(resource, { ...its, measured: allocatable, maxFree: undefined });
  }
  return figures;
}

function byPodName(a: PodLoad, b: PodLoad): number {
  if (a.namespace !== b.namespace) return a.namespace < b.namespace ? -1 : 1;
  return a.name < b.name ? -1 : 1;
}
