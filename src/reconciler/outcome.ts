/** What one reconcile of a pool did: its outcome, the moves of nodes, and the failures of writes, as errors and as the status has them. */
import { NodepoolError, type Warning, warningText } from '../nodepool/errors.ts';
import type { Change, WritePlan } from '../nodepool/plan/plan.ts';
import { recordProblem } from '../nodepool/plan/record.ts';
import { formatTaint } from '../nodepool/spec/syntax.ts';
import { andMore } from '../nodepool/text.ts';
import type { NodePoolStatus, Taint } from '../nodepool/types.ts';
import type { ThrottledWrite } from './limits/rate-limiters.ts';

export interface PoolOutcome {
  pool: string;
  /** `released`: the pool is being deleted or gone, its nodes are released. `interrupted`: some is not written. */
  kind: 'reconciled' | 'released' | 'interrupted';
  /** As written, or as it would be where the write is among the failures. Undefined, too, where it was throttled. */
  status: NodePoolStatus | undefined;
  /** Fields that the installed CRD lacks: paths, as `status.conditions`. `kubectl nodepool install` adds them. */
  lacking: string[];
  statusWritten: boolean;
  /** Node writes of this call; a node that moved between two pools is in the outcome of one of them. */
  moves: NodeMove[];
  runtimeClass: RuntimeClassOutcome;
  /** Writes that failed, in a stable order. */
  failures: WriteFailure[];
  /** The pool was changed or deleted meanwhile, and the cluster state has that: it is reconciled again now. */
  isChanged?: boolean;
  /** Nodes that were not written because the run was interrupted. */
  unwritten: number;
  /** Of these, nodes that a drain has written in part: their taints wait for the pods. */
  unfinished?: readonly string[];
  /** Milliseconds until the first node that waits, or the status, may be written. */
  retryAfterMs?: number;
  /** Of a rollout: milliseconds until its next step, where that is known. */
  settlesAfterMs?: number;
  /** Members whose pods are evicted before they get a taint: another reconcile goes on with them. */
  drain?: DrainState;
  /** Sentences for people that are no failures: Events that could not be sent, nodes that this run does not write. */
  warnings: Warning[];
}

export type RuntimeClassOutcome =
  | { kind: 'unchanged' }
  | { kind: 'created' | 'updated' | 'deleted'; name: string }
  /** A RuntimeClass of that name exists that the pool does not own. */
  | { kind: 'foreign'; name: string };

export interface DrainState {
  /** Names, sorted. */
  nodes: string[];
  /** Pods that were left when they were looked at last. */
  pods: number;
  /** Of the first of them that a budget or the server blocks, as a sentence. */
  blocked: string | undefined;
  /** Milliseconds until the first of them is looked at again; undefined where none is. */
  afterMs: number | undefined;
}

/** What is left of a pool after a reconcile: the loop decides what comes of it. */
export type NextReconcile =
  /** The pool is another one by now. */
  | { kind: 'changed' }
  | { kind: 'interrupted' }
  /** The first write that failed. @param isPermanent a retry alone helps none of them @param rest what waits beside */
  | { kind: 'error'; failure: WriteFailure; isPermanent: boolean; rest: PoolWait }
  | PoolWait;

/** @param ms until the first of all that waits is due */
type PoolWait =
  /** @param podsMs until pods are looked at again */
  | { kind: 'pods'; ms: number; podsMs: number; drain: DrainState }
  /** For a limit, or a node that settles. */
  | { kind: 'after'; ms: number }
  | { kind: 'done' };

export function nextReconcile(outcome: PoolOutcome): NextReconcile {
  const { kind, isChanged, failures } = outcome;
  if (isChanged) return { kind: 'changed' };
  if (kind === 'interrupted') return { kind };
  const rest = waitingIn(outcome);
  const failure = failures.find(({ isThrottled }) => isThrottled !== true);
  if (failure === undefined) return rest;
  const isPermanent = failures.every(({ isPermanent, isThrottled }) => isPermanent || isThrottled);
  return { kind: 'error', failure, isPermanent, rest };
}

function waitingIn({ drain, retryAfterMs: ms }: PoolOutcome): PoolWait {
  if (drain?.afterMs !== undefined) {
    const { afterMs: podsMs } = drain;
    return { kind: 'pods', ms: Math.min(podsMs, ms ?? podsMs), podsMs, drain };
  }
  return ms === undefined ? { kind: 'done' } : { kind: 'after', ms };
}

/** Of two reconciles, as if they were one; the state of the pool is that after the second. */
export function mergedOutcome(first: PoolOutcome, again: PoolOutcome): PoolOutcome {
  const warnings = [...first.warnings, ...again.warnings].map(warning => [warningText(warning), warning] as const);
  return {
    ...again,
    runtimeClass: again.runtimeClass.kind === 'unchanged' ? first.runtimeClass : again.runtimeClass,
    lacking: [...new Set([...first.lacking, ...again.lacking])],
    statusWritten: first.statusWritten || again.statusWritten,
    moves: [...first.moves, ...again.moves],
    warnings: [...new Map(warnings).values()],
  };
}

export function emptyOutcome(pool: string): PoolOutcome {
  return {
    pool,
    kind: 'reconciled',
    status: undefined,
    lacking: [],
    statusWritten: false,
    moves: [],
    runtimeClass: { kind: 'unchanged' },
    failures: [],
    unwritten: 0,
    warnings: [],
  };
}

export interface NodeMove {
  node: string;
  /** The pool that held the node before. */
  from: string | undefined;
  /** The pool that owns it now. */
  to: string | undefined;
  changes: Change[];
  /** What was wrong with the record that was replaced. */
  invalidRecord?: string;
  /** Taints with the effect NoExecute that were not set again: nobody agreed to evictions. */
  withheld?: Taint[];
}

