/** `history`: the table, and `-o csv|json|yaml`. */
import { MESSAGE_WIDTH, REASON_WIDTH, shorten } from '../../print/cells.ts';
import { type Column, fitColumns } from '../../print/fit-columns.ts';
import { printDocument, renderCsv } from '../../print/printers.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, tablePrinter } from '../../print/table.ts';
import { formatAge, UNKNOWN } from '../../print/time.ts';
import type { HistoryEntry } from './entries.ts';
import type { History } from './run.ts';

export interface HistoryTableOptions {
  /** Times as they are, and what each line is known from. */
  wide: boolean;
  headers: boolean;
  /** To which details are wrapped; undefined: not at all. */
  terminalWidth: number | undefined;
}

type Kind = History['subject']['kind'];

/** A detail is not wrapped to less while other columns can be cut. */
const LEAST_DETAIL = 24;

/** What is so now, and since when nobody knows. */
const NOW = 'now';

export function renderHistory(
  { subject }: Pick<History, 'subject'>,
  entries: readonly HistoryEntry[],
  { wide, headers, terminalWidth }: HistoryTableOptions,
  now: Date,
  style: Style,
): string {
  const short = entries.map(shortEntry);
  const all = columnsOf(subject.kind, wide, style);
  const columns = terminalWidth === undefined ? all : fitColumns(all, short, now, terminalWidth);
  const header = headers ? columns.map(column => column.header) : undefined;
  const rows = short.map(entry => columns.map(({ cell }) => cell(entry, now, Infinity)));
  return tablePrinter(header, terminalWidth)(rows);
}

/** Without the last newline. @param entries of the history: those that are wanted */
export function printHistory(
  { subject }: Pick<History, 'subject'>,
  entries: readonly HistoryEntry[],
  format: 'json' | 'yaml',
): string {
  return printDocument('History', historyFields(subject, entries), format);
}

export function historyCsv(entries: readonly HistoryEntry[], headers: boolean): string {
  const rows = entries.map(({ time = '', what, who = '', pool = '', node = '', detail, sources }) => [
    ...[time, what, who, pool, node, detail],
    sources.join(' '),
  ]);
  return renderCsv(headers ? [['time', 'what', 'who', 'pool', 'node', 'detail', 'sources'], ...rows] : rows);
}

function historyFields(subject: History['subject'], entries: readonly HistoryEntry[]) {
  return {
    subject,
    items: entries.map(
      ({ time = null, what, who = null, detail, sources, pool, node, count, firstTime, isWarning }) => ({
        ...{ time, what, who, detail, sources, pool, node },
        ...(count === undefined ? {} : { count, firstTime }),
        isWarning: isWarning ?? false,
      }),
    ),
  };
}

function shortEntry(entry: HistoryEntry): HistoryEntry {
  return {
    ...entry,
    what: shorten(entry.what, REASON_WIDTH),
    who: entry.who === undefined ? undefined : shorten(entry.who, REASON_WIDTH),
    detail: shorten(entry.detail, MESSAGE_WIDTH),
  };
}

function columnsOf(kind: Kind, wide: boolean, style: Style): Column<HistoryEntry>[] {
  return [
    { header: 'TIME', cell: wide ? timeCell : ageCell, cutFrom: Infinity },
    { header: 'WHAT', cell: entry => whatCell(entry, style), rank: 1, cutFrom: 1 },
    { header: 'WHO', cell: ({ who = UNKNOWN }) => who, cutFrom: 1 },
    ...(wide ? [{ header: 'SOURCE', cell: ({ sources }: HistoryEntry) => sources.join(',') }] : []),
    { header: 'DETAIL', cell: entry => detailCell(entry, kind), wrapsAt: LEAST_DETAIL },
  ];
}

function ageCell({ time, count, firstTime }: HistoryEntry, now: Date, width: number): string {
  if (time === undefined) return NOW;
  const age = formatAge(time, now);
  if (count === undefined) return age;
  const text = `${age} (x${count} over ${formatAge(firstTime, now)})`;
  return text.length <= width ? text : `${age} (x${count})`;
}

function timeCell({ time = NOW }: HistoryEntry): string {
  return shorten(time, REASON_WIDTH);
}

function whatCell({ what, isWarning = false }: HistoryEntry, style: Style): Cell {
  return isWarning || what === 'Drift' ? { text: what, paint: style.yellow } : what;
}

/** Names the other object where an entry is about two: the node of a pool, or the pool of a node whose Event it is. */
function detailCell({ detail, node, pool, sources }: HistoryEntry, kind: Kind): string {
  if (kind === 'NodePool' && node !== undefined) return `node ${shorten(node, REASON_WIDTH)}: ${detail}`;
  const isOfPool = kind === 'Node' && pool !== undefined && sources.includes('Event');
  return isOfPool ? `pool ${shorten(pool, REASON_WIDTH)}: ${detail}` : detail;
}
