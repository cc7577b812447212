/** A failed node write that must not be retried at once, or that followed a write of the same call. */
import type { NodesClient } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type Change, fieldPath } from '../../nodepool/plan/change.ts';
import { ellipsize } from '../../nodepool/text.ts';
import { type Held, MAX_WRITES } from '../limits/write-rate-limiter.ts';
import type { NodeMove } from '../plan/node-move.ts';

export class NodeWriteError extends NodepoolError {
  /** Undefined where it may be retried at any time. */
  readonly retryAfterMs: number | undefined;
  readonly isHeldBack: boolean;
  /** What was written before the failure. */
  readonly move: NodeMove | undefined;

  constructor(
    error: NodepoolError,
    options: { retryAfterMs: number | undefined; isHeldBack: boolean; move?: NodeMove | undefined },
  ) {
    const { kind, lines, next, isGeneral, isTransient, isPermanent } = error;
    const [message = '', ...items] = lines;
    super(kind, message, next, { items, isGeneral, isTransient, isPermanent, cause: error });
    this.retryAfterMs = options.retryAfterMs;
    this.isHeldBack = options.isHeldBack;
    this.move = options.move;
  }
}

/** The rate limit does not allow a write now. */
export function heldBack({ error, ms }: Held): NodeWriteError {
  return new NodeWriteError(error, { retryAfterMs: ms, isHeldBack: true });
}

/** The error with what was written before it. A move that it has already is complete. */
export function withMove(error: NodepoolError, move: NodeMove): NodeWriteError {
  if (!(error instanceof NodeWriteError))
    return new NodeWriteError(error, { retryAfterMs: undefined, isHeldBack: false, move });
  return error.move === undefined
    ? new NodeWriteError(error, { retryAfterMs: error.retryAfterMs, isHeldBack: error.isHeldBack, move })
    : error;
}

/** The error without its move, for other callers that wait for the same write: the move is counted once. */
export function withoutMove(error: unknown): unknown {
  return error instanceof NodeWriteError && error.move !== undefined
    ? new NodeWriteError(error, { retryAfterMs: error.retryAfterMs, isHeldBack: error.isHeldBack })
    : error;
}

/** Changes that the message names. */
const MAX_NAMED = 3;
/** Bytes of a value in the message; only annotations have longer ones. */
const MAX_VALUE_LENGTH = 200;

/** For a node at its limit of writes. @param changes that are to be written @param isContested other writers made them necessary */
export async function limitError(
  node: string,
  changes: readonly Change[],
  isContested: boolean,
  nodes: Pick<NodesClient, 'fieldManager'>,
): Promise<NodepoolError> {
  const limit = `node ${node} was written ${MAX_WRITES} times within a minute, which is the limit`;
  const theirs = changes.filter(({ reason }) => reason === 'drift' || reason === 'unmanaged').slice(0, MAX_NAMED);
  const [first] = theirs;
  if (!isContested || first === undefined) {
    return new NodepoolError(
      'cluster',
      limit,
      'wait a minute, and find out what changes its pool or its labels so often',
    );
  }
  const manager = await managerOf(node, first, nodes);
  const who = manager === undefined ? 'something else' : `something else (field manager ${manager})`;
  return new NodepoolError(
    'cluster',
    `${limit}: ${who} keeps ${theirs.map(describe).join(', ')}`,
    'stop it, or take what it changes out of the pool',
  );
}

/** Undefined also where the node cannot be read: the name is optional in messages. */
export async function managerOf(
  node: string,
  change: Change,
  nodes: Pick<NodesClient, 'fieldManager'>,
): Promise<string | undefined> {
  try {
    return await nodes.fieldManager(node, fieldPath(change));
  } catch (error) {
    if (error instanceof NodepoolError) return undefined;
    throw error;
  }
}

/** What others did, which the change repairs. */
function describe({ kind, key, effect, from, to }: Change): string {
  const slot = `${kind} ${key}${effect === undefined ? '' : `:${effect}`}`;
  if (from === undefined) return `removing ${slot}`;
  const [theirs, ours] = [from, to ?? ''].map(value => ellipsize(value, MAX_VALUE_LENGTH));
  return to === undefined ? `setting ${slot} to "${theirs}"` : `changing ${slot} from "${ours}" to "${theirs}"`;
}
