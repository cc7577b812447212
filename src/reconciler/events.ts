/**
 * Events about changes: one for each pool, reason and change, with the number of nodes and the first names. One Event
 * for each node would exceed the rate limit of a pool: 25 at once, then one in 300 s (controller/recorder.ts).
 */

import type { Clock } from '../controller/clock.ts';
import type { PoolEvent } from '../kube/cluster.ts';
import { DRAINING } from '../nodepool/plan/no-execute.ts';
import type { Change } from '../nodepool/plan/plan.ts';
import { isRolloutReason, progressOf } from '../nodepool/rollout/rollout.ts';
import { andMore, ellipsize, plural } from '../nodepool/text.ts';
import { type NodePool, type NodePoolStatus, RECORD_ANNOTATION } from '../nodepool/types.ts';
import type { ReconcilerOptions } from './options.ts';
import {
  collectFailure,
  messagesOf,
  type NodeMove,
  type PoolOutcome,
  type RuntimeClassOutcome,
  taintCommand,
  type WriteFailure,
  withheldTaints,
} from './outcome.ts';

/** The server's limit of a note, in bytes. */
const NOTE_LIMIT = 1024;
/** Different changes of nodes that get their own Event; the rest share one. */
const MAX_KINDS = 5;

/** Reasons of Events; NodeConflict, RuntimeClassConflict and InvalidSpec are the reasons of conditions. */
export const REASON = {
  nodeJoined: 'NodeJoined',
  nodeLeft: 'NodeLeft',
  nodesUpdated: 'NodesUpdated',
  recordInvalid: 'RecordInvalid',
  taintNotRestored: 'TaintNotRestored',
  runtimeClassCreated: 'RuntimeClassCreated',
  runtimeClassUpdated: 'RuntimeClassUpdated',
  runtimeClassDeleted: 'RuntimeClassDeleted',
  reconcileFailed: 'ReconcileFailed',
  evictionBlocked: 'EvictionBlocked',
} as const;

export function normal(reason: string, note: string): PoolEvent {
  return { type: 'Normal', reason, action: 'Reconcile', note: ellipsize(note, NOTE_LIMIT) };
}

export function warning(reason: string, note: string): PoolEvent {
  return { type: 'Warning', reason, action: 'Reconcile', note: ellipsize(note, NOTE_LIMIT) };
}

/** The Events of node writes, by pool. Nodes with the same changes share an Event. */
export function moveEvents(moves: NodeMove[]): Map<string, PoolEvent[]> {
  const byPool = new Map<string, PoolEvent[]>();
  const add = (pool: string, events: PoolEvent[]) => byPool.set(pool, [...(byPool.get(pool) ?? []), ...events]);
  const names = (group: NodeMove[]) => [...new Set(group.map(move => move.node))];

  for (const [pool, group] of groupBy(moves, move => (move.from === move.to ? undefined : move.to))) {
    add(pool, [listing(REASON.nodeJoined, names(group), nodes => `${nodes} joined: `)]);
  }
  for (const [pool, group] of groupBy(moves, move => (move.from === move.to ? undefined : move.from))) {
    add(pool, [listing(REASON.nodeLeft, names(group), nodes => `${nodes} left: `)]);
  }
  const updated = moves.filter(move => move.from === move.to && move.changes.length > 0);
  for (const [pool, group] of groupBy(updated, move => move.to)) {
    const kinds = groupBy(group, move => move.changes.map(describeChange).join(', '));
    for (const [what, alike] of kinds.slice(0, MAX_KINDS)) {
      const text = ellipsize(what, NOTE_LIMIT / 2);
      add(pool, [listing(REASON.nodesUpdated, names(alike), nodes => `${nodes} updated (${text}): `)]);
    }
    const rest = kinds.slice(MAX_KINDS).flatMap(([, alike]) => alike);
    if (rest.length === 0) continue;
    add(pool, [listing(REASON.nodesUpdated, names(rest), nodes => `${nodes} updated with other changes: `)]);
  }
  const invalid = moves.filter(move => move.invalidRecord !== undefined);
  for (const [pool, group] of groupBy(invalid, move => move.to ?? move.from)) {
    for (const [problem, alike] of groupBy(group, move => recordKind(move.invalidRecord)).slice(0, MAX_KINDS)) {
      add(pool, [invalidRecordEvent(problem, names(alike))]);
    }
  }
  for (const [pool, group] of groupBy(moves, move =>
    move.withheld === undefined ? undefined : (move.from ?? move.to),
  )) {
    add(pool, withheldEvents(group));
  }
  return byPool;
}

