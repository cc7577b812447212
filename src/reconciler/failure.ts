import { NodepoolError } from '../nodepool/errors.ts';
import type { NodeMove } from './node-move.ts';
import { NodeWriteError } from './node-write-error.ts';

/** A write that failed. */
export interface WriteFailure {
  /** One line. */
  message: string;
  /** What can be done about it, as of a NodepoolError. */
  next?: string | undefined;
  /** The node that was to be written, which the message names. */
  node?: string | undefined;
  /** Nothing was tried: an earlier failure of the node has it wait. */
  isHeldBack?: boolean;
}

/** Runs the work; a refusal of the cluster becomes a failure, and is given back, a bug stays a throw. */
export async function attempt(
  failures: WriteFailure[],
  work: () => Promise<void>,
  node?: string,
): Promise<NodepoolError | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    if (!(error instanceof NodepoolError)) throw error;
    failures.push(failureOf(error, node));
    return error;
  }
}

/** What writes leave behind that failed or have to wait. */
export interface WriteOutcome {
  moves: NodeMove[];
  failures: WriteFailure[];
  /** Milliseconds until the first of what is held back may be written. */
  retryAfterMs?: number;
}

/** As attempt(), of what may have to wait. */
export async function attemptHeld(
  outcome: WriteOutcome,
  work: () => Promise<void>,
): Promise<NodepoolError | undefined> {
  const error = await attempt(outcome.failures, work);
  if (error instanceof NodeWriteError) holdBack(error, outcome);
  return error;
}

/** The same of an error that is there. */
export function addFailure(outcome: WriteOutcome, error: NodeWriteError): void {
  outcome.failures.push(failureOf(error));
  holdBack(error, outcome);
}

/** What was written all the same is reported; the pool is looked at again when it may be written. */
export function holdBack({ retryAfterMs, move }: NodeWriteError, outcome: Omit<WriteOutcome, 'failures'>): void {
  if (move !== undefined) outcome.moves.push(move);
  if (retryAfterMs !== undefined) outcome.retryAfterMs = Math.min(retryAfterMs, outcome.retryAfterMs ?? retryAfterMs);
}

export function failureOf(error: NodepoolError, node?: string): WriteFailure {
  const isHeldBack = error instanceof NodeWriteError && error.isHeldBack;
  return { message: error.oneLine, next: error.next, node, ...(isHeldBack ? { isHeldBack } : {}) };
}

export function messagesOf(failures: readonly WriteFailure[]): string[] {
  return failures.map(({ message }) => message);
}

/** At most; the rest is counted. */
const MOST_KINDS = 10;
const MANY = '{nodes}';

/** Where one thing is wrong, thousands of nodes fail alike: one failure stands for all that are. */
export function summarized(failures: readonly WriteFailure[]): Pick<WriteFailure, 'message' | 'next'>[] {
  const kinds = [...Map.groupBy(failures, inGeneral).entries()];
  const shown = kinds.slice(0, MOST_KINDS).map(([general, [first, ...others]]) => {
    const { message = general, next, node } = first ?? {};
    const isOne = others.length === 0 || node === undefined;
    return { message: isOne ? message : ofMany(general, `${others.length + 1} nodes`, `first: ${node}`), next };
  });
  const rest = kinds.slice(MOST_KINDS).reduce((sum, [, alike]) => sum + alike.length, 0);
  return rest === 0 ? shown : [...shown, { message: `and ${rest} more` }];
}

/** The message as it is of any node. */
function inGeneral({ message, node }: WriteFailure): string {
  return node === undefined
    ? message
    : message.replace(`Node "${node}"`, MANY).replace(`node ${node} was`, `${MANY} were`);
}

function ofMany(general: string, nodes: string, first: string): string {
  // What the server says of itself names no node.
  return general.includes(MANY) ? `${general.replace(MANY, nodes)} (${first})` : `${general} (${nodes}, ${first})`;
}
