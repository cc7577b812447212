/** Brings single nodes to what the pools want of them: one guarded patch a node, planned anew after every conflict. */
import { type Change, type NodePlan, planNode } from '../nodepool/plan.ts';
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

/** A node that somebody else changes between every read and write of ours, this many times in a row, is an error. */
const MOST_ATTEMPTS = 50;

export class NodeWriter {
  readonly #cluster: ClusterPort;
  readonly #view: View;
  readonly #sleep: (ms: number) => Promise<void>;
  /** One write in flight a node: two pools that a node moves between do not race for it. */
  readonly #inFlight = new Map<string, Promise<NodeMove | undefined>>();

  constructor(cluster: ClusterPort, view: View, sleep: (ms: number) => Promise<void>) {
    this.#cluster = cluster;
    this.#view = view;
    this.#sleep = sleep;
  }

  /** What would be written on the node now; undefined when the node is not known. */
  plan(name: string): NodePlan | undefined {
    const [node, claim] = [this.#view.node(name), this.#view.claim(name)];
    if (node === undefined || claim === undefined) return undefined;
    const owner = claim.owner === undefined ? undefined : this.#view.pool(claim.owner);
    const plan = planNode(node, claim.record, owner);
    // A pool whose spec is invalid keeps its nodes as they are until it is mended.
    const frozen = claim.owner !== undefined && this.#view.specErrors(claim.owner).length > 0;
    return frozen ? { ...plan, changes: [], patch: undefined } : plan;
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

  async #write(name: string): Promise<NodeMove | undefined> {
    for (let attempt = 1; attempt <= MOST_ATTEMPTS; attempt++) {
      const plan = this.plan(name);
      if (plan?.patch === undefined) return undefined;
      const write = await this.#cluster.patchNode(name, plan.patch);
      switch (write.kind) {
        case 'written':
          this.#view.setNode(write.node);
          return { node: name, from: plan.previous, to: plan.owner, changes: plan.changes };
        case 'gone':
          this.#view.removeNode(name);
          return undefined;
        case 'conflict':
          await this.#reread(name, attempt);
      }
    }
    throw new ContendedError(name);
  }

  async #reread(name: string, attempt: number): Promise<void> {
    // The first retry is at once: most conflicts are a kubelet's heartbeat.
    if (attempt > 1) await this.#sleep(Math.random() * Math.min(2 ** attempt, 200));
    const node = await this.#cluster.getNode(name);
    if (node === undefined) this.#view.removeNode(name);
    else this.#view.setNode(node);
  }
}

/** Somebody kept writing the node; nothing of theirs was overwritten, and ours is not there yet. */
export class ContendedError extends Error {
  constructor(node: string) {
    super(`node ${node} was changed by somebody else ${MOST_ATTEMPTS} times in a row between our read and our write`);
    this.name = 'ContendedError';
  }
}