/** One Event for each taint. */
function withheldEvents(moves: NodeMove[]): PoolEvent[] {
  return withheldTaints(moves)
    .slice(0, MAX_KINDS)
    .map(([taint, names]) => {
      const note = (nodes: string) =>
        `taint ${taint}, which the pool had removed or replaced, was not restored on ${nodes}: it would evict pods; if the nodes need it, run \`${taintCommand(taint, names)}\`: `;
      return { ...listing(REASON.taintNotRestored, names, note), type: 'Warning' };
    });
}

function groupBy(moves: NodeMove[], key: (move: NodeMove) => string | undefined): [string, NodeMove[]][] {
  return [...Map.groupBy(moves, key)].filter((entry): entry is [string, NodeMove[]] => entry[0] !== undefined);
}

function runtimeClassEvents(pool: NodePool, outcome: RuntimeClassOutcome): (readonly [NodePool, PoolEvent])[] {
  switch (outcome.kind) {
    case 'created':
      return [[pool, normal(REASON.runtimeClassCreated, `RuntimeClass ${outcome.name} created`)]];
    case 'updated':
      return [[pool, normal(REASON.runtimeClassUpdated, `RuntimeClass ${outcome.name} updated`)]];
    case 'deleted':
      return [[pool, normal(REASON.runtimeClassDeleted, `RuntimeClass ${outcome.name} deleted`)]];
    case 'foreign':
    case 'unchanged':
      return [];
  }
}

/** Warnings are sent when they appear or change, not in every run. */
export function conditionEvents(pool: NodePool, status: NodePoolStatus): PoolEvent[] {
  const events: PoolEvent[] = [];
  for (const { type, status: value, reason, message } of status.conditions ?? []) {
    if (type === 'Progressing') events.push(...progressEvents(pool, reason, message));
    // Progressing already reports it.
    if (type === 'Applied' && isRolloutReason(reason)) continue;
    if (type === 'Applied' && reason === DRAINING) {
      if (conditionBefore(pool, type)?.reason !== reason) events.push(normal(reason, message));
      continue;
    }
    const bad = type === 'Applied' ? value === 'False' : ['Conflict', 'Contested'].includes(type) && value === 'True';
    const before = conditionBefore(pool, type);
    if (!bad || (before?.status === value && isSameNews(type, before.message, message))) continue;
    events.push(warning(reason === 'WriteFailed' ? REASON.reconcileFailed : reason, message));
  }
  return events;
}

/** More contested nodes are no reason for another Event. */
function isSameNews(type: string, before: string, after: string): boolean {
  const said = (message: string) => (type === 'Contested' ? message.replaceAll(/ on \d+ nodes? /g, '') : message);
  return said(before) === said(after);
}

function conditionBefore({ status }: NodePool, type: string) {
  return status?.conditions?.find(condition => condition.type === type);
}

/** @param stuck sentences about pods that have waited long for their eviction */
export function stuckEvents([first, ...others]: readonly string[]): PoolEvent[] {
  return first === undefined ? [] : [warning(REASON.evictionBlocked, `${first}${andMore(others.length, '; ')}`)];
}

function progressEvents({ status }: NodePool, reason: string, message: string): PoolEvent[] {
  if (progressOf({ status })?.reason === reason) return [];
  return [reason === 'RolloutStopped' ? warning(reason, message) : normal(reason, message)];
}

/** One change in a few words: `label a set to "b" (spec)`. */
function describeChange({ kind, key, effect, action, from, to, reason }: Change): string {
  const subject = `${kind} ${key}${effect === undefined ? '' : `:${effect}`}`;
  switch (action) {
    case 'add':
      return `${subject} set to "${to}" (${reason})`;
    case 'change':
      return `${subject} changed from "${from}" to "${to}" (${reason})`;
    case 'remove':
      return `${subject} removed (${reason})`;
    case 'restore':
      return `${subject} restored to "${to}" (${reason})`;
  }
}

/** Removes the numbers, which differ from node to node and only help for a single node. */
function recordKind(problem: string | undefined): string | undefined {
  return problem?.replace(/ \(\d+\)$/, '').replace(/^with \d+ /, 'with ');
}

function invalidRecordEvent(problem: string, names: string[]): PoolEvent {
  const lost = 'and was replaced; its restore values are lost, and its other keys stay on the node';
  const note = (nodes: string) =>
    `the annotation ${RECORD_ANNOTATION} of ${nodes} was not a valid record (${problem}) ${lost}: `;
  return { ...listing(REASON.recordInvalid, names, note), type: 'Warning' };
}

