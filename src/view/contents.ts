/** The contents of a place: the current rows of its list, or the lines of its text. */
import type { LiveView } from '../operations/view/view.ts';
import type { LiveUsage } from '../operations/view/view-usage.ts';
import type { Style } from '../render/style.ts';
import { wrapIndented } from '../render/width.ts';
import type { Column } from './column.ts';
import { eventColumns, nodeColumns, poolColumns } from './columns.ts';
import { type ListOptions, listLines, select } from './list.ts';
import { NO_POOL, type Place, type Scene } from './places.ts';
import { eventRows, nodeRows, poolRows, type Totals, totals } from './rows.ts';
import { eventText, fieldLines, helpLines, nodeText } from './texts.ts';

export type Contents = { totals: Totals } & (
  | { kind: 'text'; lines: string[] }
  | {
      kind: 'list';
      /** Of the filtered rows, in order. */
      keys: string[];
      /** Of all rows but that of the nodes of no pool. */
      total: number;
      sorts: Scene['sorts'];
      /** Shown instead of rows when there are none. */
      empty: string;
      /** @param count of rows from top on */
      draw(top: number, count: number, options: ListOptions): { header: string; lines: string[] };
    }
);

export interface Setting {
  width: number;
  now: Date;
  style: Style;
  /** Undefined shows allocatable resources. */
  usage: LiveUsage | undefined;
}

export function contentsOf(place: Place, live: Pick<LiveView, 'clusterState' | 'events'>, setting: Setting): Contents {
  const { width, now, style, usage } = setting;
  const { clusterState } = live;
  const all = totals(clusterState, now);
  const text = (fields: Parameters<typeof fieldLines>[0]) =>
    ({ kind: 'text', totals: all, lines: fieldLines(fields, width) }) as const;
  switch (place.kind) {
    case 'pools': {
      const rows = poolRows(clusterState);
      return { totals: all, ...list(rows, poolColumns(rows, width, style, usage), place, now, 'No pools') };
    }
    case 'nodes': {
      const rows = nodeRows(clusterState, place.pool ?? '');
      return { totals: all, ...list(rows, nodeColumns(rows, style, usage, now), place, now, 'No nodes') };
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
        ? text([['Event', 'the server has deleted it']])
        : text(eventText(found.event, now, style));
    }
    case 'describe':
    case 'yaml': {
      const lines = (place.text ?? 'Reading …').split('\n').flatMap(line => wrapIndented(line, width));
      return { kind: 'text', totals: all, lines };
    }
    case 'help':
      return { kind: 'text', totals: all, lines: helpLines(width) };
  }
}

/** @param page how many rows or lines fit */
export function sceneOf(contents: Contents, page: number, { clusterState }: Pick<LiveView, 'clusterState'>): Scene {
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
      listLines(shown.slice(top, top + count), columns, options),
  };
}
