/** The outcome of one reconcile of a pool, the moves of nodes, and failed writes, as errors and for the status. */
import { NodepoolError, type Warning, warningText } from '../nodepool/errors.ts';
import type { Change, WritePlan } from '../nodepool/plan/plan.ts';
import { recordProblem } from '../nodepool/plan/record.ts';
import { formatTaint } from '../nodepool/spec/syntax.ts';
import { andMore } from '../nodepool/text.ts';
import type { NodePoolStatus, Taint } from '../nodepool/types.ts';
import type { ThrottledWrite } from './limits/rate-limiters.ts';

export interface PoolOutcome {
  pool: string;
  /** `released`: the pool is being deleted or gone, its nodes are released. `interrupted`: some are not written. */
  kind: 'reconciled' | 'released' | 'interrupted';
  /** As written, or as computed if the write failed. Also undefined if it was throttled. */
  status: NodePoolStatus | undefined;
  /** Paths that the installed CRD lacks, such as `status.conditions`. `kubectl nodepool install` adds them. */
  lacking: string[];
  statusWritten: boolean;
  /** Node writes of this call; a node that moved between two pools is in the outcome of only one of them. */
  moves: NodeMove[];
  runtimeClass: RuntimeClassOutcome;
  /** Failed writes, in a stable order. */
  failures: WriteFailure[];
  /** The pool was changed or deleted meanwhile, and the cluster state knows: reconcile it again now. */
  isChanged?: boolean;
  /** Nodes that were not written because the run was interrupted. */
  unwritten: number;
  /** Of these, nodes that a drain has written partly: their taints wait for the pods. */
  unfinished?: readonly string[];
  /** Milliseconds until the first waiting node, or the status, may be written. */
  retryAfterMs?: number;
  /** For a rollout: milliseconds until its next step, if known. */
  settlesAfterMs?: number;
  /** Members whose pods are evicted before they get a taint: another reconcile continues. */
  drain?: DrainState;
  /** Sentences for display that are no failures: Events that could not be sent, nodes that this run does not write. */
  warnings: Warning[];
}

export type RuntimeClassOutcome =
  | { kind: 'unchanged' }
  | { kind: 'created' | 'updated' | 'deleted'; name: string }
  /** A RuntimeClass of that name exists, but the pool does not own it. */
  | { kind: 'foreign'; name: string };

export interface DrainState {
  /** Names, sorted. */
  nodes: string[];
  /** Number of pods left at the last poll. */
  pods: number;
  /** The first pod that a budget or the server blocks, as a sentence. */
  blocked: string | undefined;
  /** Milliseconds until the next poll of any of them; undefined if there is none. */
  afterMs: number | undefined;
}

/** What remains to be done for a pool after a reconcile: the loop decides when. */
export type NextReconcile =
  /** The pool has been changed or replaced. */
  | { kind: 'changed' }
  | { kind: 'interrupted' }
  /** The first failed write. @param isPermanent retries alone do not help @param rest what else waits */
  | { kind: 'error'; failure: WriteFailure; isPermanent: boolean; rest: PoolWait }
  | PoolWait;

/** @param ms until the first waiting item is due */
type PoolWait =
  /** @param podsMs until the next poll of pods */
  | { kind: 'pods'; ms: number; podsMs: number; drain: DrainState }
  /** Waits for a rate limit, or for a node that settles. */
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

/** Two reconciles as one; the state of the pool is that after the second. */
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
  /** The pool that owned the node before. */
  from: string | undefined;
  /** The pool that owns it now. */
  to: string | undefined;
  changes: Change[];
  /** The problem of the replaced record. */
  invalidRecord?: string;
  /** NoExecute taints that were not restored, because nobody agreed to evictions. */
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

/** Nodes by the text of a NoExecute taint that was not restored. */
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
  /** The remedy, as in a NodepoolError. */
  next?: string | undefined;
  /** The node of the write, which the message names. */
  node?: string | undefined;
  /** No write was sent: the node still waits after an earlier failure. */
  isThrottled?: boolean;
  /** A retry alone does not help. */
  isPermanent?: boolean;
}

/** A write that must not be retried at once, or that failed after another write of the same call. */
export class WriteError extends NodepoolError {
  /** Undefined if it may be retried at any time. */
  readonly retryAfterMs: number | undefined;
  readonly isThrottled: boolean;
  /** The write before the failure. */
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

/** The error with the write before it. A move that the error already has is complete. */
export function withMove(error: NodepoolError, move: NodeMove): WriteError {
  if (!(error instanceof WriteError))
    return new WriteError(error, { retryAfterMs: undefined, isThrottled: false, move });
  return error.move === undefined
    ? new WriteError(error, { retryAfterMs: error.retryAfterMs, isThrottled: error.isThrottled, move })
    : error;
}

/** The error without its move, for other callers that wait for the same write: the move must count once. */
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
  /** Milliseconds until the first throttled item may be written. */
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

/** As attemptWrite(), for an error that was already thrown. */
export function addFailure(outcome: WriteOutcome, error: WriteError): void {
  outcome.failures.push(failureOf(error));
  addRetry(error, outcome);
}

/** Adds the write before the error, and when the pool may be written again. */
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

/** For a run without caches. @param reconciled the pool whose nodes were written */
export function specChangedFailure(name: string, reconciled = name): WriteFailure {
  return {
    message: `the spec of pool ${name} changed during the reconcile: nodes may have the previous spec`,
    next: `run \`kubectl nodepool reconcile ${[...new Set([reconciled, name])].join(' ')}\``,
  };
}

/** Unless the list has one with the same message. */
export function addOnce(failures: WriteFailure[], failure: WriteFailure): void {
  if (!failures.some(({ message }) => message === failure.message)) failures.push(failure);
}

export function messagesOf(failures: readonly WriteFailure[]): string[] {
  return failures.map(({ message }) => message);
}

/** Maximum number of messages; the rest is counted. */
const MAX_KINDS = 10;
const MANY = '{nodes}';

/** Thousands of nodes may fail for the same reason: one failure represents all similar ones. */
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