/** The names that fit into one note, and the number of the others. */
function listing(reason: string, names: string[], describe: (nodes: string) => string): PoolEvent {
  const prefix = describe(plural(names.length, 'node'));
  const sorted = names.toSorted();
  const whole = prefix + sorted.join(', ');
  if (Buffer.byteLength(whole) <= NOTE_LIMIT) return normal(reason, whole);
  let note = prefix;
  let shown = 0;
  for (const name of sorted) {
    const next = `${note}${name}, `;
    if (Buffer.byteLength(`${next}and ${names.length} more`) > NOTE_LIMIT) break;
    note = next;
    shown++;
  }
  return normal(reason, `${note}and ${names.length - shown} more`);
}

// Sends the Events of a reconcile. A failure to send an Event is only a warning.

/** Events, each with its pool. */
type EventsOfPools = (readonly [NodePool, PoolEvent])[];

export class OutcomeEvents {
  readonly #options: ReconcilerOptions;

  constructor(options: ReconcilerOptions) {
    this.#options = options;
  }

  /** Events of node writes, and of the RuntimeClass of the pool. */
  ofWrites({ moves, runtimeClass }: PoolOutcome, pool?: NodePool): EventsOfPools {
    return [...this.#ofMoves(moves), ...(pool === undefined ? [] : runtimeClassEvents(pool, runtimeClass))];
  }

  #ofMoves(moves: NodeMove[]): EventsOfPools {
    const { state, onMoves } = this.#options;
    if (onMoves !== undefined) {
      onMoves(moves);
      return [];
    }
    return [...moveEvents(moves)].flatMap(([name, events]) => {
      const pool = state.pool(name);
      return pool === undefined ? [] : events.map(event => [pool, event] as const);
    });
  }

  /** Also after the signal is aborted, because the Events report completed writes. */
  async send(events: EventsOfPools, outcome: PoolOutcome): Promise<void> {
    const { cluster } = this.#options;
    const failures: WriteFailure[] = [];
    const send = ([pool, event]: EventsOfPools[number]) => cluster.createEvent(pool, event);
    await Promise.all(events.map(each => collectFailure(failures, () => send(each))));
    outcome.warnings.push(...messagesOf(failures));
  }
}

// Records node writes as Events. Reconciles of many pools that move nodes of one pool must not use up its rate limit:
// the first write is recorded at once, similar writes of the next second as one Event.
//
// Not guaranteed: writes that wait for the end of a second are lost if the process is killed. flush() records them.

const WINDOW_MS = 1_000;

interface MoveRecorderOptions {
  clock: Clock;
  /** Undefined if the pool does not exist: no Event is recorded. */
  poolOf: (name: string) => NodePool | undefined;
  record: (pool: NodePool, event: PoolEvent) => void;
}

export class MoveRecorder {
  readonly #options: MoveRecorderOptions;
  /** Writes within a second after a recorded Event, by pool and kind. */
  readonly #waiting = new Map<string, { pool: NodePool; moves: NodeMove[] }>();

  constructor(options: MoveRecorderOptions) {
    this.#options = options;
  }

  add(moves: readonly NodeMove[]): void {
    const concerns = moves.flatMap(move =>
      concernsOf(move).flatMap(([what, name]) => {
        // Looked up late, because the pool may be deleted within the second.
        const pool = this.#options.poolOf(name);
        return pool === undefined ? [] : [{ key: `${what} ${name} ${pool.metadata.uid}`, pool, move }];
      }),
    );
    for (const [key, group] of Map.groupBy(concerns, concern => concern.key)) {
      const waiting = this.#waiting.get(key);
      const added = group.map(({ move }) => move);
      if (waiting !== undefined) waiting.moves.push(...added);
      else for (const { pool } of group.slice(0, 1)) this.#begin(key, pool, added);
    }
  }

  /** Records all waiting writes. */
  flush(): void {
    for (const { pool, moves } of this.#waiting.values()) this.#write(pool, moves.splice(0));
  }

  #begin(key: string, pool: NodePool, moves: NodeMove[]): void {
    this.#write(pool, moves);
    const waiting: { pool: NodePool; moves: NodeMove[] } = { pool, moves: [] };
    this.#waiting.set(key, waiting);
    this.#options.clock.after(WINDOW_MS, () => {
      if (waiting.moves.length > 0) this.#begin(key, pool, waiting.moves);
      else this.#waiting.delete(key);
    });
  }

  #write(pool: NodePool, moves: NodeMove[]): void {
    for (const event of moveEvents(moves).get(pool.metadata.name) ?? []) this.#options.record(pool, event);
  }
}

/** The pools that the write affects, and how. */
function concernsOf({ from, to }: NodeMove): (readonly ['joined' | 'left' | 'updated', string])[] {
  if (from === to) return to === undefined ? [] : [['updated', to]];
  return [
    ...(to === undefined ? [] : [['joined', to] as const]),
    ...(from === undefined ? [] : [['left', from] as const]),
  ];
}
