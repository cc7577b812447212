/** Brings single nodes to what the pools want of them: one guarded patch a node, planned anew after every conflict. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { Claim } from '../nodepool/membership.ts';
import type { Change, NodePlan } from '../nodepool/plan.ts';
import type { NodePool } from '../nodepool/types.ts';
import { conflictDelay } from './conflict-delay.ts';
import { GonePools } from './gone-pools.ts';
import { readNode, stillThere } from './live-reads.ts';
import { circleError, planOf } from './node-plan.ts';
import { type Order, planOrder } from './order.ts';
import type { ClusterPort } from './ports.ts';
import { isPrepared, prepare } from './takeover.ts';
import type { View } from './view.ts';

/** What was written on one node. */
export interface NodeMove {
  node: string;
  /** The pool that held the node before. */
  from: string | undefined;
  /** The pool that owns it now. */
  to: string | undefined;
  changes: Change[];
}

export interface NodeWriterDeps {
  cluster: ClusterPort;
  view: View;
  sleep: (ms: number) => Promise<void>;
  /** By node. */
  orders?: ReadonlyMap<string, Order>;
}

/** A node that somebody else changes between every read and write of ours, this many times in a row, is an error. */
const MOST_ATTEMPTS = 50;

export class NodeWriter {
  /** Asked before a node is released for want of its pool. */
  readonly gonePools: GonePools;
  readonly #deps: NodeWriterDeps;
  /** One write in flight a node: two pools that a node moves between do not race for it. */
  readonly #inFlight = new Map<string, Promise<NodeMove | undefined>>();
  /** Of nodes that were found to need nothing. A claim is made anew when its node or any pool's spec changes. */
  readonly #settled = new WeakSet<Claim>();
  /** Those that are not carried out yet. */
  readonly #orders: Map<string, Order>;

  constructor(deps: NodeWriterDeps) {
    this.gonePools = new GonePools(deps);
    this.#deps = deps;
    this.#orders = new Map(deps.orders);
  }

  /** Whether anything differs on the node. Costs nothing when it is asked again of what has not changed. */
  needsWrite(name: string): boolean {
    const { view } = this.#deps;
    if (this.#orders.has(name)) return true;
    const claim = view.claim(name);
    if (claim === undefined || this.#settled.has(claim)) return false;
    const plan = planOf(view, name);
    // What cannot be written is tried, to say so.
    if (plan?.patch !== undefined || plan?.circle !== undefined) return true;
    this.#settled.add(claim);
    return false;
  }

  /** Writes what differs. Undefined when nothing did, the node is gone, or another call is writing it already. */
  async settle(name: string): Promise<NodeMove | undefined> {
    const running = this.#inFlight.get(name);
    if (running !== undefined) {
      await running;
      return undefined;
    }
    const write = this.#write(name).finally(() => this.#inFlight.delete(name));
    this.#inFlight.set(name, write);
    return write;
  }

  /** Until nothing is left to write. */
  async #write(name: string): Promise<NodeMove | undefined> {
    const { cluster, view, sleep } = this.#deps;
    let move: NodeMove | undefined;
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const order = this.#orders.get(name);
      const plan = order === undefined ? planOf(view, name) : planOrder(view, name, order);
      if (plan?.circle !== undefined) throw circleError(name, plan.circle);
      const uid = view.node(name)?.uid;
      if (order !== undefined && uid === undefined)
        throw new NodepoolError('cluster', `node ${name} was deleted meanwhile`);
      if (order !== undefined && plan?.patch === undefined) {
        this.#orders.delete(name);
        continue;
      }
      if (plan?.patch === undefined || uid === undefined) return move;
      const owner = this.#unpreparedOwner(plan);
      if (owner !== undefined) {
        await prepare(owner, this.#deps);
        continue;
      }
      if (!(await this.gonePools.mayRelease(plan))) continue;
      const write = await cluster.patchNode(name, plan.patch);
      if (write.kind === 'written') {
        view.setNode(write.node);
        this.#orders.delete(name);
        const { previous: from, owner: to, changes } = plan;
        move = { node: name, from: move ? move.from : from, to, changes: [...(move?.changes ?? []), ...changes] };
        continue;
      }
      await sleep(conflictDelay(attempt, Math.random()));
      const current = await readNode(name, uid, this.#deps);
      if (write.kind === 'gone' && current?.uid === uid) throw stillThere(`cannot patch Node "${name}"`);
    }
    throw new NodepoolError(
      'cluster',
      `node ${name} was changed by somebody else ${MOST_ATTEMPTS} times in a row between our read and our write`,
      'nothing of theirs was overwritten; try again when they are done',
    );
  }

  /** Whoever gets a node has the finalizer first that will release it again. */
  #unpreparedOwner({ owner }: NodePlan): NodePool | undefined {
    const pool = owner === undefined ? undefined : this.#deps.view.pool(owner);
    return pool === undefined || isPrepared(pool, this.#deps.view) ? undefined : pool;
  }
}
