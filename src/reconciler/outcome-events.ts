/** Sends the Events of what a reconcile did. One that cannot be sent is a warning, no failure. */

import type { ClusterPort, PoolEvent } from '../kube/cluster.ts';
import type { NodePool } from '../nodepool/types.ts';
import { moveEvents, runtimeClassEvents } from './events.ts';
import { attempt, messagesOf, type WriteFailure } from './failure.ts';
import type { NodeMove } from './plan/node-move.ts';
import type { PoolOutcome } from './pool-outcome.ts';
import type { ClusterState } from './state/cluster-state.ts';

export interface OutcomeEventsOptions {
  cluster: Pick<ClusterPort, 'createEvent'>;
  state: ClusterState;
  /** Gets the node writes in place of sending their Events. */
  onMoves?: (moves: readonly NodeMove[]) => void;
}

/** With the pool that each is about. */
export type EventsOfPools = (readonly [NodePool, PoolEvent])[];

export class OutcomeEvents {
  readonly #options: OutcomeEventsOptions;

  constructor(options: OutcomeEventsOptions) {
    this.#options = options;
  }

  /** Of node writes, and of the RuntimeClass of the pool. */
  ofWrites({ moves, runtimeClass }: PoolOutcome, pool?: NodePool): EventsOfPools {
    return [...this.#ofMoves(moves), ...(pool === undefined ? [] : runtimeClassEvents(pool, runtimeClass))];
  }

  #ofMoves(moves: NodeMove[]): EventsOfPools {
    const { state, onMoves } = this.#options;
    if (onMoves !== undefined) {
      onMoves(moves);
      return [];
    }
    return [...moveEvents(moves)].flatMap(([name, events]) => {
      const pool = state.pool(name);
      return pool === undefined ? [] : events.map(event => [pool, event] as const);
    });
  }

  /** Also after the signal is aborted: these are Events of what was written. */
  async send(events: EventsOfPools, outcome: PoolOutcome): Promise<void> {
    const { cluster } = this.#options;
    const failures: WriteFailure[] = [];
    const send = ([pool, event]: EventsOfPools[number]) => cluster.createEvent(pool, event);
    await Promise.all(events.map(each => attempt(failures, () => send(each))));
    outcome.warnings.push(...messagesOf(failures));
  }
}
