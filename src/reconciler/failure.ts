import { NodepoolError } from '../nodepool/errors.ts';
import { andMore } from '../nodepool/text.ts';
import type { NodeMove } from './plan/node-move.ts';
import { NodeWriteError } from './write/node-write-error.ts';

/** A write that failed. */
export interface WriteFailure {
  /** One line. */
  message: string;
  /** What to do about it, as in a NodepoolError. */
  next?: string | undefined;
  /** The node that was to be written, which the message names. */
  node?: string | undefined;
  /** No write was sent: after an earlier failure the node waits. */
  isHeldBack?: boolean;
  /** See NodepoolError. */
  isPermanent?: boolean;
}

/** Runs the work. A NodepoolError is added to the failures and returned; any other error is thrown. */
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

/** The part of an outcome that writes add to. */
export interface WriteOutcome {
  moves: NodeMove[];
  failures: WriteFailure[];
  /** Milliseconds until the first of what is held back may be written. */
  retryAfterMs?: number;
}

/** As attempt(), for a write that may be held back. */
export async function attemptHeld(
  outcome: WriteOutcome,
  work: () => Promise<void>,
): Promise<NodepoolError | undefined> {
  const error = await attempt(outcome.failures, work);
  if (error instanceof NodeWriteError) holdBack(error, outcome);
  return error;
}

/** As attemptHeld(), for an error that was thrown before. */
export function addFailure(outcome: WriteOutcome, error: NodeWriteError): void {
  outcome.failures.push(failureOf(error));
  holdBack(error, outcome);
}

/** Adds what was written before the error, and when the pool may be written again. */
export function holdBack(
  { retryAfterMs, move }: Pick<NodeWriteError, 'retryAfterMs' | 'move'>,
  outcome: Omit<WriteOutcome, 'failures'>,
): void {
  if (move !== undefined) outcome.moves.push(move);
  if (retryAfterMs !== undefined) outcome.retryAfterMs = Math.min(retryAfterMs, outcome.retryAfterMs ?? retryAfterMs);
}

export function failureOf(error: NodepoolError, node?: string): WriteFailure {
  const isHeldBack = error instanceof NodeWriteError && error.isHeldBack;
  const { oneLine: message, next, isPermanent } = error;
  return { message, next, node, ...(isHeldBack ? { isHeldBack } : {}), ...(isPermanent ? { isPermanent } : {}) };
}

/** Of a run without caches. @param reconciled the pool whose nodes were written */
export function specChangedFailure(name: string, reconciled = name): WriteFailure {
  return {
    message: `the spec of nodepool ${name} was changed while it was reconciled: nodes may have been written as it was before`,
    next: `run \`kubectl nodepool reconcile ${[...new Set([reconciled, name])].join(' ')}\``,
  };
}

/** Unless one has the same message. */
export function addOnce(failures: WriteFailure[], failure: WriteFailure): void {
  if (!failures.some(({ message }) => message === failure.message)) failures.push(failure);
}

export function messagesOf(failures: readonly WriteFailure[]): string[] {
  return failures.map(({ message }) => message);
}

/** At most; the rest is counted. */
const MAX_KINDS = 10;
const MANY = '{nodes}';

/** Thousands of nodes may fail for one reason: one failure represents all that are alike. */
export function summarized(failures: readonly WriteFailure[]): Pick<WriteFailure, 'message' | 'next'>[] {
  const kinds = [...Map.groupBy(failures, inGeneral).entries()];
  const shown = kinds.slice(0, MAX_KINDS).map(([general, [first, ...others]]) => {
    const { message = general, next, node } = first ?? {};
    const isOne = others.length === 0 || node === undefined;
    return { message: isOne ? message : ofMany(general, `${others.length + 1} nodes`, `first: ${node}`), next };
  });
  const rest = kinds.slice(MAX_KINDS).reduce((sum, [, alike]) => sum + alike.length, 0);
  return rest === 0 ? shown : [...shown, { message: andMore(rest) }];
}

/** The message without the node's name. */
function inGeneral({ message, node }: WriteFailure): string {
  return node === undefined
    ? message
    : message.replace(`Node "${node}"`, MANY).replace(`node ${node} was`, `${MANY} were`);
}

function ofMany(general: string, nodes: string, first: string): string {
  // A message about the server names no node.
  return general.includes(MANY) ? `${general.replace(MANY, nodes)} (${first})` : `${general} (${nodes}, ${first})`;
}
