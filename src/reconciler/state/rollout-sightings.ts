/**
 * Measures, by the monotonic clock, for how long a node has been changed and Ready, because wall clocks can be set, and
 * the time of a change is before its request. States at the first sight of a node count from their own time, later ones
 * from their detection.
 */
import type { NowClock } from '../../controller/clock.ts';
import type { AppliedRecord } from '../../nodepool/plan/record.ts';
import { elapsed } from '../../nodepool/rollout/rollout-step.ts';
import type { Node } from '../../nodepool/types.ts';

interface Sighting {
  uid: string;
  changed: string | undefined;
  readySince: number | undefined;
  /** Monotonic milliseconds. */
  changedAt: number;
  readyAt: number;
  /** Whether it was Ready at any time since its change. */
  wasReady: boolean;
}

/** Milliseconds since both, and whether the node was Ready at any time since its change. */
interface SightingAge {
  changedAgo: number | undefined;
  readyAgo: number;
  wasReady: boolean;
}

/** Added to the time of a change, which is truncated to seconds. */
const MARGIN_MS = 2_000;

export class RolloutSightings {
  readonly #clock: NowClock;
  /** By pool name, then by node name. */
  readonly #pools = new Map<string, Map<string, Sighting>>();

  constructor(clock: NowClock) {
    this.#clock = clock;
  }

  /** @param now by the wall clock, for a node at its first sight */
  see(pool: string, node: Node, record: AppliedRecord | undefined, now: number): SightingAge {
    const nodes = this.#pools.get(pool) ?? new Map<string, Sighting>();
    this.#pools.set(pool, nodes);
    const at = this.#clock.now();
    const before = nodes.get(node.name);
    const known = before?.uid === node.uid ? before : first(node, record, now, at);
    if (known !== before) nodes.set(node.name, known);
    const change = changeOf(record);
    if (known.changed !== change) {
      known.changed = change;
      known.changedAt = at;
      known.wasReady = node.ready;
    }
    if (known.readySince !== node.readySince) {
      known.readySince = node.readySince;
      known.readyAt = at;
    }
    if (node.ready) known.wasReady = true;
    const changedAgo = known.changed === undefined ? undefined : at - known.changedAt;
    return { changedAgo, readyAgo: at - known.readyAt, wasReady: known.wasReady };
  }

  /** Forgets all other nodes. */
  keep(pool: string, members: readonly Node[]): void {
    const nodes = this.#pools.get(pool);
    if (nodes === undefined || nodes.size <= members.length) return;
    const names = new Set(members.map(({ name }) => name));
    for (const name of nodes.keys()) if (!names.has(name)) nodes.delete(name);
  }

  forget(pool: string): void {
    this.#pools.delete(pool);
  }
}

/** Two changes may have the same time: it has whole seconds, and servers differ. The end of a drain is a change, too. */
function changeOf({ changed, rollout = '', draining }: Partial<AppliedRecord> = {}): string | undefined {
  return changed === undefined ? undefined : `${changed} ${rollout} ${draining === undefined ? '' : 'draining'}`;
}

function first(node: Node, record: AppliedRecord | undefined, now: number, at: number): Sighting {
  const { uid, readySince } = node;
  const changed = Date.parse(record?.changed ?? '');
  const since = readySince === undefined ? undefined : readySince * 1000;
  return {
    uid,
    changed: changeOf(record),
    readySince,
    changedAt: at - elapsed(Number.isNaN(changed) ? undefined : changed, undefined, now),
    readyAt: at - elapsed(since, undefined, now),
    wasReady: hasTurned(node, changed),
  };
}

/** Whether it turned Ready or NotReady after its change, by both times. */
export function hasTurned({ ready, readySince = 0 }: Node, changed = Number.NaN): boolean {
  return ready || readySince * 1000 > changed + MARGIN_MS;
}
