/** Writes the status of a pool if it differs: as a whole, guarded by the pool's resourceVersion. */
import { conflictDelay } from '../../controller/backoff.ts';
import { NodepoolError, type Warning } from '../../nodepool/errors.ts';
import { deepEqual, isObject } from '../../nodepool/json.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import { computeStatus, type PoolObservation } from '../../nodepool/status/status.ts';
import { ellipsize } from '../../nodepool/text.ts';
import { timestamp } from '../../nodepool/timestamp.ts';
import type { NodePool, NodePoolStatus } from '../../nodepool/types.ts';
import { assertStatusFree, statusWritten } from '../limits/write-limits.ts';
import type { WriterOptions } from '../options.ts';
import {
  addFailure,
  addOnce,
  attemptWrite,
  retryWithin,
  specChangedFailure,
  type WriteFailure,
  type WriteOutcome,
} from '../outcome.ts';
import { noStatusSubresource, readPool } from '../state/live-reads.ts';
import { type AlteredField, alteredError } from './altered.ts';
import { writePool } from './pool-metadata.ts';

interface StatusOutcome extends WriteOutcome {
  status: NodePoolStatus | undefined;
  statusWritten: boolean;
  lacking: string[];
}

/** `throttled`: the rate limit does not allow a write now, and the outcome has the delay. */
export type StatusWrite = 'written' | 'failed' | 'throttled';

const MAX_ATTEMPTS = 10;

/** Sets the outcome's status (undefined if the pool is gone or replaced), missing CRD fields, and a failed write. */
export async function writeStatus(
  pool: NodePool,
  observed: PoolObservation,
  outcome: StatusOutcome,
  options: WriterOptions,
): Promise<StatusWrite> {
  let result: StatusWrite = 'failed';
  const refused = await attemptWrite(outcome, async () => {
    result = await write(pool, observed, outcome, options);
  });
  const changed = outcome.status === undefined ? undefined : specChanged(pool, options);
  if (changed !== undefined) addOnce(outcome.failures, changed);
  if (refused === undefined) return result;
  const failures = [...observed.failures, refused.oneLine];
  outcome.status = computeStatus(pool, { ...observed, failures }, timestamp(options.now()));
  return 'failed';
}

/** Without caches, reads the pool if nodes were written, even for an equal status: it may have been deleted. */
async function write(
  pool: NodePool,
  observed: PoolObservation,
  outcome: StatusOutcome,
  options: WriterOptions,
): Promise<'written' | 'throttled'> {
  const { cluster, state, limitObjects, now, sleep, hasCaches = false, statusLimiter, writeLimiter } = options;
  const { metadata, spec } = pool;
  const { name, uid, generation = 0 } = metadata;
  const read = () => limitObjects(() => readPool(name, uid, options));
  const done = (status: NodePoolStatus | undefined) => {
    outcome.status = status;
    return 'written' as const;
  };
  let current = pool;
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    // The observation belongs to the reconciled spec; conditions of other controllers come from the current status.
    const status = computeStatus({ ...current, metadata, spec }, observed, timestamp(now()));
    // Before the comparison: an earlier write without a response may have stored another status.
    state.expectStatus(name, status);
    if (deepEqual(current.status, status)) {
      const isDeleted = metadata.deletionTimestamp !== undefined;
      if (attempt > 1 || outcome.moves.length === 0 || hasCaches || isDeleted) return done(status);
      return done(isSame(pool, await read()) ? status : undefined);
    }
    const waitMs = statusLimiter?.wait(metadata) ?? 0;
    if (waitMs > 0) {
      retryWithin(waitMs, outcome);
      return 'throttled';
    }
    assertStatusFree(metadata, writeLimiter);
    const write = await limitObjects(() =>
      writePool(current, () => cluster.pools.patchStatus(current, status), options),
    );
    if (write.kind === 'written') {
      // If the CRD drops all differences, the resourceVersion does not change.
      outcome.statusWritten = write.pool.metadata.resourceVersion !== current.metadata.resourceVersion;
      statusLimiter?.written(metadata);
      state.setPool(write.pool);
      outcome.lacking = lackingFields(status, write.pool.status);
      if (!isSame(pool, write.pool)) return done(undefined);
      const next = computeStatus({ ...write.pool, metadata, spec }, observed, timestamp(now()));
      const altered = alteredFields({ sent: status, next }, write.pool.status, outcome.lacking);
      const alteration = altered.length === 0 ? undefined : alteredError(`the status of pool ${name}`, altered);
      const error = statusWritten(metadata, alteration, writeLimiter);
      if (error !== undefined) addFailure(outcome, error);
      return done(status);
    }
    await sleep(conflictDelay(attempt));
    const latest = await read();
    if (latest === undefined || !isSame(pool, latest)) return done(undefined);
    if (write.kind === 'gone') {
      outcome.lacking = [STATUS_SUBRESOURCE];
      throw noStatusSubresource(name);
    }
    assertWhole(latest);
    // Another process has reconciled a later generation: keep its status.
    if (latest.status !== undefined && (latest.status.observedGeneration ?? 0) > generation) return done(latest.status);
    current = latest;
  }
  throw new NodepoolError('cluster', `cannot write the status of pool ${name}: somebody else keeps changing the pool`);
}

