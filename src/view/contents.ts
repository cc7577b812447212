/** The contents of a place: the current rows of its list, or the lines of its text. */
import { changeCell } from '../commands/shared/changes/print-diff.ts';
import { maintenanceLine } from '../commands/shared/cordon/print-cordon.ts';
import { typeCell } from '../commands/shared/describe/print-timeline.ts';
import type { PoolEventRecord } from '../kube/resources/events.ts';
import { countMaintenance } from '../nodepool/drain/maintenance.ts';
import { allChanges, dueOf } from '../nodepool/plan/plan.ts';
import { formatTaint } from '../nodepool/spec/syntax.ts';
import type { Node } from '../nodepool/types.ts';
import { annotationPairs, type LabelledField, labelTexts, NONE, nodeStatusCell, orNone } from '../print/cells.ts';
import { cutNames } from '../print/names.ts';
import { displayQuantity } from '../print/quantity.ts';
import type { Style } from '../print/style.ts';
import { type Cell, columnWidths, fit, paintAs, safeText } from '../print/table.ts';
import { formatTimeAndAge } from '../print/time.ts';
import { cut, widthOf, wrap, wrapIndented } from '../print/width.ts';
import { blockedOf } from '../reconciler/plan/blocked.ts';
import { nodePlan } from '../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../reconciler/state/cluster-state.ts';
import { type Column, EXTRA, eventColumns, nodeColumns, poolColumns } from './columns.ts';
import { NO_POOL, type Place, type ScreenData, type SortOrder } from './places.ts';
import { eventRows, type NodeTotals, nodeRows, nodeTotals, poolRows } from './rows.ts';
import type { LiveView } from './view.ts';
import type { LiveUsage } from './view-usage.ts';

export type ScreenContents = { totals: NodeTotals } & (
  | { kind: 'text'; lines: string[] }
  | {
      kind: 'list';
      /** Keys of the filtered rows, in order. */
      keys: string[];
      /** Number of unfiltered rows, except the row for nodes without a pool. */
      total: number;
      sorts: ScreenData['sorts'];
      /** Shown if there are no rows. */
      empty: string;
      /** A pool whose state changes with time. */
      isProgressing?: boolean;
      /** @param count number of rows from top on */
      draw(top: number, count: number, options: ListOptions): { header: string; lines: string[] };
    }
);

export interface DrawOptions {
  width: number;
  now: Date;
  style: Style;
  /** Undefined shows allocatable resources. */
  usage: LiveUsage | undefined;
}

export function contentsOf(
  place: Place,
  live: Pick<LiveView, 'clusterState' | 'events' | 'serverTime'>,
  setting: DrawOptions,
): ScreenContents {
  const { width, now, style, usage } = setting;
  const { clusterState } = live;
  const all = nodeTotals(clusterState, now);
  const text = (fields: Parameters<typeof fieldLines>[0]) =>
    ({ kind: 'text', totals: all, lines: fieldLines(fields, width) }) as const;
  switch (place.kind) {
    case 'pools': {
      const rows = poolRows(clusterState, live.serverTime());
      const isProgressing = rows.some(row => row.live?.rollout === 'Progressing');
      const columns = poolColumns(rows, width, style, usage);
      return { totals: all, isProgressing, ...list(rows, columns, place, now, 'No pools') };
    }
    case 'nodes': {
      const rows = nodeRows(clusterState, place.pool);
      const columns = nodeColumns(rows, { width, now, style, usage, isOfAll: place.pool === undefined });
      return { totals: all, ...list(rows, columns, place, now, 'No nodes') };
    }
    case 'events': {
      const rows = eventRows(live, place.pool);
      return { totals: all, ...list(rows, eventColumns(place.pool, style), place, now, 'No events') };
    }
    case 'node': {
      const node = clusterState.node(place.subject ?? '');
      return node === undefined
        ? text([
            ['Name', place.subject ?? ''],
            ['Status', 'gone'],
          ])
        : text(nodeText(clusterState, node, now, style));
    }
    case 'event': {
      const found = eventRows(live, undefined).find(({ key }) => key === place.subject);
      return found === undefined
        ? text([['Event', 'deleted on the server']])
        : text(eventText(found.event, now, style));
    }
    case 'describe':
    case 'yaml':
    case 'pods':
    case 'diff':
    case 'why': {
      const lines = (place.text ?? 'Reading …').split('\n').flatMap(line => wrapIndented(line, width));
      return { kind: 'text', totals: all, lines };
    }
    case 'help':
      return { kind: 'text', totals: all, lines: helpLines(width) };
  }
}

