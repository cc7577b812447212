/**
 * Rate limit of the finalizer and of our annotations of a pool: where something else keeps removing one, it would be
 * written again as fast as it is removed. At most 10 writes a minute for each of them, then one a
 * minute until it stays for 10 s (write-rate-limiter.ts). A pool needs two or three of these writes in its life, and two for
 * each change of its handler where others changed its RuntimeClass.
 */

import type { NodePoolsClient } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { heldBack, NodeWriteError } from '../write/node-write-error.ts';
import { MAX_WRITES, type WriteRateLimiter } from './write-rate-limiter.ts';

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
  if (state.kind === 'held') throw heldBack(state);
  const error = await removedError(pool, field, cluster);
  throw new NodeWriteError(error, { retryAfterMs: writeLimiter.limited(key, error, true), isHeldBack: false });
}

/** Throws NodeWriteError for a field that is there now, and that something else kept removing a short while ago. */
export function assertUncontested(
  pool: NodePool,
  field: MetadataField,
  { writeLimiter }: Pick<Deps, 'writeLimiter'>,
): void {
  const held = writeLimiter?.contested(keyOf(pool, field));
  if (held !== undefined) throw heldBack(held);
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
