/** What a reconcile has found of a pool, for its status. */
import { drainingText } from '../nodepool/plan/no-execute.ts';
import { isPaused, pausedProgress, rolloutProgress } from '../nodepool/rollout/rollout.ts';
import type { RolloutStep } from '../nodepool/rollout/rollout-step.ts';
import { stoppedRollouts } from '../nodepool/rollout/stopped-rollouts.ts';
import type { Observation } from '../nodepool/status/status.ts';
import type { NodePool } from '../nodepool/types.ts';
import type { DrainState } from './evict/drain-entries.ts';
import { messagesOf, type WriteFailure } from './failure.ts';
import { conflictMessages } from './plan/conflicts.ts';
import { withheldTaints } from './plan/node-move.ts';
import type { PoolOutcome } from './pool-outcome.ts';
import type { ClusterState } from './state/cluster-state.ts';

interface Found {
  /** Failures that the status tells. */
  unmet: readonly WriteFailure[];
  /** Members that do not carry what the pool sets. */
  differing: string[];
  /** Of a pool with a rollout. */
  step: RolloutStep | undefined;
  drain: DrainState | undefined;
  /** See Contests. */
  contested: string | undefined;
  /** Pods on a node that have not ended, where they are counted. */
  podsOn: ((node: string) => number) | undefined;
  stuckStartup: readonly string[];
}

export function observe(
  pool: NodePool,
  state: ClusterState,
  { runtimeClass, moves }: Pick<PoolOutcome, 'runtimeClass' | 'moves'>,
  { unmet, differing, step, drain, contested, podsOn, stuckStartup }: Found,
): Observation {
  const { name } = pool.metadata;
  const members = state.members(name);
  return {
    members,
    specErrors: state.poolIndex.errors(name),
    conflicts: conflictMessages(pool, state.lost(name), runtimeClass),
    differing,
    failures: [...new Set(messagesOf(unmet))],
    podCount: podsOn && members.reduce((sum, node) => sum + podsOn(node.name), 0),
    rollout: isPaused(pool)
      ? pausedProgress(name, differing.length, members.length)
      : step && rolloutProgress(name, step),
    // A node that fails during a pause may be gone at its end.
    stoppedRollouts: stoppedRollouts(pool, step),
    draining: drain && drainingText(drain),
    stuckStartup,
    withheld: withheldTaints(moves.filter(({ from, to }) => from === name && to === name)),
    contested,
  };
}
