/**
 * Lets the writes of a rollout through, one step at a time. The step is computed when a reconcile begins, and again at a write when
 * the pool or the readiness of a node has changed since. Writes under way count as in flight: the state does not have
 * them yet.
 *
 * Not guaranteed: the limit over several processes that write at the same time without a lease. Both choose the same nodes by the same
 * order, so one of two that overlap finds them written.
 */
import { progressOf } from '../nodepool/rollout.ts';
import { type RolloutNode, type RolloutStep, rolloutStep } from '../nodepool/rollout-step.ts';
import { type NodePool, RESUMED_ANNOTATION } from '../nodepool/types.ts';
import type { ClusterState } from './cluster-state.ts';
import { planOf } from './node-plan.ts';

interface Gate {
  pool: NodePool;
  /** Of the state when the step was computed. */
  readiness: number;
  /** Names that may be written: those of the step, and those under way. */
  allowed: ReadonlySet<string>;
}

const NONE: ReadonlyMap<string, number | undefined> = new Map();

export class RolloutGates {
  readonly #state: ClusterState;
  readonly #now: () => Date;
  /** By name of the pool. */
  readonly #gates = new Map<string, Gate>();
  /** Nodes whose write was let through and has not ended, by name of the pool, each with the generation that it is for. */
  readonly #underWay = new Map<string, Map<string, number | undefined>>();

  constructor(state: ClusterState, now: () => Date) {
    this.#state = state;
    this.#now = now;
  }

  /** Computes the step anew. Undefined for a pool without spec.rollout. */
  begin(pool: string): RolloutStep | undefined {
    const found = this.#state.pool(pool);
    if (found?.spec.rollout === undefined) {
      this.#gates.delete(pool);
      return undefined;
    }
    const underWay = this.#underWay.get(pool) ?? NONE;
    const step = stepOf(this.#state, found, this.#now(), underWay);
    const current = [...underWay].flatMap(([node, generation]) =>
      generation === found.metadata.generation ? node : [],
    );
    const allowed = new Set([...step.next, ...current]);
    this.#gates.set(pool, { pool: found, readiness: this.#state.readiness, allowed });
    return step;
  }

  /** Whether the node may be changed now. Until end() it counts as in flight. */
  admits(pool: string, node: string): boolean {
    const known = this.#gates.get(pool);
    if (known?.pool !== this.#state.pool(pool) || known?.readiness !== this.#state.readiness) this.begin(pool);
    const gate = this.#gates.get(pool);
    // The pool has no rollout any more: a plan that is made now would say so.
    if (gate !== undefined && !gate.allowed.has(node)) return false;
    const underWay = this.#underWay.get(pool) ?? new Map();
    this.#underWay.set(pool, underWay.set(node, this.#state.pool(pool)?.metadata.generation));
    return true;
  }

  /** The write has ended, one way or the other. */
  end(pool: string, node: string): void {
    const underWay = this.#underWay.get(pool);
    underWay?.delete(node);
    if (underWay?.size === 0) this.#underWay.delete(pool);
  }
}

/** Of a pool with spec.rollout. @param underWay nodes that are being changed, each for which generation */
export function stepOf(state: ClusterState, pool: NodePool, now: Date, underWay = NONE): RolloutStep {
  const { metadata, spec } = pool;
  const time = now.getTime();
  const nodes = state.members(metadata.name).map((node): RolloutNode => {
    const { name, ready, readySince } = node;
    const record = state.ownership(name)?.record;
    const isChanging = underWay.has(name);
    const isCurrent = isChanging && underWay.get(name) === metadata.generation;
    const plan = planOf(state, name);
    return {
      name,
      ready,
      readySince: readySince === undefined ? undefined : readySince * 1000,
      changed: isChanging ? time : record?.pool === metadata.name ? timeOf(record.changed) : undefined,
      isPending: !isCurrent && plan?.isRollout === true,
      isDraining: plan?.isRollout === true && plan.drain?.hasBegun === true,
    };
  });
  return rolloutStep(nodes, spec.rollout ?? {}, {
    now: time,
    resumed: timeOf(metadata.annotations?.[RESUMED_ANNOTATION]),
    wasComplete: wasComplete(pool),
  });
}

function wasComplete(pool: NodePool): boolean {
  const before = progressOf(pool);
  return before?.reason === 'RolloutComplete' && before.observedGeneration === pool.metadata.generation;
}

function timeOf(text: string | undefined): number | undefined {
  const time = Date.parse(text ?? '');
  return Number.isNaN(time) ? undefined : time;
}
