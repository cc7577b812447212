/** What changed, told as Events. All names are told; notes are cut into as many events as the server's limit needs. */

import { ellipsize } from '../nodepool/cut-bytes.ts';
import type { Change } from '../nodepool/plan.ts';
import { plural } from '../nodepool/plural.ts';
import type { NodePool, NodePoolStatus } from '../nodepool/types.ts';
import type { NodeMove } from './node-writer.ts';
import type { PoolEvent } from './ports.ts';
import type { RuntimeClassOutcome } from './runtime-class-writer.ts';

/** Bytes that a note may have, on the server. */
const NOTE_LIMIT = 1024;

/** Reasons of Events; NodeConflict, RuntimeClassConflict and InvalidSpec come from the conditions of the same name. */
export const REASON = {
  nodeJoined: 'NodeJoined',
  nodeLeft: 'NodeLeft',
  nodesUpdated: 'NodesUpdated',
  runtimeClassCreated: 'RuntimeClassCreated',
  runtimeClassUpdated: 'RuntimeClassUpdated',
  runtimeClassDeleted: 'RuntimeClassDeleted',
  reconcileFailed: 'ReconcileFailed',
} as const;

export function normal(reason: string, note: string): PoolEvent {
  return { type: 'Normal', reason, action: 'Reconcile', note: ellipsize(note, NOTE_LIMIT) };
}

export function warning(reason: string, note: string): PoolEvent {
  return { type: 'Warning', reason, action: 'Reconcile', note: ellipsize(note, NOTE_LIMIT) };
}

/** The events that tell of node writes, by pool. Nodes that changed alike share an event. */
export function moveEvents(moves: NodeMove[]): Map<string, PoolEvent[]> {
  const byPool = new Map<string, PoolEvent[]>();
  const tell = (pool: string, events: PoolEvent[]) => byPool.set(pool, [...(byPool.get(pool) ?? []), ...events]);
  const names = (group: NodeMove[]) => group.map(move => move.node);

  for (const [pool, group] of groupBy(moves, move => (move.from === move.to ? undefined : move.to))) {
    tell(
      pool,
      listing(REASON.nodeJoined, names(group), count => `${plural(count, 'node')} joined: `),
    );
  }
  for (const [pool, group] of groupBy(moves, move => (move.from === move.to ? undefined : move.from))) {
    tell(
      pool,
      listing(REASON.nodeLeft, names(group), count => `${plural(count, 'node')} left: `),
    );
  }
  const updated = moves.filter(move => move.from === move.to && move.changes.length > 0);
  for (const [pool, group] of groupBy(updated, move => move.to)) {
    for (const [what, alike] of groupBy(group, move => move.changes.map(describeChange).join(', '))) {
      const prefix = (count: number) => `${plural(count, 'node')} updated (${ellipsize(what, NOTE_LIMIT / 2)}): `;
      tell(pool, listing(REASON.nodesUpdated, names(alike), prefix));
    }
  }
  return byPool;
}

function groupBy(moves: NodeMove[], key: (move: NodeMove) => string | undefined): [string, NodeMove[]][] {
  return [...Map.groupBy(moves, key)].filter((entry): entry is [string, NodeMove[]] => entry[0] !== undefined);
}

export function runtimeClassEvents(pool: NodePool, outcome: RuntimeClassOutcome): (readonly [NodePool, PoolEvent])[] {
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

/** Warnings are told when they arise or change, not on every run. */
export function conditionEvents(pool: NodePool, status: NodePoolStatus): PoolEvent[] {
  const events: PoolEvent[] = [];
  for (const { type, status: value, reason, message } of status.conditions ?? []) {
    const bad = (type === 'Applied' && value === 'False') || (type === 'Conflict' && value === 'True');
    const before = pool.status?.conditions?.find(condition => condition.type === type);
    if (!bad || (before?.status === value && before.message === message)) continue;
    events.push(warning(reason === 'WriteFailed' ? REASON.reconcileFailed : reason, message));
  }
  return events;
}

/** `label a set to "b" (spec)`: one change in a few words. */
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

function listing(reason: string, names: string[], prefix: (count: number) => string): PoolEvent[] {
  const events: PoolEvent[] = [];
  let batch: string[] = [];
  let bytes = 0;
  const room = NOTE_LIMIT - Buffer.byteLength(prefix(names.length));
  const flush = () => {
    if (batch.length > 0) events.push(normal(reason, prefix(batch.length) + batch.join(', ')));
    batch = [];
    bytes = 0;
  };
  for (const name of names.toSorted()) {
    const size = Buffer.byteLength(name) + 2;
    if (bytes + size > room) flush();
    batch.push(name);
    bytes += size;
  }
  flush();
  return events;
}
