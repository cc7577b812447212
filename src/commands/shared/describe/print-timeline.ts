/** A timeline: its entries, Events, the table of `history` and `events`, and the Events of `describe` and `view`. */
import type { NodeEventRecord, PoolEventRecord } from '../../../kube/resources/events.ts';
import { MESSAGE_WIDTH, NONE, REASON_WIDTH, shorten } from '../../../print/cells.ts';
import { type Column, fitColumns } from '../../../print/fit-columns.ts';
import { nodesText, shortNames } from '../../../print/names.ts';
import type { Style } from '../../../print/style.ts';
import { type Cell, tablePrinter } from '../../../print/table.ts';
import { formatAge, UNKNOWN } from '../../../print/time.ts';

type EntrySource =
  | 'Event'
  | 'managedFields'
  | 'ControllerRevision'
  | 'condition'
  /** Fields and annotations of the object that have their own times, or describe the current state. */
  | 'object';

export interface TimelineEntry {
  /** RFC 3339; undefined: it is true now, since an unknown time. */
  time: string | undefined;
  /** CamelCase; for an Event its reason. */
  what: string;
  /** A field manager, the reporter of an Event, or the owner of a maintenance. */
  who: string | undefined;
  detail: string;
  sources: readonly EntrySource[];
  pool?: string | undefined;
  node?: string | undefined;
  /** All nodes that share the line, instead of `node`. */
  nodes?: readonly string[];
  /** For a repeated Event: how often and since when; `time` is the last occurrence. */
  count?: number;
  firstTime?: string;
  isWarning?: boolean;
  /** Reasons of Events with the same content, which replace this entry. */
  sameAs?: readonly string[];
}

/** The entry of an Event; `about` has the object that it concerns. */
export function eventEntry(event: NodeEventRecord, about: Pick<TimelineEntry, 'pool' | 'node'>): TimelineEntry {
  const { lastSeen, firstSeen, count, reason, reporter, note, type } = event;
  return {
    time: lastSeen === '' ? undefined : lastSeen,
    what: reason,
    who: reporter === '' ? undefined : reporter,
    detail: note.trim(),
    sources: ['Event'],
    ...about,
    ...(count > 1 ? { count, firstTime: firstSeen } : {}),
    ...(type === 'Warning' ? { isWarning: true } : {}),
  };
}

// The table.

export interface TimelineTableOptions {
  /** Show full timestamps, and the sources of each line. */
  wide: boolean;
  headers: boolean;
  /** Width for wrapping details; undefined: no wrapping. */
  terminalWidth: number | undefined;
}

/** The subject: lines of a pool's history name nodes, lines of a node's history or of Events name pools. */
type SubjectKind = 'NodePool' | 'Node' | 'Events';

/** The server's limit for names. */
const NAME_WIDTH = 253;

/** The first call returns the table, later calls return further rows. */
export function timelinePrinter(
  kind: SubjectKind,
  { wide, headers, terminalWidth }: TimelineTableOptions,
  style: Style,
): (entries: readonly TimelineEntry[], now: Date) => string {
  let table: { columns: Column<TimelineEntry>[]; render: (rows: Cell[][]) => string } | undefined;
  return (entries, now) => {
    const short = entries.map(shortEntry);
    if (table === undefined) {
      const all = columnsOf(kind, wide, style, shortNames(short.flatMap(({ nodes = [] }) => nodes)));
      const columns = terminalWidth === undefined ? all : fitColumns(all, short, now, terminalWidth);
      const header = headers ? columns.map(column => column.header) : undefined;
      table = { columns, render: tablePrinter(header, terminalWidth) };
    }
    const { columns, render } = table;
    return render(short.map(entry => columns.map(({ cell }) => cell(entry, now, Infinity))));
  };
}

function shortEntry(entry: TimelineEntry): TimelineEntry {
  return {
    ...entry,
    what: shorten(entry.what, REASON_WIDTH),
    who: entry.who === undefined ? undefined : shorten(entry.who, REASON_WIDTH),
    pool: entry.pool === undefined ? undefined : shorten(entry.pool, NAME_WIDTH),
    detail: shorten(entry.detail, MESSAGE_WIDTH),
  };
}