/** @param page number of rows or lines that fit */
export function screenDataOf(
  contents: ScreenContents,
  page: number,
  { clusterState }: Pick<LiveView, 'clusterState'>,
): ScreenData {
  const known = {
    node: (name: string) => clusterState.node(name),
    pools: () => clusterState.poolNames(),
    names: () => [...clusterState.poolNames(), ...[...clusterState.nodes()].map(({ name }) => name).toSorted()],
    ownerOf: (node: string) => clusterState.ownership(node)?.owner,
  };
  if (contents.kind === 'text') return { keys: [], length: contents.lines.length, page, sorts: new Map(), ...known };
  return { keys: contents.keys, length: contents.keys.length, page, sorts: contents.sorts, ...known };
}

function list<Row extends { key: string }>(
  rows: Row[],
  columns: Column<Row>[],
  { filter, sort }: Place,
  now: Date,
  none: string,
) {
  const shown = select(rows, columns, { filter, sort, now });
  return {
    kind: 'list' as const,
    keys: shown.map(({ key }) => key),
    total: rows.filter(({ key }) => key !== NO_POOL).length,
    sorts: new Map(columns.map(({ letter, descending = false }) => [letter, { descending }])),
    empty: filter === '' ? none : 'Nothing matches the filter; esc removes it',
    draw: (top: number, count: number, options: ListOptions) =>
      listLines({ all: shown, shown: shown.slice(top, top + count) }, columns, options),
  };
}

// The detail texts: a node, an event, the help. All lines fit the width.

/** Minimum width of the title column, so that it does not move when fields come and go. */
const TITLE_WIDTH = 14;

function nodeText(clusterState: ClusterState, node: Node, now: Date, style: Style): LabelledField[] {
  const ownership = clusterState.ownership(node.name);
  const holder = ownership?.record?.pool;
  const plan = nodePlan(clusterState, node.name);
  const changes = allChanges(dueOf(plan));
  const blocked = blockedOf(clusterState, plan);
  const maintenance = maintenanceLine(node, now);
  const isLate = countMaintenance([node], now).overdue > 0;
  const resources = Object.entries(node.allocatable).map(
    ([name, quantity]) => `${name}: ${displayQuantity(name, quantity)}`,
  );
  return [
    ['Name', node.name],
    ['Pool', ownership?.owner ?? NONE],
    ...(holder !== undefined && holder !== ownership?.owner
      ? [['Owned by', blocked ? holder : `${holder}: released by the next reconcile`] as LabelledField]
      : []),
    ...(ownership !== undefined && ownership.conflicting.length > 0
      ? [['Also matched by', ownership.conflicting.join(', ')] as LabelledField]
      : []),
    ['Status', nodeStatusCell(node, style)],
    ...(maintenance === undefined
      ? []
      : [['Maintenance', isLate ? { text: maintenance, paint: style.red } : maintenance] as LabelledField]),
    ['Created', formatTimeAndAge(node.creationTimestamp, now)],
    ...(blocked === undefined
      ? []
      : [['Not written', { text: `${blocked.why}; next: ${blocked.next}`, paint: style.red }] as LabelledField]),
    ['Changes due', changes.length === 0 ? NONE : changes.map(change => changeCell(change, style))],
    ['Taints', orNone(node.taints.map(formatTaint))],
    ['Allocatable', orNone(resources.toSorted())],
    ['Labels', orNone(labelTexts(node.labels))],
    ...(node.annotations === undefined ? [] : [['Annotations', annotationPairs(node.annotations)] as LabelledField]),
  ];
}

