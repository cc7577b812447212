/** `get --watch`: finds pools whose node counts have changed. */
import type { Clock } from '../../controller/clock.ts';
import type { ClusterState } from '../../reconciler/state/cluster-state.ts';
import type { ClusterRows } from '../shared/follow-cluster.ts';
import { type LivePool, livePool } from './live-counts.ts';

/** Nodes that join or leave within this time give one row of their pool. */
const REPORT_MS = 1_000;

export interface LiveRowsOptions {
  state: ClusterState;
  /** By pool name; updated before `onChanged`. */
  live: Map<string, LivePool>;
  onChanged: (pool: string) => void;
  clock: Pick<Clock, 'after'>;
  serverTime: () => Date;
}

export class LiveRows implements ClusterRows {
  readonly #options: LiveRowsOptions;
  #state: ClusterState;
  readonly #changed = new Set<string>();
  #cancel: (() => void) | undefined;
  #isStarted = false;

  constructor(options: LiveRowsOptions) {
    this.#options = options;
    this.#state = options.state;
  }

  get state(): ClusterState {
    return this.#state;
  }

  start(): void {
    this.#isStarted = true;
    this.#observe();
    this.refreshAll();
  }

  stop(): void {
    this.#cancel?.();
  }

  restore(state: ClusterState): void {
    this.#state = state;
    this.#observe();
    this.refreshAll();
  }

  refreshAll(): void {
    for (const { metadata } of this.#state.pools()) this.#mark(metadata.name);
  }

  // The state reports which pools a node belonged to and belongs to now.
  refresh(): void {}
  remove(): void {}

  /** Not called from the start: all counts would be computed again for each of the first pools. */
  #observe(): void {
    const concerned = (pools: Iterable<string>) => {
      for (const pool of pools) this.#mark(pool);
    };
    this.#state.observe({ concerned, nodeGone() {} });
  }

  #mark(pool: string): void {
    // Until then, some nodes may not be counted.
    if (!this.#isStarted) return;
    this.#changed.add(pool);
    this.#cancel ??= this.#options.clock.after(REPORT_MS, () => this.#report());
  }

  #report(): void {
    this.#cancel = undefined;
    const { live, onChanged, serverTime } = this.#options;
    const changed = [...this.#changed].sort();
    this.#changed.clear();
    for (const name of changed) {
      const pool = this.#state.pool(name);
      if (pool === undefined) {
        live.delete(name);
        continue;
      }
      const found = livePool(this.#state, pool, serverTime());
      // A rollout settles, and maintenance becomes overdue, without a change of a node or pool.
      const { active, overdue } = found.maintenance;
      if (found.rollout === 'Progressing' || active > overdue) this.#mark(name);
      if (JSON.stringify(found) === JSON.stringify(live.get(name))) continue;
      live.set(name, found);
      onChanged(name);
    }
  }
}