/** @param before the earlier write of the node in this call */
export function moveOf(
  { node, patch, previous, owner: to, changes, withheld = [] }: WritePlan,
  before: NodeMove | undefined,
): NodeMove {
  const isReplaced = patch.record !== undefined && node.record !== undefined && node.birthRecord !== 'record';
  const invalidRecord = before?.invalidRecord ?? (isReplaced ? recordProblem(node.record ?? '') : undefined);
  const kept = [...(before?.withheld ?? []), ...withheld];
  return {
    node: node.name,
    from: before ? before.from : previous,
    to,
    changes: [...(before?.changes ?? []), ...changes],
    ...(invalidRecord === undefined ? {} : { invalidRecord }),
    ...(kept.length === 0 ? {} : { withheld: kept }),
  };
}

/** Nodes by the text of a NoExecute taint that was not set again there. */
export function withheldTaints(moves: readonly NodeMove[]): [taint: string, nodes: string[]][] {
  const all = moves.flatMap(({ node, withheld = [] }) => withheld.map(taint => ({ node, text: formatTaint(taint) })));
  return [...Map.groupBy(all, ({ text }) => text)].map(([text, alike]) => [
    text,
    [...new Set(alike.map(({ node }) => node))].toSorted(),
  ]);
}

export function taintCommand(taint: string, nodes: readonly string[]): string {
  return `kubectl taint nodes ${nodes.length === 1 ? nodes[0] : 'NODE'} ${taint}`;
}

export interface WriteFailure {
  /** One line. */
  message: string;
  /** What to do about it, as in a NodepoolError. */
  next?: string | undefined;
  /** The node that was to be written, which the message names. */
  node?: string | undefined;
  /** No write was sent: after an earlier failure the node waits. */
  isThrottled?: boolean;
  /** A retry alone does not help. */
  isPermanent?: boolean;
}

/** A write that must not be retried at once, or that failed after a write of the same call. */
export class WriteError extends NodepoolError {
  /** Undefined where it may be retried at any time. */
  readonly retryAfterMs: number | undefined;
  readonly isThrottled: boolean;
  /** What was written before the failure. */
  readonly move: NodeMove | undefined;

  constructor(
    error: NodepoolError,
    options: { retryAfterMs: number | undefined; isThrottled: boolean; move?: NodeMove | undefined },
  ) {
    const { kind, lines, next, isGeneral, isTransient, isPermanent } = error;
    const [message = '', ...items] = lines;
    super(kind, message, next, { items, isGeneral, isTransient, isPermanent, cause: error });
    this.retryAfterMs = options.retryAfterMs;
    this.isThrottled = options.isThrottled;
    this.move = options.move;
  }
}

/** The rate limit does not allow a write now. */
export function throttledError({ error, ms }: ThrottledWrite): WriteError {
  return new WriteError(error, { retryAfterMs: ms, isThrottled: true });
}

/** The error with what was written before it. A move that it has already is complete. */
export function withMove(error: NodepoolError, move: NodeMove): WriteError {
  if (!(error instanceof WriteError))
    return new WriteError(error, { retryAfterMs: undefined, isThrottled: false, move });
  return error.move === undefined
    ? new WriteError(error, { retryAfterMs: error.retryAfterMs, isThrottled: error.isThrottled, move })
    : error;
}

/** The error without its move, for other callers that wait for the same write: the move is counted once. */
export function withoutMove(error: unknown): unknown {
  return error instanceof WriteError && error.move !== undefined
    ? new WriteError(error, { retryAfterMs: error.retryAfterMs, isThrottled: error.isThrottled })
    : error;
}

/** Runs the work. A NodepoolError is added to the failures and returned; any other error is thrown. */
export async function collectFailure(
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

export interface WriteOutcome {
  moves: NodeMove[];
  failures: WriteFailure[];
  /** Milliseconds until the first of what is throttled may be written. */
  retryAfterMs?: number;
}

/** As collectFailure(), for a write that the rate limit may refuse. */
export async function attemptWrite(
  outcome: WriteOutcome,
  work: () => Promise<void>,
): Promise<NodepoolError | undefined> {
  const error = await collectFailure(outcome.failures, work);
  if (error instanceof WriteError) addRetry(error, outcome);
  return error;
}

/** As attemptWrite(), for an error that was thrown before. */
export function addFailure(outcome: WriteOutcome, error: WriteError): void {
  outcome.failures.push(failureOf(error));
  addRetry(error, outcome);
}

/** Adds what was written before the error, and when the pool may be written again. */
export function addRetry(
  { retryAfterMs, move }: Pick<WriteError, 'retryAfterMs' | 'move'>,
  outcome: Omit<WriteOutcome, 'failures'>,
): void {
  if (move !== undefined) outcome.moves.push(move);
  retryWithin(retryAfterMs, outcome);
}

/** Undefined changes nothing. */
export function retryWithin(ms: number | undefined, outcome: { retryAfterMs?: number | undefined }): void {
  if (ms !== undefined) outcome.retryAfterMs = Math.min(ms, outcome.retryAfterMs ?? ms);
}

export function failureOf(error: NodepoolError, node?: string): WriteFailure {
  const isThrottled = error instanceof WriteError && error.isThrottled;
  const { oneLine: message, next, isPermanent } = error;
  return { message, next, node, ...(isThrottled ? { isThrottled } : {}), ...(isPermanent ? { isPermanent } : {}) };
}

/** Of a run without caches. @param reconciled the pool whose nodes were written */
export function specChangedFailure(name: string, reconciled = name): WriteFailure {
  return {
    message: `the spec of pool ${name} changed during the reconcile: nodes may have the previous spec`,
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
