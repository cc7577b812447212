/** The progress of a spec on its pool's nodes, as `kubectl rollout status` reports it for a Deployment. */
import { isStopped, progressOf } from '../../nodepool/rollout/rollout.ts';
import { troubleIn } from '../../nodepool/status/status.ts';
import { ellipsize, plural } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';

/** In bytes. The server's message may have any length. */
const MAX_TEXT = 1024;

export interface RolloutState {
  kind: 'done' | 'waiting' | 'failed';
  /** One line. */
  text: string;
}

/** From the status, also for a pool without spec.rollout. */
export function rolloutState(pool: NodePool): RolloutState {
  const { kind, text } = stateOf(pool);
  return { kind, text: ellipsize(text, MAX_TEXT) };
}

/** If a reconcile would still change nodes. @param due may include former members */
export function withDueNodes({ metadata: { name } }: NodePool, { nodes, due }: { nodes: number; due: number }) {
  const updated = Math.max(0, nodes - due);
  const text = `Waiting for nodepool "${name}" rollout to finish: ${updated} of ${plural(nodes, 'node')} updated...`;
  return { kind: 'waiting', text } as const;
}

function stateOf(pool: NodePool): RolloutState {
  const { metadata, status } = pool;
  const { name, generation } = metadata;
  const waitingFor = (what: string): RolloutState => ({
    kind: 'waiting',
    text: `Waiting for nodepool "${name}" ${what}...`,
  });
  const waiting = (what: string) => waitingFor(`rollout to finish: ${what}`);
  if (metadata.deletionTimestamp !== undefined) return { kind: 'failed', text: `nodepool "${name}" is being deleted` };
  if (status?.observedGeneration !== generation || status?.status === undefined)
    return waitingFor('spec update to be observed');
  const stalled = status.conditions?.find(({ type, status: value }) => type === 'Stalled' && value === 'True');
  if (stalled?.reason === 'RolloutStopped' && !isStopped(pool)) return waitingFor('resume to be observed');
  // A failed write is retried.
  if (stalled !== undefined && status.status !== 500)
    return { kind: 'failed', text: `nodepool "${name}": ${stalled.message}` };
  // Waiting does not help: a user has to change one of the pools, or the RuntimeClass.
  const conflict = status.conditions?.find(({ type, status: value }) => type === 'Conflict' && value === 'True');
  if (conflict !== undefined && status.status === 409)
    return { kind: 'failed', text: `nodepool "${name}": ${conflict.message}` };
  const progress = progressOf(pool);
  const done: RolloutState = { kind: 'done', text: `nodepool "${name}" successfully rolled out` };
  if (progress?.reason === 'RolloutInProgress') return waiting(progress.message);
  const { nodeCount, updatedNodeCount = nodeCount } = status;
  if (updatedNodeCount >= nodeCount && status.status !== 500) return done;
  if (progress?.reason === 'RolloutComplete' && status.status !== 500) return done;
  if (progress?.reason === 'Paused') return waiting(progress.message);
  return waiting(troubleIn(status)?.message ?? `${updatedNodeCount} of ${nodeCount} nodes updated`);
}