function eventText(event: PoolEventRecord, now: Date, style: Style): LabelledField[] {
  const { count } = event;
  return [
    ['Pool', event.pool],
    ['Reason', event.reason],
    ['Type', typeCell({ isWarning: event.type === 'Warning' }, style)],
    ['Last seen', formatTimeAndAge(event.lastSeen, now)],
    ...(count > 1
      ? [['First seen', `${formatTimeAndAge(event.firstSeen, now)}, ${count} times`] as LabelledField]
      : []),
    ['From', event.reporter || NONE],
    ['Message', event.note],
  ];
}

/** The fields as lines; long values are wrapped. A title that does not fit its column gets its own line. */
function fieldLines(fields: readonly LabelledField[], width: number): string[] {
  const longest = Math.max(TITLE_WIDTH, ...fields.map(([title]) => title.length + ':  '.length));
  const column = Math.min(longest, Math.floor(width / 3));
  return fields.flatMap(([title, values]) => {
    const texts = [values].flat().flatMap(value => {
      const text = typeof value === 'string' ? value : value.text;
      return wrap(text, Math.max(width - column, 1)).map(line => paintAs(value, line));
    });
    const isBeside = title.length + ': '.length <= column;
    const lines = texts.map((text, i) => fit(i === 0 && isBeside ? `${title}:` : '', column) + text);
    return isBeside ? lines : [...wrap(`${title}:`, width), ...lines];
  });
}

/** Width of the first column of the help. */
const KEYS_WIDTH = 18;
const HELP: readonly (readonly [keys: string, what: string])[] = [
  ['↑ ↓ k j g G', 'up, down, first, last; pgup, pgdn, space: a page'],
  ['enter  →', 'open the pool, the node, the event'],
  ['q esc  ←', 'back; esc removes the filter first'],
  ['/', 'filter the rows; !text: rows without text'],
  [':', 'jump to a pool or node, or :nodes :pods :events :pools'],
  ['d  y  p', 'describe, YAML, pods of the pool or node'],
  ['w', 'why the node is in its pool'],
  ['=  r', 'changes that reconcile would make; reconcile: asks'],
  ['t', 'requested and used resources'],
  ['e  E', 'events of the pool, of all pools'],
  ['c  u  D', 'cordon, uncordon, drain the node or the pool: ask first'],
  ['N S A', 'sort by name, status, age; again: reversed'],
  ['C M P U  V W', 'sort by cpu, memory, pods, gpus; cpu used, memory used'],
  ['Z R X B F  T Y K', 'pools: nodes, ready, cordoned, due, drift, taints, zone, type'],
  ['T I O  Z Y X', 'nodes: state, maintenance, pool; zone, type, taints'],
  ['L T S O M', 'events: last seen, type, reason, pool, message'],
  ['?', 'help; any key that does not scroll closes it'],
  ['ctrl-l  ctrl-c', 'redraw the screen, quit'],
  ['█ ▒ ░', 'nodes: ready, cordoned, not ready'],
];

export function helpLines(width: number): string[] {
  return HELP.flatMap(([keys, what]) =>
    wrap(what, Math.max(width - KEYS_WIDTH, 1)).map((line, i) =>
      fit(fit(i === 0 ? keys : '', KEYS_WIDTH) + line, width),
    ),
  );
}

// A list on the screen: sorted, filtered, with as many columns as fit.

interface ListOptions {
  /** Key of the selected row. */
  selected: string | undefined;
  sort: SortOrder;
  /** Width of the screen. */
  width: number;
  now: Date;
  style: Style;
}

const GAP = ' ';
/** Precede the selected row, and the other rows. */
const [MARK, NO_MARK] = ['>', ' '];
/** Names are cut to this width before columns that must stay are cut. */
const SHORT = 10;

