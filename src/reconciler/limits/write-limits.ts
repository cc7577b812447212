/** WriteRateLimiter for nodes, and for the finalizer and our annotations of a pool: when each has to wait, and with which error. */
import type { ClusterPort, NodePoolsClient } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type Change, dueOf, type WritePlan } from '../../nodepool/plan/plan.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import { type NodeMove, NodeWriteError, throttledError } from '../outcome.ts';
import { nodePlan, patchedNode } from '../plan/node-plan.ts';
import type { ClusterState } from '../state/cluster-state.ts';
import { alteredError, alteredSlots, limitError } from '../write/write-errors.ts';
import { MAX_WRITES, type WriteRateLimiter } from './rate-limiters.ts';

/** Of one node; after a write also whether the server stored what it was sent. */
export class NodeWriteLimits {
  readonly #state: ClusterState;
  readonly #cluster: Pick<ClusterPort, 'nodes'>;
  readonly #limiter: WriteRateLimiter;

  constructor(state: ClusterState, cluster: Pick<ClusterPort, 'nodes'>, limiter: WriteRateLimiter) {
    this.#state = state;
    this.#cluster = cluster;
    this.#limiter = limiter;
  }

  /** The error of a node that needs no write now, and that something else kept changing until a short while ago. */
  contested(name: string): NodeWriteError | undefined {
    const uid = this.#state.node(name)?.uid;
    const contest = uid === undefined ? undefined : this.#limiter.contested(uid);
    return contest && throttledError(contest);
  }

  /** Throws NodeWriteError when the node has to wait. */
  async assertFree(name: string, uid: string, changes: Change[]): Promise<void> {
    const verdict = this.#limiter.check(uid, changes);
    if (verdict.kind === 'free') return;
    if (verdict.kind === 'throttled') throw throttledError(verdict);
    const error = await limitError(name, changes, verdict.isContested, this.#cluster.nodes);
    throw new NodeWriteError(error, {
      retryAfterMs: this.#limiter.limited(uid, error, verdict.isContested),
      isThrottled: false,
    });
  }

  /** Counts a write. Throws NodeWriteError when the server stored something else than it was sent. */
  written(plan: WritePlan, answer: Node, uid: string, move: NodeMove, before: NodeMove | undefined): void {
    this.#limiter.written(uid, plan.changes);
    const state = this.#state;
    const next = () => nodePlan(state, plan.node.name);
    const givesAway = state.poolIndex.ownership(answer).owner !== plan.owner;
    const decides = (label: string) => givesAway && state.poolIndex.affectsMembership({ [label]: true });
    const altered = alteredSlots(plan, answer, next, decides);
    if (altered.length === 0) {
      this.#limiter.unaltered(uid);
      return;
    }
    const error = alteredError(`node ${plan.node.name}`, altered);
    const retryAfterMs = this.#limiter.altered(uid, dueOf(next())?.changes ?? [], error);
    // The move is reported without its changes, which the server altered: the pool that owns the node is right.
    const isMoved = move.from !== move.to && answer.record === patchedNode(plan.node, plan.patch).record;
    throw new NodeWriteError(error, {
      retryAfterMs,
      isThrottled: false,
      move: isMoved ? { ...move, changes: before?.changes ?? [] } : undefined,
    });
  }
}

// Rate limit of the finalizer and of our annotations of a pool: where something else keeps removing one, it would be
// written again as fast as it is removed. At most 10 writes a minute for each of them, then one a
// minute until it stays for 10 s (rate-limiters.ts). A pool needs two or three of these writes in its life, and two for
// each change of its handler where others changed its RuntimeClass.

/** The field that is written. */
export interface MetadataField {
  /** As `finalizer a/b`. */
  name: string;
  /** As managedFields have it. */
  path: readonly string[];
}

interface Deps {
  cluster: { pools: Pick<NodePoolsClient, 'fieldManager'> };
  /** Undefined: the write is not rate limited. */
  writeLimiter?: WriteRateLimiter;
}

/** Throws NodeWriteError when the field has to wait. */
export async function assertMetadataFree(
  pool: NodePool,
  field: MetadataField,
  { cluster, writeLimiter }: Deps,
): Promise<void> {
  const key = keyOf(pool, field);
  const state = writeLimiter?.check(key, []);
  if (writeLimiter === undefined || state === undefined || state.kind === 'free') return;
  if (state.kind === 'throttled') throw throttledError(state);
  const error = await removedError(pool, field, cluster);
  throw new NodeWriteError(error, { retryAfterMs: writeLimiter.limited(key, error, true), isThrottled: false });
}

/** Throws NodeWriteError for a field that is there now, and that something else kept removing a short while ago. */
export function assertUncontested(
  pool: NodePool,
  field: MetadataField,
  { writeLimiter }: Pick<Deps, 'writeLimiter'>,
): void {
  const contest = writeLimiter?.contested(keyOf(pool, field));
  if (contest !== undefined) throw throttledError(contest);
}

/** The server accepted a write. */
export function metadataWritten(
  pool: NodePool,
  field: MetadataField,
  { writeLimiter }: Pick<Deps, 'writeLimiter'>,
): void {
  writeLimiter?.written(keyOf(pool, field), []);
}

async function removedError(
  { metadata: { name } }: NodePool,
  { name: what, path }: MetadataField,
  cluster: Deps['cluster'],
): Promise<NodepoolError> {
  // The name is optional in the message. managedFields has who sets another value, not who removes the field.
  const manager = await cluster.pools.fieldManager(name, path).catch((error: unknown) => {
    if (error instanceof NodepoolError) return undefined;
    throw error;
  });
  const who = manager === undefined ? 'something else' : `something else (field manager ${manager})`;
  return new NodepoolError(
    'cluster',
    `${what} of nodepool ${name} was written ${MAX_WRITES} times within a minute, which is the limit: ${who} keeps removing it`,
    'stop it; the audit log of the API server has who patches and updates nodepools',
  );
}

function keyOf({ metadata: { name, uid } }: NodePool, field: MetadataField): string {
  return `${field.name} of NodePool ${name} ${uid}`;
}
