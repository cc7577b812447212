/** Brings single nodes to what the pools want of them: one guarded patch a node, planned anew after every conflict. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { Change, NodePlan } from '../nodepool/plan.ts';
import { FINALIZER, type NodePool } from '../nodepool/types.ts';
import { conflictDelay } from './conflict-delay.ts';
import { addFinalizer } from './finalizer.ts';
import { type MembershipChange, type MembershipChanges, planMembershipChange } from './membership-change.ts';
import { circleError, noExecuteOf, planOf } from './node-plan.ts';
import type { ClusterPort } from './ports.ts';
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
  changes?: MembershipChanges;
  /** Taints with the effect NoExecute that may be set, as noExecuteOf() gives them; undefined: all. */
  consent?: ReadonlySet<string>;
}

/** A node that somebody else changes between every read and write of ours, this many times in a row, is an error. */
const MOST_ATTEMPTS = 50;

export class NodeWriter {
  readonly #deps: NodeWriterDeps;
  /** One write in flight a node: two pools that a node moves between do not race for it. */
  readonly #inFlight = new Map<string, Promise<NodeMove | undefined>>();
  /** Those that are not written yet. */
  readonly #changes: Map<string, MembershipChange>;

  constructor(deps: NodeWriterDeps) {
    this.#deps = deps;
    this.#changes = new Map(deps.changes);
  }

  /** Whether anything differs on the node. Costs nothing when it is asked again of what has not changed. */
  needsWrite(name: string): boolean {
    if (this.#changes.has(name)) return true;
    const plan = planOf(this.#deps.view, name);
    // What cannot be written is tried, to say so.
    return plan?.patch !== undefined || plan?.circle !== undefined;
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
      const change = this.#changes.get(name);
      const plan = change === undefined ? planOf(view, name) : planMembershipChange(view, name, change);
      if (plan?.circle !== undefined) throw circleError(name, plan.circle);
      const uid = view.node(name)?.uid;
      if (change !== undefined && uid === undefined && view.isStaying(change.pool))
        throw new NodepoolError('cluster', `node ${name} was deleted meanwhile`);
      if (change !== undefined && plan?.patch === undefined) {
        this.#changes.delete(name);
        continue;
      }
      if (plan?.patch === undefined || uid === undefined) return move;
      const owner = this.#ownerWithoutFinalizer(plan);
      if (owner !== undefined) {
        await addFinalizer(owner, this.#deps);
        continue;
      }
      this.#assertConsent(plan);
      const write = await cluster.patchNode(name, plan.patch);
      if (write.kind === 'written') {
        view.setNode(write.node);
        this.#changes.delete(name);
        const { previous: from, owner: to, changes } = plan;
        move = { node: name, from: move ? move.from : from, to, changes: [...(move?.changes ?? []), ...changes] };
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

  /** Whoever gets a node has the finalizer first that will release it again. */
  #ownerWithoutFinalizer({ owner }: NodePlan): NodePool | undefined {
    const pool = owner === undefined ? undefined : this.#deps.view.pool(owner);
    return pool?.metadata.finalizers?.includes(FINALIZER) ? undefined : pool;
  }

  /** A node that changed since its plan was agreed to may get a taint that nobody was asked about. */
  #assertConsent(plan: NodePlan): void {
    const { consent } = this.#deps;
    const [first] = consent === undefined ? [] : [...noExecuteOf([plan])].filter(taint => !consent.has(taint));
    if (first === undefined) return;
    throw new NodepoolError(
      'cluster',
      `node ${plan.node.name} was changed meanwhile and would now get the taint ${first.split(' ')[1]}, which was not agreed to; it was not written`,
      'run the command again to see which pods that would evict',
    );
  }

  async #reread(name: string, attempt: number, sleep: NodeWriterDeps['sleep']) {
    await sleep(conflictDelay(attempt, Math.random()));
    return this.#deps.cluster.getNode(name);
  }
}
