/** What nodes offer, what their pods ask for, and what is free: of one node, or of many together. Exact. */
import { type Amounts, leftOf, type ReadQuantity, ZERO } from './amounts.ts';
import { own } from './json.ts';
import {
  addInAnyOrder,
  addResourceLists,
  type Quantity,
  QuantityError,
  quantityToNumber,
  quoteQuantity,
} from './quantity.ts';
import type { Node, ResourceList } from './types.ts';

/** Of one resource. What is not known is undefined: without pods only `allocatable` is. */
export interface Figures {
  allocatable: Quantity;
  requested: Quantity | undefined;
  /** Nobody limits pods' places. */
  limits: Quantity | undefined;
  /** As metrics.k8s.io says, of the nodes that it knows. */
  used: Quantity | undefined;
  /** What new pods can get: allocatable less requested of each node that takes pods. */
  free: Quantity | undefined;
}

export type Measure = keyof Figures;
export const MEASURES: readonly Measure[] = ['allocatable', 'requested', 'limits', 'used', 'free'];

/** What the pods on a node ask for, together: those that are bound to it and have not ended. */
export interface NodeLoad {
  pods: number;
  requests: Amounts;
  limits: Amounts;
}

export interface NodeFacts {
  node: Node;
  /** Undefined: nobody looked at pods. */
  load: NodeLoad | undefined;
  used: ResourceList | undefined;
}

export const NO_LOAD: NodeLoad = { pods: 0, requests: new Map(), limits: new Map() };

/** Whether new pods may come: a node that is cordoned or not Ready has nothing to give. */
export function takesPods({ ready, unschedulable }: Pick<Node, 'ready' | 'unschedulable'>): boolean {
  return ready && !unschedulable;
}

export interface Reading {
  read: ReadQuantity;
  /** Told of what is no quantity and counts as none, in a sentence. */
  onProblem: (problem: string) => void;
}

/** One resource on one node. */
export function figuresOf(resource: string, { node, load, used }: NodeFacts, { read, onProblem }: Reading): Figures {
  const quantityOf = (what: string, list: ResourceList | undefined): Quantity | undefined => {
    const text = list && own(list, resource);
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
  return {
    allocatable,
    requested,
    limits: resource === 'pods' ? undefined : load && (load.limits.get(resource) ?? ZERO),
    used: quantityOf('usage of', used),
    free: requested && (takesPods(node) ? leftOf(allocatable, requested) : ZERO),
  };
}

/** Every pod takes one of the places for pods, whatever it asks for. */
function requestedOf(resource: string, { pods, requests }: NodeLoad): Quantity {
  if (resource === 'pods') return { ...ZERO, unscaled: BigInt(pods) };
  return requests.get(resource) ?? ZERO;
}

/** Both together; what only one knows is that one's. */
export function addFigures(a: Figures, b: Figures): Figures {
  const sum = (x: Quantity | undefined, y: Quantity | undefined) =>
    x === undefined || y === undefined ? (x ?? y) : addInAnyOrder(x, y);
  return {
    allocatable: addInAnyOrder(a.allocatable, b.allocatable),
    requested: sum(a.requested, b.requested),
    limits: sum(a.limits, b.limits),
    used: sum(a.used, b.used),
    free: sum(a.free, b.free),
  };
}

/** Several nodes as one: a pool, or all of the cluster. */
export class Tally {
  nodes = 0;
  /** Those that take new pods. */
  schedulable = 0;
  /** In the order of the resources. */
  readonly figures: Map<string, Figures>;

  /** @param seesPods whether figures of pods are known, which they are of no nodes at all, too */
  constructor(resources: readonly string[], seesPods: boolean) {
    const none = seesPods ? ZERO : undefined;
    const empty = (resource: string): Figures => ({
      allocatable: ZERO,
      requested: none,
      limits: resource === 'pods' ? undefined : none,
      used: undefined,
      free: none,
    });
    this.figures = new Map(resources.map(resource => [resource, empty(resource)]));
  }

  add(facts: NodeFacts, reading: Reading): void {
    this.nodes += 1;
    if (takesPods(facts.node)) this.schedulable += 1;
    for (const [resource, before] of this.figures) {
      this.figures.set(resource, addFigures(before, figuresOf(resource, facts, reading)));
    }
  }

  /** Where nothing else is known: what thousands of nodes offer, much quicker than one by one. */
  addOffers(nodes: readonly Node[], { onProblem }: Pick<Reading, 'onProblem'>): void {
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

  addAll(other: Tally): void {
    this.nodes += other.nodes;
    this.schedulable += other.schedulable;
    for (const [resource, before] of this.figures) {
      const more = other.figures.get(resource);
      if (more !== undefined) this.figures.set(resource, addFigures(before, more));
    }
  }
}

/** How many hundredths of what is allocatable; undefined where that is nothing, and of what is not known or no number holds. */
export function percentOf(quantity: Quantity | undefined, { allocatable }: Figures): number | undefined {
  if (quantity === undefined || allocatable.unscaled <= 0n) return undefined;
  const percent = (quantityToNumber(quantity) / quantityToNumber(allocatable)) * 100;
  return Number.isFinite(percent) ? percent : undefined;
}
