/** Which nodes are next, and what members have of the spec, by the cluster state and this process's writes. */
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

/** What this process knows, and the nodes do not say. */
export interface RolloutWrites {
  /** Nodes that are being changed, each for which generation. */
  underWay: ReadonlyMap<string, number | undefined>;
  /** Nodes whose last write failed. */
  refused: { has(node: string): boolean };
  /** Undefined where nothing was seen before. */
  sightings?: RolloutSightings;
  /** A stop that the status may not have yet. */
  stop?: RolloutStop | undefined;
}

const NONE: ReadonlyMap<string, number | undefined> = new Map();
const NO_WRITES: RolloutWrites = { underWay: NONE, refused: new Set() };

/** Of a pool with spec.rollout. */
export function stepOf(state: ClusterState, pool: NodePool, now: Date, writes: RolloutWrites = NO_WRITES): RolloutStep {
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

/** The latest generation of another spec that a rollout has brought to a member. Those of an earlier pool of the name do not count. */
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
  // A time too far ahead is none: a stop by it could not be resumed.
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

/** What another pool remembers of the node is not of this rollout. */
export function recordOf(state: ClusterState, node: string, pool: string): AppliedRecord | undefined {
  const record = state.ownership(node)?.record;
  return record?.pool === pool ? record : undefined;
}

/** An earlier version did not note it: then by the times, as far as the clocks agree. */
function wasNotReady(record: AppliedRecord | undefined, readySince = 0, changed = 0): boolean {
  return record?.rollout === undefined ? readySince < changed : record.wasNotReady === true;
}

/** What the last reconcile found. @param known a stop that this process knows */
function before(
  pool: NodePool,
  known: RolloutStop | undefined,
  now: number,
): { wasComplete: boolean; stopped: RolloutStop | undefined } {
  const found = progressOf(pool);
  const reason = found?.observedGeneration === pool.metadata.generation ? found?.reason : undefined;
  // Of an earlier version, or where the CRD drops the field.
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

/** Members by what a rollout has brought to them. A node that joins, or was born in the pool, gets all of the spec at once. */
export function recordedMembers(pool: NodePool, state: ClusterState): RecordedMember[] {
  const { name } = pool.metadata;
  if (!isGradual(pool)) return [];
  return state.members(name).flatMap(node => {
    const record = node.birthRecord === 'record' ? undefined : recordOf(state, node.name, name);
    return record === undefined ? [] : { record, taints: node.taints };
  });
}
