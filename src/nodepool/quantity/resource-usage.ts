/** Allocatable, requested, limited, used and free resources of one or several nodes. Exact. */

import { ownValue } from '../json.ts';
import type { Node, ResourceList } from '../types.ts';
import { type Amounts, type ReadQuantity, subtractToZero, ZERO } from './amounts.ts';
import {
  addInAnyOrder,
  addResourceLists,
  compareQuantities,
  type Quantity,
  QuantityError,
  quantityToNumber,
  quoteQuantity,
} from './quantity.ts';

/** Figures of one resource. Undefined means unknown: if pods were not read, only `allocatable` is known. */
export interface ResourceFigures {
  allocatable: Quantity;
  requested: Quantity | undefined;
  /** Undefined for the resource `pods`, which has no limits. */
  limits: Quantity | undefined;
  /** From metrics.k8s.io, for the nodes that it reports. */
  used: Quantity | undefined;
  /** Allocatable of the nodes with `used`. */
  measured: Quantity | undefined;
  /** Available to new pods: allocatable minus requested, of each node that accepts pods. */
  free: Quantity | undefined;
  /** The largest `free` of one node with a free pod slot: no larger pod can be scheduled now. */
  maxFree: Quantity | undefined;
}

export type Measure = Exclude<keyof ResourceFigures, 'measured'>;
export const MEASURES: readonly Measure[] = ['allocatable', 'requested', 'limits', 'used', 'free', 'maxFree'];

/** Totals of the pods that are bound to a node and have not terminated. */
export interface NodeLoad {
  pods: number;
  requests: Amounts;
  limits: Amounts;
}

export interface NodeFacts {
  node: Node;
  /** Undefined if pods were not read. */
  load: NodeLoad | undefined;
  used: ResourceList | undefined;
}

export const NO_LOAD: NodeLoad = { pods: 0, requests: new Map(), limits: new Map() };

/** Whether new pods can be scheduled to the node: it is Ready and not cordoned. */
export function takesPods({ ready, unschedulable }: Pick<Node, 'ready' | 'unschedulable'>): boolean {
  return ready && !unschedulable;
}

export interface QuantityReading {
  read: ReadQuantity;
  /** Receives a sentence for each invalid quantity, which counts as zero. */
  onProblem: (problem: string) => void;
}

/** @param isFull see isFull() */
function figuresOf(
  resource: string,
  { node, load, used }: NodeFacts,
  isFull: boolean,
  { read, onProblem }: QuantityReading,
): ResourceFigures {
  const quantityOf = (what: string, list: ResourceList | undefined): Quantity | undefined => {
    const text = list && ownValue(list, resource);
    if (text === undefined) return undefined;
    try {
      return read(text);
    } catch (error) {
      if (!(error instanceof QuantityError)) throw error;
      onProblem(`node ${node.name}: ${what} ${resource} ${quoteQuantity(text)}: ${error.message}`);
      return undefined;
    }
  };
  const allocatable = quantityOf('allocatable', node.allocatable) ?? ZERO;
  const requested = load && requestedOf(resource, load);
  const usage = quantityOf('usage of', used);
  const free = requested && (takesPods(node) ? subtractToZero(allocatable, requested) : ZERO);
  return {
    allocatable,
    requested,
    limits: resource === 'pods' ? undefined : load && (load.limits.get(resource) ?? ZERO),
    used: usage,
    measured: usage && allocatable,
    free,
    maxFree: free && (isFull ? ZERO : free),
  };
}

/** Whether the node has its maximum number of pods: then its other free resources cannot be used. */
function isFull({ node, load }: NodeFacts, read: ReadQuantity): boolean {
  if (load === undefined) return false;
  try {
    return quantityToNumber(read(ownValue(node.allocatable, 'pods') ?? '0')) <= load.pods;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return false;
  }
}

