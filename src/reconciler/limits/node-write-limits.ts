/** The rate limit of writes of one node (WriteRateLimiter), and what the server stored after a write. */

import type { ClusterPort } from '../../kube/cluster.ts';
import { type Change, dueOf, type WritePlan } from '../../nodepool/plan/plan.ts';
import type { Node } from '../../nodepool/types.ts';
import type { NodeMove } from '../plan/node-move.ts';
import { patchedNode, planOf } from '../plan/node-plan.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { alteredError, alteredSlots } from '../write/altered.ts';
import { heldBack, limitError, NodeWriteError } from '../write/node-write-error.ts';
import type { WriteRateLimiter } from './write-rate-limiter.ts';

export class NodeWriteLimits {
  readonly #state: ClusterState;
  readonly #cluster: Pick<ClusterPort, 'nodes'>;
  readonly #limiter: WriteRateLimiter;

  constructor(state: ClusterState, cluster: Pick<ClusterPort, 'nodes'>, limiter: WriteRateLimiter) {
    this.#state = state;
    this.#cluster = cluster;
    this.#limiter = limiter;
  }

  /** The error of a node that needs no write now, and that something else kept changing until a short while ago. */
  contested(name: string): NodeWriteError | undefined {
    const uid = this.#state.node(name)?.uid;
    const held = uid === undefined ? undefined : this.#limiter.contested(uid);
    return held && heldBack(held);
  }

  /** Throws NodeWriteError when the node has to wait. */
  async assertFree(name: string, uid: string, changes: Change[]): Promise<void> {
    const turn = this.#limiter.check(uid, changes);
    if (turn.kind === 'free') return;
    if (turn.kind === 'held') throw heldBack(turn);
    const error = await limitError(name, changes, turn.isContested, this.#cluster.nodes);
    throw new NodeWriteError(error, {
      retryAfterMs: this.#limiter.limited(uid, error, turn.isContested),
      isHeldBack: false,
    });
  }

  /** Counts a write. Throws NodeWriteError when the server stored something else than it was sent. */
  written(plan: WritePlan, answer: Node, uid: string, move: NodeMove, before: NodeMove | undefined): void {
    this.#limiter.written(uid, plan.changes);
    const state = this.#state;
    const next = () => planOf(state, plan.node.name);
    const givesAway = state.poolIndex.ownership(answer).owner !== plan.owner;
    const decides = (label: string) => givesAway && state.poolIndex.affectsMembership({ [label]: true });
    const altered = alteredSlots(plan, answer, next, decides);
    if (altered.length === 0) {
      this.#limiter.unaltered(uid);
      return;
    }
    const error = alteredError(`node ${plan.node.name}`, altered);
    const retryAfterMs = this.#limiter.altered(uid, dueOf(next())?.changes ?? [], error);
    // The move is reported without its changes, which the server altered: the pool that owns the node is right.
    const isMoved = move.from !== move.to && answer.record === patchedNode(plan.node, plan.patch).record;
    throw new NodeWriteError(error, {
      retryAfterMs,
      isHeldBack: false,
      move: isMoved ? { ...move, changes: before?.changes ?? [] } : undefined,
    });
  }
}
