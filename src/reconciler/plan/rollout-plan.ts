/** Rollout state of the members, and the next nodes, from the cluster state and the writes of this process. */
import { isRolloutStep } from '../../nodepool/plan/plan.ts';
import type { AppliedRecord } from '../../nodepool/plan/record.ts';
import { isGradual, type RecordedMember } from '../../nodepool/plan/runtime-class.ts';
import { isBeingRemoved, isInterrupted } from '../../nodepool/plan/transient-states.ts';
import { progressOf, rolloutHash, stoppedRollout } from '../../nodepool/rollout/rollout.ts';
import {
  isTooFarAhead,
  type RolloutNode,
  type RolloutStep,
  type RolloutStop,
  rolloutStep,
} from '../../nodepool/rollout/rollout-step.ts';
import { parseTime } from '../../nodepool/timestamp.ts';
import { type Node, type NodePool, RESUMED_ANNOTATION } from '../../nodepool/types.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { hasTurned, type RolloutSightings } from '../state/rollout-sightings.ts';
import { nodePlan, rulesFor } from './node-plan.ts';

/** What this process knows that the nodes do not have. */
export interface RolloutWrites {
  /** Nodes that are being written, each with its generation. */
  underWay: ReadonlyMap<string, number | undefined>;
  /** Nodes whose last write failed. */
  refused: { has(node: string): boolean };
  /** Undefined if nothing was observed before. */
  sightings?: RolloutSightings;
  /** A stop that may not be in the status yet. */
  stop?: RolloutStop | undefined;
}

const NONE: ReadonlyMap<string, number | undefined> = new Map();
const NO_WRITES: RolloutWrites = { underWay: NONE, refused: new Set() };

/** For a pool with spec.rollout. */
export function rolloutStepOf(
  state: ClusterState,
  pool: NodePool,
  now: Date,
  writes: RolloutWrites = NO_WRITES,
): RolloutStep {
  const { metadata, spec } = pool;
  const members = state.members(metadata.name);
  const latest = latestOther(state, pool, members);
  const nodes = members.map(node => nodeOf(state, pool, node, now.getTime(), latest, writes));
  writes.sightings?.keep(metadata.name, members);
  return rolloutStep(nodes, spec.rollout ?? {}, {
    now: now.getTime(),
    resumed: timeOf(metadata.annotations?.[RESUMED_ANNOTATION]),
    ...before(pool, writes.stop, now.getTime()),
  });
}

/** The latest generation of another spec in a member's record, ignoring an earlier pool of that name. */
function latestOther(state: ClusterState, pool: NodePool, members: readonly Node[]): number {
  const [hash, current] = [rolloutHash(pool), pool.metadata.generation ?? 0];
  let latest = 0;
  for (const { name } of members) {
    const { rollout, generation = 0 } = recordOf(state, name, pool.metadata.name) ?? {};
    const isOther = rollout !== undefined && rollout !== hash && generation <= current;
    if (isOther) latest = Math.max(latest, generation);
  }
  return latest;
}

function nodeOf(
  state: ClusterState,
  pool: NodePool,
  node: Node,
  now: number,
  latest: number,
  { underWay, refused, sightings }: RolloutWrites,
): RolloutNode {
  const { name, ready, readySince: seconds } = node;
  const { generation } = pool.metadata;
  const record = recordOf(state, name, pool.metadata.name);
  const isPending = isRolloutStep(nodePlan(state, name));
  // A time too far in the future is ignored: a stop at that time could not be resumed.
  const readySince = seconds === undefined || isTooFarAhead(seconds * 1000, now) ? undefined : seconds * 1000;
  const isRefused = refused.has(name);
  const isThis = record?.rollout === rolloutHash(pool);
  const changed = timeOf(record?.changed);
  const isOfEarlier = record?.generation !== undefined && record.generation < latest;
  const isLeaving = node.deletionTimestamp !== undefined || isBeingRemoved(node, pool, record);
  const seen = sightings?.see(pool.metadata.name, node, record, now);
  const readyAgo = seen === undefined ? {} : { readyAgo: seen.readyAgo };
  const known = {
    name,
    ready,
    readySince,
    isRefused,
    isOfEarlier,
    isLeaving,
    ...readyAgo,
    isInterrupted: !ready && isInterrupted(node, pool, rulesFor(state, undefined, pool).transient ?? [], record),
  };
  const isDraining = isPending && record?.draining !== undefined && record.changed !== undefined;
  if (underWay.has(name)) {
    const isCurrent = underWay.get(name) === generation;
    return {
      ...known,
      isUnderWay: true,
      changed: now,
      wasNotReady: isDraining ? wasNotReady(record, readySince, now) && (ready || !seen?.wasReady) : !ready,
      isOfThis: isCurrent || (isDraining && isThis),
      isPending: isDraining || (!isCurrent && isPending),
      isDraining,
    };
  }
  return {
    ...known,
    changed,
    ...(seen?.changedAgo === undefined ? {} : { changedAgo: seen.changedAgo }),
    wasNotReady: wasNotReady(record, readySince, changed) && (ready || !(seen?.wasReady ?? hasTurned(node, changed))),
    isOfThis: isThis,
    isPending,
    // No rollout has changed a node that joined.
    hasSpec: !isDraining && (isThis || (generation !== undefined && record?.generation === generation)),
    isDraining,
  };
}

/** A record of another pool does not belong to this rollout. */
export function recordOf(state: ClusterState, node: string, pool: string): AppliedRecord | undefined {
  const record = state.ownership(node)?.record;
  return record?.pool === pool ? record : undefined;
}

/** Records of earlier versions have no wasNotReady: compare the times, if the clocks agree. */
function wasNotReady(record: AppliedRecord | undefined, readySince = 0, changed = 0): boolean {
  return record?.rollout === undefined ? readySince < changed : record.wasNotReady === true;
}

/** The state at the last reconcile. @param known a stop that this process knows */
function before(
  pool: NodePool,
  known: RolloutStop | undefined,
  now: number,
): { wasComplete: boolean; stopped: RolloutStop | undefined } {
  const found = progressOf(pool);
  const reason = found?.observedGeneration === pool.metadata.generation ? found?.reason : undefined;
  // Written by an earlier version, or with a CRD that drops the field.
  const at = reason === 'RolloutStopped' ? timeOf(found?.lastTransitionTime) : undefined;
  const told = at === undefined ? undefined : { at, nodes: [] };
  const stopped = known ?? stoppedRollout(pool) ?? told;
  const isAhead = stopped !== undefined && isTooFarAhead(stopped.at, now);
  return { wasComplete: reason === 'RolloutComplete', stopped: isAhead ? { ...stopped, at: 0 } : stopped };
}

function timeOf(text: string | undefined): number | undefined {
  const time = parseTime(text);
  return Number.isNaN(time) ? undefined : time;
}

/** Members with the values of earlier rollouts. New nodes are left out, as they get the full spec at once. */
export function recordedMembers(pool: NodePool, state: ClusterState): RecordedMember[] {
  const { name } = pool.metadata;
  if (!isGradual(pool)) return [];
  return state.members(name).flatMap(node => {
    const record = node.birthRecord === 'record' ? undefined : recordOf(state, node.name, name);
    return record === undefined ? [] : { record, taints: node.taints };
  });
}
