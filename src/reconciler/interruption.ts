/** Ends a reconcile whose signal was aborted: reports completed writes, and writes nothing more. */
import type { OutcomeEvents } from './events.ts';
import type { PoolOutcome } from './outcome.ts';
import type { ClusterState } from './state/cluster-state.ts';

/** Thrown in place of a write once the signal is aborted. */
export class Interrupted extends Error {}

export class Interruption {
  readonly #events: OutcomeEvents;
  readonly #state: ClusterState;

  constructor(events: OutcomeEvents, state: ClusterState) {
    this.#events = events;
    this.#state = state;
  }

  /** @param outcome what was done before the interruption */
  async until(outcome: () => PoolOutcome, work: () => Promise<PoolOutcome>): Promise<PoolOutcome> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Interrupted)) throw error;
      return this.end(outcome());
    }
  }

  /** Sends the Events of what was written. */
  async end(outcome: PoolOutcome): Promise<PoolOutcome> {
    await this.#events.send(this.#events.ofWrites(outcome, this.#state.pool(outcome.pool)), outcome);
    return { ...outcome, kind: 'interrupted' };
  }
}