/** @param short shortens names of nodes */
function columnsOf(
  kind: SubjectKind,
  wide: boolean,
  style: Style,
  short: (name: string) => string,
): Column<TimelineEntry>[] {
  const isEvents = kind === 'Events';
  const type: Column<TimelineEntry> = { header: 'TYPE', cell: entry => typeCell(entry, style), rank: 2 };
  const pool: Column<TimelineEntry> = { header: 'POOL', cell: ({ pool = NONE }) => pool, cutFrom: 1, isName: true };
  return [
    { header: 'TIME', cell: wide ? timeCell : ageCell, cutFrom: Infinity },
    ...(isEvents ? [type] : []),
    { header: 'WHAT', cell: isEvents ? ({ what }) => what : entry => whatCell(entry, style), rank: 1, cutFrom: 1 },
    { header: 'WHO', cell: ({ who = UNKNOWN }) => who, cutFrom: 1, ...(isEvents ? { rank: 3 } : {}) },
    ...(wide ? [{ header: 'SOURCE', cell: ({ sources }: TimelineEntry) => sources.join(',') }] : []),
    ...(isEvents ? [pool] : []),
    { header: 'DETAIL', cell: entry => detailCell(entry, kind, short), isText: true },
  ];
}

function ageCell({ time, count, firstTime }: TimelineEntry, now: Date, width: number): string {
  // The current state, since an unknown time.
  if (time === undefined) return UNKNOWN;
  const age = formatAge(time, now);
  if (count === undefined) return age;
  const text = `${age} (x${count} over ${formatAge(firstTime, now)})`;
  return text.length <= width ? text : `${age} (x${count})`;
}

function timeCell({ time = UNKNOWN }: TimelineEntry): string {
  return shorten(time, REASON_WIDTH);
}

/** kubectl's names of the two types. */
export function typeCell({ isWarning = false }: Pick<TimelineEntry, 'isWarning'>, style: Style): Cell {
  return isWarning ? { text: 'Warning', paint: style.yellow } : 'Normal';
}

function whatCell({ what, isWarning = false }: TimelineEntry, style: Style): Cell {
  return isWarning || what === 'Drift' ? { text: what, paint: style.yellow } : what;
}

/** Adds the other object: nodes in a pool's history, the pool in a node's. Events have a column for it. */
function detailCell(
  { detail, node, nodes, pool, sources }: TimelineEntry,
  kind: SubjectKind,
  short: (name: string) => string,
): string {
  if (nodes !== undefined) return `${nodesText(nodes, short)}: ${detail}`;
  if (kind === 'NodePool' && node !== undefined) return `node ${shorten(node, REASON_WIDTH)}: ${detail}`;
  const isOfPool = kind === 'Node' && pool !== undefined && sources.includes('Event');
  return isOfPool ? `pool ${shorten(pool, REASON_WIDTH)}: ${detail}` : detail;
}

// The section of `describe`, and `view`.

/** The event with texts short enough for a screen: core/v1 Events of others may be of any length. */
export function shortEvent(event: PoolEventRecord): PoolEventRecord {
  return {
    ...event,
    pool: shorten(event.pool, NAME_WIDTH),
    type: shorten(event.type, REASON_WIDTH),
    reason: shorten(event.reason, REASON_WIDTH),
    reporter: shorten(event.reporter, REASON_WIDTH),
    note: shorten(event.note.trim(), MESSAGE_WIDTH),
  };
}

/** The columns and rows of `kubectl describe`. */
export function describeEvents(
  events: NodeEventRecord[],
  now: Date,
  style: Style,
): { columns: string[]; rows: Cell[][] } {
  const entries = events.map(event => shortEntry(eventEntry(event, {})));
  return {
    columns: ['Type', 'Reason', 'Age', 'From', 'Message'],
    rows: entries.map(entry => [
      typeCell(entry, style),
      entry.what,
      ageCell(entry, now, Infinity),
      entry.who ?? NONE,
      entry.detail,
    ]),
  };
}

type LastSeen = Pick<PoolEventRecord, 'lastSeen'>;

/** Sorts by last occurrence. The server omits a zero fraction, so `01Z` must come before `01.9Z`. */
export function oldestFirst(a: LastSeen, b: LastSeen): number {
  const [first, second] = [instant(a), instant(b)];
  if (first.ms !== second.ms) return first.ms - second.ms;
  return first.fraction < second.fraction ? -1 : first.fraction > second.fraction ? 1 : 0;
}

/** A Date has milliseconds, an Event microseconds. An invalid time counts as oldest. */
function instant({ lastSeen }: LastSeen): { ms: number; fraction: string } {
  const ms = Date.parse(lastSeen);
  const [, fraction = ''] = /\.(\d+)/.exec(lastSeen) ?? [];
  return { ms: Number.isNaN(ms) ? Number.NEGATIVE_INFINITY : ms, fraction: fraction.padEnd(9, '0') };
}