/** The rows with a cell that contains the filter, case-insensitively; with a leading `!`, the rows without one. */
function select<Row extends { key: string }>(
  rows: readonly Row[],
  columns: readonly Column<Row>[],
  { filter, sort, now }: { filter: string; sort: SortOrder; now: Date },
): Row[] {
  const isInverse = filter.startsWith('!');
  const wanted = filter.slice(isInverse ? 1 : 0).toLowerCase();
  const isShown = (row: Row) =>
    wanted === '' ||
    columns.some(column =>
      safeText(column.cell(row, now, Infinity))
        .toLowerCase()
        .includes(wanted),
    ) !== isInverse;
  const by = columns.find(({ letter }) => letter === sort.by) ?? columns[0];
  const found = rows.filter(isShown).map(row => ({ row, value: by?.value(row) ?? 0 }));
  const sign = sort.descending ? -1 : 1;
  found.sort((a, b) => sign * order(a.value, b.value) || order(a.row.key, b.row.key));
  return found.map(({ row }) => row);
}

/** The header and the visible rows, none wider than the width. @param all rows, which determine how names are cut */
function listLines<Row extends { key: string }>(
  { all, shown: rows }: { all: readonly Row[]; shown: readonly Row[] },
  columns: readonly Column<Row>[],
  { selected, sort, width, now, style }: ListOptions,
): { header: string; lines: string[] } {
  const titles = columns.map(({ title, letter, align }) => {
    const arrow = letter !== sort.by ? '' : sort.descending ? '↓' : '↑';
    return align === 'right' ? arrow + title : title + arrow;
  });
  const cells = rows.map(row => columns.map(column => column.cell(row, now, Infinity)));
  // Reserves space for the sort arrow, so that columns do not move.
  const natural = columnWidths([columns.map(({ title }) => title), ...cells]).map(each => each + 1);
  const areAll = (i: number, texts: readonly (string | undefined)[]) =>
    rows.length > 0 && cells.every(row => texts.includes(safeText(row[i] ?? '')));
  const isEmpty = columns.map((_, i) => areAll(i, [NONE, '']));
  const isKnown = columns.map(({ known }, i) => areAll(i, [known]));
  const isSame = columns.map((_, i) => rows.length > 1 && areAll(i, [safeText(cells[0]?.[i] ?? '')]));
  const nameAt = columns.findIndex(({ isName }) => isName);
  const names = all.map(row => safeText(columns[nameAt]?.cell(row, now, Infinity) ?? ''));
  const cutTo = (room: number) => cutNames(names, room - 1);
  /** The width that a column needs of this room, if its cells are cut to it. */
  const widthIn = (at: number, room: number) => {
    if (room >= (natural[at] ?? 0)) return natural[at] ?? 0;
    const shorten = at === nameAt ? cutTo(room) : (text: string) => text;
    const texts = rows.map(row => shorten(safeText(columns[at]?.cell(row, now, room - 1) ?? '')));
    return Math.min(room, Math.max(columns[at]?.title.length ?? 0, ...texts.map(widthOf)) + 1);
  };
  // The column of the sort order stays visible.
  const ranked = columns.map(column => (column.letter === sort.by ? { ...column, rank: 0 } : column));
  const widths = fitWidths(ranked, { natural, isEmpty, isKnown, isSame, widthIn }, width - MARK.length);
  const line = (mark: string, texts: readonly Cell[]) => {
    const shown = columns.flatMap(({ align }, i) => {
      const room = widths[i];
      return room === undefined ? [] : [fit(texts[i] ?? '', room, align)];
    });
    return mark + shown.join(GAP);
  };
  const shorten = cutTo(widths[nameAt] ?? 0);
  return {
    header: cut(line(NO_MARK, titles), width),
    lines: rows.map((row, i) => {
      const texts = (cells[i] ?? []).map((cell, at) => {
        if (at === nameAt) return shorten(safeText(cell));
        const [column, room] = [columns[at], widths[at]];
        return column?.shrinks === undefined || room === undefined ? cell : column.cell(row, now, room - 1);
      });
      // The inverted row has no other colours.
      return row.key === selected
        ? style.inverse(style.bold(fit(line(MARK, texts.map(safeText)), width)))
        : line(NO_MARK, texts);
    }),
  };
}

interface ListWidths {
  natural: readonly number[];
  /** Empty columns, and columns whose cells all have the known value, are dropped first. */
  isEmpty: readonly boolean[];
  isKnown: readonly boolean[];
  /** All cells are the same. */
  isSame: readonly boolean[];
  widthIn: (column: number, room: number) => number;
}

