/** What the server stored of a status differs from what was sent, and when that status may be written again. */
import { ellipsize } from '../../nodepool/cut-bytes.ts';
import { isObject } from '../../nodepool/json.ts';
import { deepEqual } from '../../nodepool/merge-patch.ts';
import type { NodePoolStatus, ObjectMeta } from '../../nodepool/types.ts';
import type { WriteRateLimiter } from '../limits/write-rate-limiter.ts';
import { type Altered, alteredError } from './altered.ts';
import { heldBack, NodeWriteError } from './node-write-error.ts';
import { isDropped } from './status-fields.ts';

/** Bytes of a value in a message. */
const MAX_VALUE_LENGTH = 200;

/**
 * Fields whose value differs from what was sent, or that the server added. What its CRD drops is not among them.
 * @param next the status that would be written now: what it takes over from the answer is ignored
 */
export function alteredFields(
  { sent, next }: { sent: NodePoolStatus; next: NodePoolStatus },
  kept: NodePoolStatus | undefined,
  lacking: readonly string[],
): Altered[] {
  if (deepEqual(sent, kept)) return [];
  const [before, found, wanted] = [fields(sent), fields(kept), fields(next)];
  return [...new Set([...before.keys(), ...found.keys()])]
    .filter(name => before.get(name) !== found.get(name) && wanted.get(name) !== found.get(name))
    .filter(name => found.has(name) || !isDropped(name, lacking))
    .map(name => ({ name, sent: before.get(name), found: found.get(name) }));
}

/** Throws NodeWriteError when this status has to wait after an altered write. */
export function assertStatusFree(pool: ObjectMeta, writeLimiter: WriteRateLimiter): void {
  const state = writeLimiter.check(keyOf(pool), []);
  if (state.kind === 'held') throw heldBack(state);
}

/** The error, with the delay of the next attempt: without a delay, each would be altered again. */
export function alteredStatus(
  pool: ObjectMeta,
  altered: readonly Altered[],
  writeLimiter: WriteRateLimiter,
): NodeWriteError | undefined {
  const key = keyOf(pool);
  if (altered.length === 0) {
    writeLimiter.unaltered(key);
    return undefined;
  }
  const error = alteredError(`the status of nodepool ${pool.name}`, altered);
  writeLimiter.written(key, []);
  return new NodeWriteError(error, { retryAfterMs: writeLimiter.altered(key, [], error), isHeldBack: false });
}

/** The status of a new generation does not wait for that of the one before. */
function keyOf({ name, uid, generation }: ObjectMeta): string {
  return `status of NodePool ${name} ${uid} ${generation}`;
}

/** Every value by its path: `status.nodeCount`, `status.conditions[Ready].reason`. */
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
