/** Applies the pools' labels and taints to single nodes: one guarded patch a node, planned again after every conflict. */

import { conflictDelay } from '../../controller/backoff.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { isRolloutStep } from '../../nodepool/plan/plan.ts';
import { RolloutSlot } from '../limits/rollout-admission.ts';
import type { ReconcilerOptions } from '../options.ts';
import { moveOf, type NodeMove, type NodeWriteError, withMove, withoutMove } from '../outcome.ts';
import { isDue, nodePlan } from '../plan/node-plan.ts';
import { readNode, stillExistsError } from '../state/live-reads.ts';
import { type NodeStep, NodeSteps } from './node-steps.ts';

/** Plans of one call after which a node is an error: mostly conflicts, but those after which something was only read count, too. */
const MAX_ATTEMPTS = 50;

/** What a call has written so far. */
interface Written {
  move: NodeMove | undefined;
  slot: RolloutSlot;
}

export class NodeWriter {
  readonly #options: ReconcilerOptions;
  readonly steps: NodeSteps;
  /** One write in flight a node: the reconciles of two pools that a node moves between do not write it at once. */
  readonly #inFlight = new Map<string, Promise<NodeMove | undefined>>();

  constructor(options: ReconcilerOptions) {
    this.#options = options;
    this.steps = new NodeSteps(options);
  }

  /** Whether the node differs from its plan. Cheap for a node that has not changed since the last call. */
  needsWrite(name: string): boolean {
    return this.steps.changes.has(name) || isDue(nodePlan(this.#options.state, name));
  }

  /** The error of a node that needs no write now, and that something else kept changing until a short while ago. */
  contested(name: string): NodeWriteError | undefined {
    return this.steps.limits.contested(name);
  }

  /**
   * Writes what differs. Undefined when nothing did, the node is gone, or another call is writing it already. Throws
   * NodepoolError: a NodeWriteError where the node is not to be written again at once.
   * @param isCurrent false once the pool has changed: then no further write is sent
   */
  async write(name: string, isCurrent = () => true): Promise<NodeMove | undefined> {
    const running = this.#inFlight.get(name);
    if (running !== undefined) {
      await running.catch(error => {
        throw withoutMove(error);
      });
      return undefined;
    }
    const write = this.#write(name, isCurrent).finally(() => this.#inFlight.delete(name));
    this.#inFlight.set(name, write);
    return write;
  }

  /** Writes until the plan is empty. An error carries what was written before it. */
  async #write(name: string, isCurrent: () => boolean): Promise<NodeMove | undefined> {
    const written: Written = { move: undefined, slot: new RolloutSlot(this.steps.rollouts, name) };
    try {
      await this.#writeAll(name, written, isCurrent);
      this.steps.rollouts.wrote(name, false);
      return written.move;
    } catch (error) {
      this.steps.rollouts.wrote(name, isRolloutStep(nodePlan(this.#options.state, name)));
      if (!(error instanceof NodepoolError)) throw error;
      this.steps.drainer.entries.failed(name, error);
      if (written.move === undefined) throw error;
      throw withMove(error, written.move);
    } finally {
      written.slot.end();
    }
  }

  async #writeAll(name: string, written: Written, isCurrent: () => boolean): Promise<void> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const step = await this.steps.next(name, written.slot);
      if (step === 'done' || !isCurrent()) return;
      if (step !== 'again') await this.#send(step, attempt, written);
    }
    throw new NodepoolError(
      'cluster',
      `node ${name} was changed by somebody else ${MAX_ATTEMPTS} times in a row between read and write`,
      'nothing of theirs was overwritten; try again when they are done',
    );
  }

  /** @param attempt counted from 1: how long to wait after a conflict */
  async #send({ plan, uid }: Exclude<NodeStep, string>, attempt: number, written: Written): Promise<void> {
    const { cluster, state, sleep, onWrite } = this.#options;
    const { name } = plan.node;
    onWrite?.(plan);
    const sent = cluster.nodes.patch(name, plan.patch);
    const read = () => readNode(name, uid, this.#options);
    const write = await written.slot.during(sent, plan.patch.resourceVersion, read);
    if (write.kind === 'written') {
      state.setNode(write.node);
      if (plan.drain !== undefined) written.slot.release();
      // A stand-in that is new, or was gone, has to be seen by schedulers first.
      if (plan.patch.taints !== undefined) this.steps.drainer.entries.forget(name);
      this.steps.changes.delete(name);
      this.steps.written(plan, uid);
      const move = moveOf(plan, written.move);
      this.steps.limits.written(plan, write.node, uid, move, written.move);
      written.move = move;
      return;
    }
    await sleep(conflictDelay(attempt));
    const current = await readNode(name, uid, this.#options);
    if (write.kind === 'gone' && current?.uid === uid) throw stillExistsError(`cannot patch Node "${name}"`);
  }
}
