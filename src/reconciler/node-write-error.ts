/** Why a node is not as its pool wants it, where it was written before or trying again at once would make it worse. */
import { NodepoolError } from '../nodepool/errors.ts';
import type { Change } from '../nodepool/plan.ts';
import type { NodeMove } from './node-move.ts';
import type { NodesClient } from './ports.ts';
import { type Held, MOST_WRITES } from './write-pace.ts';

export class NodeWriteError extends NodepoolError {
  /** Undefined where it may be tried at any time. */
  readonly retryAfterMs: number | undefined;
  readonly isHeldBack: boolean;
  /** What was written all the same. */
  readonly move: NodeMove | undefined;

  constructor(
    error: NodepoolError,
    options: { retryAfterMs: number | undefined; isHeldBack: boolean; move?: NodeMove | undefined },
  ) {
    const { kind, lines, next, isGeneral, isTransient } = error;
    const [message = '', ...items] = lines;
    super(kind, message, next, { items, isGeneral, isTransient, cause: error });
    this.retryAfterMs = options.retryAfterMs;
    this.isHeldBack = options.isHeldBack;
    this.move = options.move;
  }
}

/** Nothing is written before its time has come. */
export function heldBack({ error, ms }: Held): NodeWriteError {
  return new NodeWriteError(error, { retryAfterMs: ms, isHeldBack: true });
}

/** The error with what was written before it; one that has a move already has all of it. */
export function withMove(error: NodepoolError, move: NodeMove): NodeWriteError {
  if (!(error instanceof NodeWriteError))
    return new NodeWriteError(error, { retryAfterMs: undefined, isHeldBack: false, move });
  return error.move === undefined
    ? new NodeWriteError(error, { retryAfterMs: error.retryAfterMs, isHeldBack: error.isHeldBack, move })
    : error;
}

/** The error without its move: one that other callers get as well would have it counted again. */
export function withoutMove(error: unknown): unknown {
  return error instanceof NodeWriteError && error.move !== undefined
    ? new NodeWriteError(error, { retryAfterMs: error.retryAfterMs, isHeldBack: error.isHeldBack })
    : error;
}

/** Those that are named. */
const MOST_NAMED = 3;

/** For a node that has had its writes for this minute. @param changes that are to be written @param isContested others made them necessary */
export async function limitError(
  node: string,
  changes: readonly Change[],
  isContested: boolean,
  nodes: Pick<NodesClient, 'fieldManager'>,
): Promise<NodepoolError> {
  const limit = `node ${node} was written ${MOST_WRITES} times within a minute, which is the limit`;
  const theirs = changes.filter(({ reason }) => reason === 'drift' || reason === 'unmanaged').slice(0, MOST_NAMED);
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

async function managerOf(
  node: string,
  { kind, key }: Change,
  nodes: Pick<NodesClient, 'fieldManager'>,
): Promise<string | undefined> {
  try {
    return await nodes.fieldManager(node, kind === 'label' ? ['metadata', 'labels', key] : ['spec', 'taints']);
  } catch (error) {
    // It only adds to the message.
    if (error instanceof NodepoolError) return undefined;
    throw error;
  }
}

/** What others did, of which the change is the repair. */
function describe({ kind, key, effect, from, to }: Change): string {
  const slot = `${kind} ${key}${effect === undefined ? '' : `:${effect}`}`;
  if (from === undefined) return `removing ${slot}`;
  return to === undefined ? `setting ${slot} to "${from}"` : `changing ${slot} from "${to}" to "${from}"`;
}
