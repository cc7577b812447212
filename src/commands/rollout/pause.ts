import type { NodesClient, RawPool } from '../../kube/cluster.ts';
import { ifRefused, NodepoolError } from '../../nodepool/errors.ts';
import { applyMergePatch } from '../../nodepool/json.ts';
import { parseRecord } from '../../nodepool/plan/record.ts';
import { isBeingRemoved } from '../../nodepool/plan/transient-states.ts';
import { progressOf, stoppedRollout } from '../../nodepool/rollout/rollout.ts';
import { isTooFarAhead } from '../../nodepool/rollout/rollout-step.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import { parseTime, timestamp } from '../../nodepool/timestamp.ts';
import { GROUP, type Node, type NodePool, RESUMED_ANNOTATION } from '../../nodepool/types.ts';
import { agreedTo } from '../shared/edit/edit.ts';
import { patchPool } from '../shared/edit/guarded-patch.ts';
import { type EditOptions, proposeEdit } from '../shared/edit/plan-edit.ts';
import { existingPool } from '../shared/pools/not-found.ts';

/** Resuming also continues a stopped rollout. Throws if there is nothing to do. Asks if an edit would ask. */
export async function setPaused(
  name: string,
  paused: boolean,
  { now, ...options }: EditOptions & { now: () => Date },
): Promise<RawPool> {
  const { cluster, approve, warn } = options;
  const propose = async () => {
    const before = await existingPool('rollout', name, cluster);
    assertWhole(coercePool(before));
    const patch = paused ? pausing(before) : await resuming(before, cluster.nodes, now());
    const after = applyMergePatch(before, patch) as RawPool;
    const { warnings, ...proposal } = await proposeEdit(before, after, options);
    warn(warnings);
    return { before, after, patch, ...proposal, action: `${paused ? 'Pause' : 'Resume'} pool ${name}` };
  };
  const { pool } = await patchPool(name, 'rollout', options, () => agreedTo(propose, approve));
  return pool;
}

function pausing({ metadata, spec }: RawPool): Record<string, unknown> {
  if (spec.paused === true) throw new NodepoolError('input', `nodepools.${GROUP} "${metadata.name}" is already paused`);
  return { spec: { paused: true } };
}

async function resuming(pool: RawPool, nodes: Pick<NodesClient, 'list'>, now: Date): Promise<Record<string, unknown>> {
  const { metadata, spec } = pool;
  if (spec.paused === true) return { spec: { paused: null } };
  const coerced = coercePool(pool);
  const progress = progressOf(coerced);
  const isStopped = progress?.reason === 'RolloutStopped';
  const last = parseTime(metadata.annotations?.[RESUMED_ANNOTATION]);
  const resumed = isTooFarAhead(last, now.getTime()) ? Number.NaN : last;
  const times =
    isStopped || progress?.reason === 'RolloutInProgress'
      ? (await notReadySince(coerced, nodes, isStopped)).filter(since => !(since <= resumed))
      : [];
  if (!isStopped && times.length === 0) {
    throw new NodepoolError('input', `nodepools.${GROUP} "${metadata.name}" is not paused or stopped`);
  }
  if (isStopped) times.push(parseTime(progress.lastTransitionTime), stoppedRollout(coerced)?.at ?? Number.NaN);
  // Timestamps of the cluster, because the local clock may be wrong.
  const until = Math.max(...times.filter(time => !Number.isNaN(time) && !isTooFarAhead(time, now.getTime())));
  const date = Number.isFinite(until) ? new Date(until) : now;
  return { metadata: { annotations: { [RESUMED_ANNOTATION]: timestamp(date) } } };
}

/** Times (ms) since when changed nodes, or all nodes if none is Ready, are NotReady. @param isStopped reads less */
async function notReadySince(pool: NodePool, nodes: Pick<NodesClient, 'list'>, isStopped: boolean): Promise<number[]> {
  const listed = nodes.list();
  const found = await (isStopped ? listed.catch(ifRefused<Node[]>([])) : listed);
  const owned = found.flatMap(node => {
    const { ready, readySince = 0 } = node;
    const applied = parseRecord(node.record);
    if (applied?.pool !== pool.metadata.name) return [];
    const isUp = ready && node.deletionTimestamp === undefined && !isBeingRemoved(node, pool, applied);
    return { ready, readySince, isUp, isChanged: applied.changed !== undefined };
  });
  // In this case no node can be the canary.
  const isNoneUp = !isStopped && !owned.some(({ isUp }) => isUp);
  return owned.flatMap(node => (!node.ready && (node.isChanged || isNoneUp) ? node.readySince * 1000 : []));
}
