/** The nodes of a pool: which of them are written, and what came of it. */
import type { Limiter } from '../controller/limiter.ts';
import { attempt, type WriteFailure } from './failure.ts';
import type { GonePools } from './gone-pools.ts';
import { planOf } from './node-plan.ts';
import { type NodeMove, NodeWriter } from './node-writer.ts';
import { nodesToSettle, type Orders } from './order.ts';
import type { ClusterPort } from './ports.ts';
import type { View } from './view.ts';

/** Told of node writes as they are decided on and done, whatever came of them. */
export interface NodeProgress {
  planned(nodes: number): void;
  done(): void;
}

export interface PoolNodesOptions {
  cluster: ClusterPort;
  view: View;
  /** Bounds the requests under way, over all pools together. */
  limit: Limiter;
  sleep: (ms: number) => Promise<void>;
  progress?: NodeProgress;
  /** Only these nodes are written, by the reconcile of their pool; others of any pool stay as they are. */
  orders?: Orders;
  /** The same without an order: what the rules say of these nodes is written, and of no others. */
  only?: ReadonlySet<string>;
}

/** When so many writes on end fail in general, the rest is not tried. What is refused may be refused for one node alone. */
const HOPELESS = 10;

export class PoolNodes {
  readonly #options: PoolNodesOptions;
  readonly #writer: NodeWriter;

  constructor(options: PoolNodesOptions) {
    this.#options = options;
    const { orders, ...deps } = options;
    this.#writer = new NodeWriter({ ...deps, ...(orders === undefined ? {} : { orders: orders.nodes }) });
  }

  /** See NodeWriter.needsWrite(). */
  needsWrite(node: string): boolean {
    return this.#writer.needsWrite(node);
  }

  /** See GonePools. */
  get gonePools(): GonePools {
    return this.#writer.gonePools;
  }

  /** Writes those of the pool that differ; moves and failures are added. */
  async settle(pool: string, outcome: { moves: NodeMove[]; failures: WriteFailure[] }): Promise<void> {
    const { view, limit, progress, orders, only } = this.#options;
    // A pool that is gone or going lets go of all it has: its finalizer is not to go before its nodes.
    const isGoing = !view.isStaying(pool);
    const names = nodesToSettle(view, pool, orders)
      .filter(name => (isGoing || only?.has(name) !== false) && this.#writer.needsWrite(name))
      .toSorted();
    progress?.planned(names.length);
    const [failures, untried]: [WriteFailure[], WriteFailure[]] = [[], []];
    let inVain = 0;
    const settle = async (name: string) => {
      if (inVain >= HOPELESS) untried.push({ message: `node ${name} was not tried`, node: name });
      else {
        const write = async () => {
          const move = await this.#writer.settle(name);
          if (move !== undefined) outcome.moves.push(move);
        };
        const error = await attempt(failures, write, name);
        inVain = error?.isGeneral ? inVain + 1 : 0;
      }
      progress?.done();
    };
    await Promise.all(names.map(name => limit(() => settle(name))));
    // In order of their names, not of the answers: the same failures must give the same status again.
    outcome.failures.push(...failures.toSorted(byMessage), ...untried.toSorted(byMessage));
  }

  /**
   * Nodes that still differ from what the pool wants where not all of them were to be written: others, and those whose
   * write failed. Its status could not say so.
   */
  due(pool: string): string[] {
    const { view, orders, only } = this.#options;
    if (orders === undefined && only === undefined) return [];
    const held = view.held(pool).map(({ name }) => name);
    // What was ordered is not asked for: a node that could not be added is no member.
    return held.filter(name => {
      const plan = planOf(view, name);
      return plan?.patch !== undefined || plan?.circle !== undefined;
    });
  }

  /** Whether the node was among those to be written. */
  isMeant(node: string): boolean {
    const { orders, only } = this.#options;
    return orders?.nodes.has(node) === true || only?.has(node) === true;
  }
}

function byMessage(a: WriteFailure, b: WriteFailure): number {
  return a.message < b.message ? -1 : 1;
}