/** Every pod takes one of the node's pod slots, independently of its requests. */
function requestedOf(resource: string, { pods, requests }: NodeLoad): Quantity {
  if (resource === 'pods') return { ...ZERO, unscaled: BigInt(pods) };
  return requests.get(resource) ?? ZERO;
}

/** The sum of both; a figure that only one side has is taken from that side. */
function addFigures(a: ResourceFigures, b: ResourceFigures): ResourceFigures {
  const sum = (x: Quantity | undefined, y: Quantity | undefined) =>
    x === undefined || y === undefined ? (x ?? y) : addInAnyOrder(x, y);
  return {
    allocatable: addInAnyOrder(a.allocatable, b.allocatable),
    requested: sum(a.requested, b.requested),
    limits: sum(a.limits, b.limits),
    used: sum(a.used, b.used),
    measured: sum(a.measured, b.measured),
    free: sum(a.free, b.free),
    maxFree: larger(a.maxFree, b.maxFree),
  };
}

function larger(a: Quantity | undefined, b: Quantity | undefined): Quantity | undefined {
  if (a === undefined || b === undefined) return a ?? b;
  return compareQuantities(a, b) < 0 ? b : a;
}

/** Totals over several nodes, such as a pool or the cluster. */
export class ResourceTotals {
  nodes = 0;
  /** Number of nodes that accept new pods. */
  schedulable = 0;
  /** In the order of the resources given to the constructor. */
  readonly figures: Map<string, ResourceFigures>;

  /** @param seesPods whether pods are read: then pod figures start at zero instead of unknown */
  constructor(resources: readonly string[], seesPods: boolean) {
    const none = seesPods ? ZERO : undefined;
    const empty = (resource: string): ResourceFigures => ({
      allocatable: ZERO,
      requested: none,
      limits: resource === 'pods' ? undefined : none,
      used: undefined,
      measured: undefined,
      free: none,
      maxFree: none,
    });
    this.figures = new Map(resources.map(resource => [resource, empty(resource)]));
  }

  add(facts: NodeFacts, reading: QuantityReading): void {
    this.nodes += 1;
    if (takesPods(facts.node)) this.schedulable += 1;
    const full = isFull(facts, reading.read);
    for (const [resource, before] of this.figures) {
      this.figures.set(resource, addFigures(before, figuresOf(resource, facts, full, reading)));
    }
  }

  /** Adds only the allocatable resources of many nodes; much faster than one add() for each node. */
  addAllocatable(nodes: readonly Node[], { onProblem }: Pick<QuantityReading, 'onProblem'>): void {
    this.nodes += nodes.length;
    for (const node of nodes) if (takesPods(node)) this.schedulable += 1;
    const lists = nodes.map(({ allocatable }) => allocatable);
    const tell = (place: number, problem: string) => onProblem(`node ${nodes[place]?.name}: ${problem}`);
    const sums = addResourceLists(lists, tell, [...this.figures.keys()]);
    for (const [resource, before] of this.figures) {
      const allocatable = addInAnyOrder(before.allocatable, sums.get(resource) ?? ZERO);
      this.figures.set(resource, { ...before, allocatable });
    }
  }

  addAll(other: ResourceTotals): void {
    this.nodes += other.nodes;
    this.schedulable += other.schedulable;
    for (const [resource, before] of this.figures) {
      const more = other.figures.get(resource);
      if (more !== undefined) this.figures.set(resource, addFigures(before, more));
    }
  }
}

/** Percent of allocatable. Undefined if that is zero, or if the quantity is unknown or too large for a number. */
export function percentOf(figures: ResourceFigures, measure: 'requested' | 'limits' | 'used'): number | undefined {
  const [quantity, all] = [figures[measure], measure === 'used' ? figures.measured : figures.allocatable];
  if (quantity === undefined || all === undefined || all.unscaled <= 0n) return undefined;
  const percent = (quantityToNumber(quantity) / quantityToNumber(all)) * 100;
  return Number.isFinite(percent) ? percent : undefined;
}
