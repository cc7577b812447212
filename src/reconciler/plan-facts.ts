/**
 * What each reconcile asks of the plan of each node, remembered until the node or the spec of a pool changes: in a rollout most
 * nodes wait for most of the time, and plans that are made again and again leave garbage. The plans themselves would take memory.
 */
import type { Ownership } from '../nodepool/membership.ts';
import type { ClusterState } from './cluster-state.ts';
import { differs, isDue, mayWait, planOf, repairOf, waitsForTurn } from './node-plan.ts';

export interface PlanFacts {
  /** See isDue(). */
  isDue: boolean;
  /** Something is written, now or in its turn. */
  hasPatch: boolean;
  /** It is a step of a rollout. */
  isStep: boolean;
  /** See waitsForTurn(). */
  waits: boolean;
  /** While it waits, something is written: see repairOf(). */
  hasRepair: boolean;
  /** See differs(). */
  differs: boolean;
  /** See mayWait(). */
  mayWait: boolean;
}

/** Of a node that is not known, or that needs no write. */
const NONE: PlanFacts = {
  isDue: false,
  hasPatch: false,
  isStep: false,
  waits: false,
  hasRepair: false,
  differs: false,
  mayWait: false,
};

/** A change of the node or of any pool's spec replaces the ownership. */
const facts = new WeakMap<Ownership, PlanFacts>();

/** Of planOf(). Cheap for a node that has not changed since the last call. */
export function factsOf(state: ClusterState, name: string): PlanFacts {
  const ownership = state.ownership(name);
  if (ownership === undefined || state.upToDate.has(ownership)) return NONE;
  const known = facts.get(ownership);
  if (known !== undefined) return known;
  const plan = planOf(state, name);
  if (plan === undefined || state.upToDate.has(ownership)) return NONE;
  const waits = waitsForTurn(plan);
  const found: PlanFacts = {
    isDue: isDue(plan),
    hasPatch: plan.patch !== undefined,
    isStep: plan.isRollout === true,
    waits,
    hasRepair: waits && repairOf(state, name)?.patch !== undefined,
    differs: differs(plan),
    mayWait: mayWait(plan),
  };
  facts.set(ownership, found);
  return found;
}
