/** WriteRateLimiter for each kind of written object: when a write has to wait, and with which error. */
import type { ClusterPort } from '../../kube/cluster.ts';
import { ifRefused, NodepoolError } from '../../nodepool/errors.ts';
import type { Change } from '../../nodepool/plan/change.ts';
import { ellipsize } from '../../nodepool/text.ts';
import type { NodePool, ObjectMeta } from '../../nodepool/types.ts';
import type { ReconcilerOptions, WriterOptions } from '../options.ts';
import { throttledError, WriteError } from '../outcome.ts';
import { isRepair, managerOf, whatOf } from './contested-keys.ts';
import { MAX_WRITES, type WriteRateLimiter } from './rate-limiters.ts';

/** Maximum number of changes in the message. */
const MAX_NAMED = 3;
/** Maximum bytes of a value in the message; only annotations have longer ones. */
const MAX_VALUE_LENGTH = 200;

/** Throws WriteError if the node has to wait. */
export async function assertNodeFree(
  name: string,
  uid: string,
  changes: readonly Change[],
  { writeLimiter, cluster }: WriterOptions,
): Promise<void> {
  const verdict = writeLimiter.check(uid, changes);
  if (verdict.kind === 'free') return;
  if (verdict.kind === 'throttled') throw throttledError(verdict);
  const error = await limitError(name, changes, verdict.isContested, cluster);
  const retryAfterMs = writeLimiter.limited(uid, error, verdict.isContested);
  throw new WriteError(error, { retryAfterMs, isThrottled: false });
}

/** The error of a node that needs no write now, but that something else kept changing until a short while ago. */
export function contestedError(name: string, { state, writeLimiter }: WriterOptions): WriteError | undefined {
  const uid = state.node(name)?.uid;
  const contest = uid === undefined ? undefined : writeLimiter.contested(uid);
  return contest && throttledError(contest);
}

/** For a node at its limit of writes. @param isContested the writes repaired changes of other writers */
export async function limitError(
  node: string,
  changes: readonly Change[],
  isContested: boolean,
  cluster: ClusterPort,
): Promise<NodepoolError> {
  const limit = `node ${node} reached the limit of ${MAX_WRITES} writes within a minute`;
  const theirs = changes.filter(isRepair).slice(0, MAX_NAMED);
  const [first] = theirs;
  if (!isContested || first === undefined) {
    return new NodepoolError(
      'cluster',
      limit,
      "wait a minute, and find out what keeps changing the pool or the node's labels",
    );
  }
  const manager = await managerOf(node, first, cluster);
  const who = manager === undefined ? 'something else' : `something else (field manager ${manager})`;
  return new NodepoolError(
    'cluster',
    `${limit}: ${who} keeps ${theirs.map(describe).join(', ')}`,
    'stop that writer, or remove the keys that it changes from the pool',
  );
}

/** The change of others that this change repairs. */
function describe(change: Change): string {
  const { from, to } = change;
  const slot = whatOf(change);
  if (from === undefined) return `removing ${slot}`;
  const [theirs, ours] = [from, to ?? ''].map(value => ellipsize(value, MAX_VALUE_LENGTH));
  return to === undefined ? `setting ${slot} to "${theirs}"` : `changing ${slot} from "${ours}" to "${theirs}"`;
}

// Rate limit for the finalizer and our annotations of a pool: if something else keeps removing one, it would be written
// again at full speed. At most 10 writes a minute for each of them, then one a minute until it stays for 10 s
// (rate-limiters.ts). Normally, a pool needs two or three of these writes in total, and two for each change of its
// handler if others changed its RuntimeClass.

export interface MetadataField {
  /** For example `finalizer a/b`. */
  name: string;
  /** Path as in managedFields. */
  path: readonly string[];
}

/** Throws WriteError if the field has to wait. */
export async function assertMetadataFree(
  pool: NodePool,
  field: MetadataField,
  { cluster, writeLimiter }: ReconcilerOptions,
): Promise<void> {
  const key = metadataKey(pool, field);
  const state = writeLimiter?.check(key, []);
  if (writeLimiter === undefined || state === undefined || state.kind === 'free') return;
  if (state.kind === 'throttled') throw throttledError(state);
  const error = await removedError(pool, field, cluster);
  throw new WriteError(error, { retryAfterMs: writeLimiter.limited(key, error, true), isThrottled: false });
}