/**
 * The width of each column; undefined drops it. Extra columns go before names are cut. Lists, then names, are cut before
 * other columns that say something go.
 */
function fitWidths(
  columns: readonly Column<never>[],
  { natural, isEmpty, isKnown, isSame, widthIn }: ListWidths,
  width: number,
): (number | undefined)[] {
  const kept = new Set(columns.keys());
  const main = columns.findIndex(column => column.shrinks !== undefined);
  const naturalOf = (i: number) => natural[i] ?? 0;
  const leastMain = widthIn(main, columns[main]?.shrinks ?? 0);
  const leastOf = (i: number) =>
    i === main ? leastMain : Math.min(naturalOf(i), columns[i]?.shrinks ?? Number.POSITIVE_INFINITY);
  const sum = (widthOf: (i: number) => number) =>
    [...kept].reduce((total, i) => total + widthOf(i), (kept.size - 1) * GAP.length);
  const byRank = [...columns.entries()]
    .filter(([, { rank }]) => rank > 0)
    .sort(([i, a], [j, b]) => b.rank - a.rank || j - i)
    .map(([i]) => i);
  const rankOf = (i: number) => columns[i]?.rank ?? 0;
  const drop = (which: (i: number) => boolean, widthOf: (i: number) => number) => {
    for (const i of byRank) if (which(i) && sum(widthOf) > width) kept.delete(i);
  };
  for (const i of byRank) if (rankOf(i) >= EXTRA && isEmpty[i]) kept.delete(i);
  drop(i => isEmpty[i] === true || isKnown[i] === true, naturalOf);
  const withWholeNames = (i: number) => (i === main ? naturalOf(i) : leastOf(i));
  drop(i => isSame[i] === true && rankOf(i) >= EXTRA, withWholeNames);
  const isExtra = (i: number) => rankOf(i) >= EXTRA;
  const others = [...kept].filter(i => !isExtra(i));
  const leastTotal = others.reduce((total, i) => total + withWholeNames(i), (others.length - 1) * GAP.length);
  if (leastTotal <= width) drop(isExtra, withWholeNames);
  const useful = new Set(kept);
  drop(() => true, leastOf);
  // A narrow column may fit into the space of a wider one that was dropped later.
  for (const i of byRank.toReversed()) {
    if (!useful.has(i)) continue;
    kept.add(i);
    if (sum(leastOf) > width) kept.delete(i);
  }
  const widths = columns.map((_, i) => (kept.has(i) ? naturalOf(i) : undefined));
  const taken = () => sum(i => widths[i] ?? 0);
  /** Narrows the widest of these columns until all fit. */
  const shrink = (which: readonly number[], least: (i: number) => number) => {
    for (;;) {
      const wide = which.filter(i => (widths[i] ?? 0) > least(i));
      const [widest] = wide.sort((a, b) => (widths[b] ?? 0) - (widths[a] ?? 0));
      if (widest === undefined || taken() <= width) return;
      widths[widest] = (widths[widest] ?? 0) - 1;
    }
  };
  const besideNames = [...kept].filter(i => i !== main);
  if (taken() > width) {
    const areNamesWhole = sum(withWholeNames) <= width;
    if (!areNamesWhole) widths[main] = leastMain;
    shrink(besideNames, leastOf);
    for (const i of besideNames) widths[i] = widthIn(i, widths[i] ?? 0);
    // Names get the space that other columns leave.
    const rest = width - taken() + (widths[main] ?? 0);
    if (!areNamesWhole) widths[main] = widthIn(main, Math.max(rest, Math.min(naturalOf(main), SHORT)));
  }
  for (const i of byRank.toReversed()) {
    if (kept.has(i) || isEmpty[i]) continue;
    kept.add(i);
    widths[i] = naturalOf(i);
    if (taken() <= width) continue;
    kept.delete(i);
    widths[i] = undefined;
  }
  shrink(besideNames, () => 1);
  shrink([main], () => 1);
  return taken() > width ? columns.map((_, i) => (i === main ? Math.max(width, 0) : undefined)) : widths;
}

function order(a: string | number, b: string | number): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
