/** `history`: the table, and `-o csv|json|yaml`. */
import { plural } from '../../nodepool/text.ts';
import { MESSAGE_WIDTH, REASON_WIDTH, shorten } from '../../print/cells.ts';
import { type Column, fitColumns } from '../../print/fit-columns.ts';
import { printDocument, renderCsv } from '../../print/printers.ts';
import type { Style } from '../../print/style.ts';
import { type Cell, tablePrinter } from '../../print/table.ts';
import { formatAge, UNKNOWN } from '../../print/time.ts';
import { namesText } from '../shared/changes/blocks.ts';
import type { TimelineEntry } from './entries.ts';
import type { Timeline } from './run.ts';

interface TimelineTableOptions {
  /** Times as they are, and what each line is known from. */
  wide: boolean;
  headers: boolean;
  /** To which details are wrapped; undefined: not at all. */
  terminalWidth: number | undefined;
}

type SubjectKind = Timeline['subject']['kind'];

/** The time of an entry that says what is true now, and not since when. */
const NOW = 'now';

export function renderTimeline(
  { subject }: Timeline,
  entries: readonly TimelineEntry[],
  { wide, headers, terminalWidth }: TimelineTableOptions,
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
export function printTimeline(
  { subject }: Timeline,
  entries: readonly TimelineEntry[],
  format: 'json' | 'yaml',
): string {
  return printDocument('History', timelineFields(subject, entries), format);
}

export function timelineCsv(entries: readonly TimelineEntry[], headers: boolean): string {
  const rows = entries.map(({ time = '', what, who = '', pool = '', node = '', detail, sources }) => [
    ...[time, what, who, pool, node, detail],
    sources.join(' '),
  ]);
  return renderCsv(headers ? [['time', 'what', 'who', 'pool', 'node', 'detail', 'sources'], ...rows] : rows);
}

function timelineFields(subject: Timeline['subject'], entries: readonly TimelineEntry[]) {
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

function shortEntry(entry: TimelineEntry): TimelineEntry {
  return {
    ...entry,
    what: shorten(entry.what, REASON_WIDTH),
    who: entry.who === undefined ? undefined : shorten(entry.who, REASON_WIDTH),
    detail: shorten(entry.detail, MESSAGE_WIDTH),
  };
}

function columnsOf(kind: SubjectKind, wide: boolean, style: Style): Column<TimelineEntry>[] {
  return [
    { header: 'TIME', cell: wide ? timeCell : ageCell, cutFrom: Infinity },
    { header: 'WHAT', cell: entry => whatCell(entry, style), rank: 1, cutFrom: 1 },
    { header: 'WHO', cell: ({ who = UNKNOWN }) => who, cutFrom: 1 },
    ...(wide ? [{ header: 'SOURCE', cell: ({ sources }: TimelineEntry) => sources.join(',') }] : []),
    { header: 'DETAIL', cell: entry => detailCell(entry, kind), isText: true },
  ];
}

function ageCell({ time, count, firstTime }: TimelineEntry, now: Date, width: number): string {
  if (time === undefined) return NOW;
  const age = formatAge(time, now);
  if (count === undefined) return age;
  const text = `${age} (x${count} over ${formatAge(firstTime, now)})`;
  return text.length <= width ? text : `${age} (x${count})`;
}

function timeCell({ time = NOW }: TimelineEntry): string {
  return shorten(time, REASON_WIDTH);
}

function whatCell({ what, isWarning = false }: TimelineEntry, style: Style): Cell {
  return isWarning || what === 'Drift' ? { text: what, paint: style.yellow } : what;
}

/** Names the second object of an entry: the node or nodes in the history of a pool, the pool in that of a node. */
function detailCell({ detail, node, nodes, pool, sources }: TimelineEntry, kind: SubjectKind): string {
  if (nodes !== undefined)
    return `${plural(nodes.length, 'node')} (${shorten(namesText(nodes), MESSAGE_WIDTH)}): ${detail}`;
  if (kind === 'NodePool' && node !== undefined) return `node ${shorten(node, REASON_WIDTH)}: ${detail}`;
  const isOfPool = kind === 'Node' && pool !== undefined && sources.includes('Event');
  return isOfPool ? `pool ${shorten(pool, REASON_WIDTH)}: ${detail}` : detail;
}
