/** STATUS of a pool as one word: by its current nodes if they were read, otherwise by its last status. */
import { isPaused, isStopped, progressOf } from '../rollout/rollout.ts';
import type { NodePool } from '../types.ts';
import { contestIn, isStale, releaseFailure, stuckStartupIn } from './status.ts';

/** Sorted by urgency for a person: views sort pools in this order. */
export const STATE_WORDS = [
  'Failing',
  'Invalid',
  'Conflict',
  'Stopped',
  'NotReady',
  'Deleting',
  'Contested',
  'StartupTaintsStuck',
  'Drifted',
  'Progressing',
  'Pending',
  'Paused',
  'Empty',
  'Ready',
] as const;

export type StateWord = (typeof STATE_WORDS)[number];

/** A pool with its current nodes. */
export interface LiveState {
  nodes: number;
  ready: number;
  /** Members that differ, and former members with leftovers: a reconcile changes them. */
  due: number;
  /** Of those, members on which somebody changed what the pool had set. */
  drifted: number;
  isInvalid: boolean;
  /** The pool matches nodes that another pool owns. */
  losesNodes: boolean;
  /** Startup taints have been on nodes for too long. */
  isStartupStuck: boolean;
  /** For a pool with spec.rollout. */
  rollout?: 'Progressing' | 'Stopped' | undefined;
}

/** The first applicable word in this order: a state that hides or stops the others comes first. */
export function stateWord(pool: NodePool, live: LiveState = lastState(pool)): StateWord {
  const { metadata, status } = pool;
  const code = isStale(pool) ? undefined : status?.status;
  if (metadata.deletionTimestamp !== undefined) return 'Deleting';
  if (live.isInvalid) return 'Invalid';
  // Until the next reconcile, whatever the nodes look like: only a message says what failed, and it may be no node.
  if (code !== undefined && ![200, 409, 422, 503].includes(code)) return 'Failing';
  if (live.losesNodes || (code === 409 && hasForeignClass(pool))) return 'Conflict';
  const isReconciled = status?.status !== undefined;
  if (!isReconciled) return isPaused(pool) ? 'Paused' : 'Pending';
  if (live.rollout === 'Stopped' && !isPaused(pool)) return 'Stopped';
  if (live.nodes > 0 && live.ready === 0) return 'NotReady';
  if (isPaused(pool)) return 'Paused';
  if (live.rollout === 'Progressing' || (live.due > 0 && isDraining(pool))) return 'Progressing';
  if (contestIn(status) !== undefined) return 'Contested';
  if (live.isStartupStuck) return 'StartupTaintsStuck';
  if (live.drifted > 0) return 'Drifted';
  // Nodes do not show whether the RuntimeClass has the handler of a new spec.
  if (live.due > 0 || (isStale(pool) && pool.spec.handler)) return 'Pending';
  return live.nodes === 0 ? 'Empty' : 'Ready';
}

/** `Ready`, or `Deleting,Failing` if a deletion is stuck. */
export function stateText(pool: NodePool, live?: LiveState): string {
  return releaseFailure(pool) === undefined ? stateWord(pool, live) : 'Deleting,Failing';
}

/** The code of the word that stateWord() returns for the current nodes; undefined before the first reconcile. */
export function liveCode(pool: NodePool, live: LiveState): number | undefined {
  const stored = pool.status?.status;
  const word = stateWord(pool, live);
  if (stored === undefined || word === 'Failing' || word === 'Deleting') return stored;
  return { Conflict: 409, Invalid: 422, NotReady: 503 }[word as string] ?? 200;
}

/** By the status only: drift is unknown, and of a spec that changed since, only that it changed. */
export function lastState(pool: NodePool): LiveState {
  const { status } = pool;
  const isOld = isStale(pool);
  const code = isOld ? undefined : status?.status;
  const { nodeCount = 0, updatedNodeCount = nodeCount } = status ?? {};
  const isProgressing = progressOf(pool)?.reason === 'RolloutInProgress';
  return {
    nodes: nodeCount,
    // The earlier operator did not count Ready nodes.
    ready: code === 503 ? 0 : (status?.readyNodeCount ?? nodeCount),
    due: isOld ? Math.max(nodeCount, 1) : nodeCount - updatedNodeCount,
    drifted: 0,
    isInvalid: code === 422,
    losesNodes: code === 409,
    isStartupStuck: stuckStartupIn(status) !== undefined,
    rollout: isOld ? undefined : isStopped(pool) ? 'Stopped' : isProgressing ? 'Progressing' : undefined,
  };
}

function hasForeignClass({ status }: NodePool): boolean {
  return (
    status?.conditions?.some(({ type, reason }) => type === 'Conflict' && reason === 'RuntimeClassConflict') ?? false
  );
}

/** Whether pods are being evicted before nodes get a taint. */
function isDraining(pool: NodePool): boolean {
  const isTrue = pool.status?.conditions?.some(({ type, status }) => type === 'Reconciling' && status === 'True');
  return !isStale(pool) && (isTrue ?? false);
}