/** Throws WriteError if the field is present, but something else kept removing it until a short while ago. */
export function assertUncontested(pool: NodePool, field: MetadataField, { writeLimiter }: ReconcilerOptions): void {
  const contest = writeLimiter?.contested(metadataKey(pool, field));
  if (contest !== undefined) throw throttledError(contest);
}

/** The server accepted a write. */
export function metadataWritten(pool: NodePool, field: MetadataField, { writeLimiter }: ReconcilerOptions): void {
  writeLimiter?.written(metadataKey(pool, field), []);
}

async function removedError(
  { metadata: { name } }: NodePool,
  { name: what, path }: MetadataField,
  cluster: ClusterPort,
): Promise<NodepoolError> {
  // The name is optional. managedFields says who sets another value, not who removes the field.
  const manager = await cluster.pools.fieldManager(name, path).catch(ifRefused(undefined));
  const who = manager === undefined ? 'something else' : `something else (field manager ${manager})`;
  return new NodepoolError(
    'cluster',
    `${what} of pool ${name} reached the limit of ${MAX_WRITES} writes within a minute: ${who} keeps removing it`,
    'stop that writer; the audit log of the API server shows who patches and updates nodepools',
  );
}

function metadataKey({ metadata: { name, uid } }: NodePool, field: MetadataField): string {
  return `${field.name} of NodePool ${name} ${uid}`;
}

// RuntimeClasses.

/** Throws WriteError if the RuntimeClass has to wait. */
export function assertRuntimeClassFree(name: string, writeLimiter: WriteRateLimiter): void {
  const key = runtimeClassKey(name);
  const verdict = writeLimiter.check(key, []);
  if (verdict.kind === 'free') return;
  if (verdict.kind === 'throttled') throw throttledError(verdict);
  const error = new NodepoolError(
    'cluster',
    `RuntimeClass ${name} reached the limit of ${MAX_WRITES} writes within a minute`,
    `find out what keeps changing the RuntimeClass: kubectl get runtimeclass ${name} -o yaml --show-managed-fields`,
  );
  throw new WriteError(error, { retryAfterMs: writeLimiter.limited(key, error, false), isThrottled: false });
}

/** Call after an accepted write. @param altered the server's alteration, thrown with the delay of the next attempt */
export function runtimeClassWritten(
  name: string,
  altered: NodepoolError | undefined,
  writeLimiter: WriteRateLimiter,
): void {
  const key = runtimeClassKey(name);
  writeLimiter.written(key, []);
  if (altered !== undefined) throw alteredLater(key, altered, writeLimiter);
  writeLimiter.unaltered(key);
}

function runtimeClassKey(name: string): string {
  return `RuntimeClass ${name}`;
}

// Statuses. Only altered ones count here: StatusRateLimiter limits the others.

/** Throws WriteError if this status has to wait after an altered write. */
export function assertStatusFree(pool: ObjectMeta, writeLimiter: WriteRateLimiter): void {
  const verdict = writeLimiter.check(statusKey(pool), []);
  if (verdict.kind === 'throttled') throw throttledError(verdict);
}

/** Call after an accepted write. @param altered the server's alteration, returned with the delay */
export function statusWritten(
  pool: ObjectMeta,
  altered: NodepoolError | undefined,
  writeLimiter: WriteRateLimiter,
): WriteError | undefined {
  const key = statusKey(pool);
  if (altered === undefined) {
    writeLimiter.unaltered(key);
    return undefined;
  }
  writeLimiter.written(key, []);
  return alteredLater(key, altered, writeLimiter);
}

/** The status of a new generation does not wait for that of the previous generation. */
function statusKey({ name, uid, generation }: ObjectMeta): string {
  return `status of NodePool ${name} ${uid} ${generation}`;
}

function alteredLater(key: string, error: NodepoolError, writeLimiter: WriteRateLimiter): WriteError {
  return new WriteError(error, { retryAfterMs: writeLimiter.altered(key, [], error), isThrottled: false });
}