/** Without caches, no later reconcile applies a spec that changed during this one. */
function specChanged({ metadata }: NodePool, { state, hasCaches = false }: WriterOptions): WriteFailure | undefined {
  const { name, uid, generation = 0 } = metadata;
  const latest = state.pool(name)?.metadata;
  if (hasCaches || latest === undefined || latest.uid !== uid || (latest.generation ?? 0) <= generation)
    return undefined;
  // The spec of a deleted pool is not applied any more.
  if (metadata.deletionTimestamp !== undefined) return undefined;
  return specChangedFailure(name);
}

/** Whether the latest pool has the UID of the reconciled one, and no deletion began since. */
function isSame({ metadata: { uid, deletionTimestamp } }: NodePool, latest: NodePool | undefined): boolean {
  return latest?.metadata.uid === uid && latest?.metadata.deletionTimestamp === deletionTimestamp;
}

// Differences between the stored status and the sent one.

/** Maximum bytes of a value in a message. */
const MAX_VALUE_LENGTH = 200;

/** Differences from the sent status, without fields that the CRD drops. @param next ignores what it takes from it */
export function alteredFields(
  { sent, next }: { sent: NodePoolStatus; next: NodePoolStatus },
  kept: NodePoolStatus | undefined,
  lacking: readonly string[],
): AlteredField[] {
  if (deepEqual(sent, kept)) return [];
  const [before, found, desired] = [fields(sent), fields(kept), fields(next)];
  return [...new Set([...before.keys(), ...found.keys()])]
    .filter(name => before.get(name) !== found.get(name) && desired.get(name) !== found.get(name))
    .filter(name => found.has(name) || !isDropped(name, lacking))
    .map(name => ({ name, sent: before.get(name), found: found.get(name) }));
}

/** All values by path: `status.nodeCount`, `status.conditions[Ready].reason`. */
function fields(value: unknown, path = 'status', into = new Map<string, string>()): Map<string, string> {
  if (Array.isArray(value)) {
    for (const [at, item] of value.entries()) {
      const type: unknown = isObject(item) ? item.type : undefined;
      fields(item, `${path}[${typeof type === 'string' ? type : at}]`, into);
    }
  } else if (isObject(value)) {
    for (const [key, item] of Object.entries(value)) fields(item, `${path}.${key}`, into);
  } else if (value !== undefined) into.set(path, ellipsize(String(value), MAX_VALUE_LENGTH));
  return into;
}

// Fields of the status that the server drops, because the CRD has another version.

const RESOURCES = 'status.allocatable';
export const STATUS_SUBRESOURCE = 'subresources.status';
/** No decision of this program depends on this field. */
export const UPDATED_COUNT = 'status.updatedNodeCount';

/** Paths that were sent but are not in the response: `status.conditions`, `status.conditions[].reason`. */
export function lackingFields(sent: NodePoolStatus, kept: NodePoolStatus | undefined): string[] {
  return [...new Set(missingIn(sent, kept ?? {}, 'status'))];
}

/** @param field of a missing value, as `status.conditions[Ready].reason` @param lacking see lackingFields() */
function isDropped(field: string, lacking: readonly string[]): boolean {
  const path = field.replace(/^(status\.conditions)\[[^\]]*\]/, '$1[]');
  return lacking.some(each => path === each || path.startsWith(`${each}.`) || path.startsWith(`${each}[`));
}

/** Fields that the server drops silently; a subresource that is not served is a separate failure. */
export function droppedFields(lacking: readonly string[]): string[] {
  return lacking.filter(path => path !== STATUS_SUBRESOURCE);
}

/** @param lacking for any number of pools; at least one */
export function lackingWarning(lacking: readonly string[]): Warning {
  const crd = 'the CRD nodepools.nodes.lailin.xyz';
  const what = lacking.includes(STATUS_SUBRESOURCE)
    ? 'serves no status subresource: the status of pools cannot be written'
    : `is from another version and drops ${[...new Set(lacking)].toSorted().join(', ')}`;
  return { message: `${crd} ${what}`, next: 'run `kubectl nodepool install`' };
}

function missingIn(sent: unknown, kept: unknown, path: string): string[] {
  if (Array.isArray(sent)) {
    if (!Array.isArray(kept)) return [path];
    // A schema drops no items, so a policy or webhook removed the missing item.
    return sent.flatMap((item, at) => (kept[at] === undefined ? [] : missingIn(item, kept[at], `${path}[]`)));
  }
  if (!isObject(sent)) return [];
  if (!isObject(kept)) return [path];
  if (path === RESOURCES) {
    // Keys of a map: a schema keeps or drops all of them.
    return Object.keys(sent).length > 0 && Object.keys(kept).length === 0 ? [path] : [];
  }
  return Object.entries(sent).flatMap(([key, value]) => {
    const field = `${path}.${key}`;
    return kept[key] === undefined ? [field] : missingIn(value, kept[key], field);
  });
}
