/** Brings single nodes to what the pools want of them: one guarded patch a node, planned anew after every conflict. */
import type { Clock } from '../controller/clock.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import type { Claim } from '../nodepool/membership.ts';
import type { Change, NodePatch, NodePlan } from '../nodepool/plan.ts';
import { recordProblem } from '../nodepool/record.ts';
import { FINALIZER, type Node, type NodePool } from '../nodepool/types.ts';
import { alteredError, alteredSlots } from './altered.ts';
import { conflictDelay } from './conflict-delay.ts';
import { addFinalizer } from './finalizer.ts';
import type { NodeMove } from './node-move.ts';
import { NodePace } from './node-pace.ts';
import { circleError, oversizedError, patchedNode, planOf } from './node-plan.ts';
import { limitError, NodeWriteError } from './node-write-error.ts';
import { type Order, planOrder } from './order.ts';
import type { ClusterPort } from './ports.ts';
import type { View } from './view.ts';

export type { NodeMove };

export interface NodeWriterDeps {
  cluster: ClusterPort;
  view: View;
  sleep: (ms: number) => Promise<void>;
  clock: Pick<Clock, 'now'>;
  /** By node. */
  orders?: ReadonlyMap<string, Order>;
}

/** A node that somebody else changes between every read and write of ours, this many times in a row, is an error. */
const MOST_ATTEMPTS = 50;

export class NodeWriter {
  readonly #deps: NodeWriterDeps;
  /** One write in flight a node: two pools that a node moves between do not race for it. */
  readonly #inFlight = new Map<string, Promise<NodeMove | undefined>>();
  /** Of nodes that were found to need nothing. A claim is made anew when its node or any pool's spec changes. */
  readonly #settled = new WeakSet<Claim>();
  /** Those that are not carried out yet. */
  readonly #orders: Map<string, Order>;
  readonly #pace: NodePace;

  constructor(deps: NodeWriterDeps) {
    this.#deps = deps;
    this.#pace = new NodePace(deps.clock);
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
    if (plan?.patch !== undefined || plan?.circle !== undefined || plan?.isOversized) return true;
    this.#settled.add(claim);
    return false;
  }

  /** A node that is as it should be now and that something else kept changing a short while ago. */
  contested(name: string): NodeWriteError | undefined {
    const uid = this.#deps.view.node(name)?.uid;
    const held = uid === undefined ? undefined : this.#pace.contested(uid);
    return held && new NodeWriteError(held.error, { retryAfterMs: held.ms, isHeldBack: true });
  }

  /**
   * Writes what differs. Undefined when nothing did, the node is gone, or another call is writing it already. Throws
   * NodepoolError: a NodeWriteError where the node is not to be written again at once.
   */
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
      if (plan?.isOversized) throw oversizedError(name);
      const uid = view.node(name)?.uid;
      if (order !== undefined && uid === undefined)
        throw new NodepoolError('cluster', `node ${name} was deleted meanwhile`);
      if (order !== undefined && plan?.patch === undefined) {
        this.#orders.delete(name);
        continue;
      }
      if (plan?.patch === undefined || uid === undefined) return move;
      await this.#assertFree(name, uid, plan.changes);
      const heir = this.#heirWithoutFinalizer(plan);
      if (heir !== undefined) {
        await addFinalizer(heir, this.#deps);
        continue;
      }
      const write = await cluster.patchNode(name, plan.patch);
      if (write.kind === 'written') {
        view.setNode(write.node);
        this.#orders.delete(name);
        this.#pace.written(uid, plan.changes);
        move = moveOf(plan, move);
        this.#assertUnaltered({ ...plan, patch: plan.patch }, write.node, uid, move);
        continue;
      }
      const current = write.kind === 'gone' ? undefined : await this.#reread(name, attempt, sleep);
      if (current === undefined) view.removeNode(name, uid);
      else view.setNode(current);
    }
    throw new NodepoolError(
      'cluster',
      `node ${name} was changed by somebody else ${MOST_ATTEMPTS} times in a row between our read and our write`,
      'nothing of theirs was overwritten; try again when they are done',
    );
  }

  /** Throws NodeWriteError when the node has to wait. */
  async #assertFree(name: string, uid: string, changes: Change[]): Promise<void> {
    const pace = this.#pace.check(uid, changes);
    if (pace.kind === 'free') return;
    if (pace.kind === 'held') throw new NodeWriteError(pace.error, { retryAfterMs: pace.ms, isHeldBack: true });
    const error = await limitError(name, changes, pace.isContested, this.#deps.cluster);
    throw new NodeWriteError(error, {
      retryAfterMs: this.#pace.limited(uid, error, pace.isContested),
      isHeldBack: false,
    });
  }

  /** Throws NodeWriteError when the server stored something else than it was sent. */
  #assertUnaltered(plan: NodePlan & { patch: NodePatch }, answer: Node, uid: string, move: NodeMove): void {
    const next = () => planOf(this.#deps.view, plan.node.name);
    const altered = alteredSlots(plan, answer, next);
    if (altered.length === 0) {
      this.#pace.unaltered(uid);
      return;
    }
    const error = alteredError(plan.node.name, altered);
    const retryAfterMs = this.#pace.altered(uid, next()?.changes ?? [], error);
    // Of what it did is told what is true of the node: the pool that has it.
    const isMoved = move.from !== move.to && answer.record === patchedNode(plan.node, plan.patch).record;
    throw new NodeWriteError(error, {
      retryAfterMs,
      isHeldBack: false,
      move: isMoved ? { ...move, changes: [] } : undefined,
    });
  }

  /** Whoever gets a node has the finalizer first that will release it again. */
  #heirWithoutFinalizer({ owner }: NodePlan): NodePool | undefined {
    const pool = owner === undefined ? undefined : this.#deps.view.pool(owner);
    return pool?.metadata.finalizers?.includes(FINALIZER) ? undefined : pool;
  }

  async #reread(name: string, attempt: number, sleep: NodeWriterDeps['sleep']) {
    await sleep(conflictDelay(attempt, Math.random()));
    return this.#deps.cluster.getNode(name);
  }
}

/** @param before what was written on the node just before */
function moveOf({ node, patch, previous, owner: to, changes }: NodePlan, before: NodeMove | undefined): NodeMove {
  const isReplaced = patch?.record !== undefined && node.record !== undefined;
  const invalidRecord = before?.invalidRecord ?? (isReplaced ? recordProblem(node.record ?? '') : undefined);
  return {
    node: node.name,
    from: before ? before.from : previous,
    to,
    changes: [...(before?.changes ?? []), ...changes],
    ...(invalidRecord === undefined ? {} : { invalidRecord }),
  };
}
