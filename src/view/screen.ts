/** The whole screen as lines: exactly as many as the terminal has, none wider. Pure, for tests. */
import { plural } from '../nodepool/plural.ts';
import type { LiveView, Outage } from '../operations/view.ts';
import { MESSAGE_WIDTH, shorten, troubleOf } from '../render/cells.ts';
import { displayQuantity } from '../render/quantity.ts';
import type { Style } from '../render/style.ts';
import { fit } from '../render/table.ts';
import { formatDuration } from '../render/time.ts';
import { widthOf, wrap } from '../render/width.ts';
import { nodesBar, paintBar } from './bar.ts';
import type { Contents } from './contents.ts';
import { gpuOf } from './rows.ts';
import { isText, type Place, placeOf, type State } from './state.ts';

export interface Size {
  columns: number;
  rows: number;
}

export interface Facts {
  clusterName: string;
  live: Pick<LiveView, 'clusterState' | 'outages'>;
  now: Date;
  style: Style;
}

/** A terminal of at least TALL rows has TALL_FRAME lines above and below the body; a lower one has LOW_FRAME. */
const TALL = 10;
const TALL_FRAME = 6;
const LOW_FRAME = 2;

/** The lines of the body: rows of a list without its header, or lines of a text. */
export function pageOf(state: State, { rows }: Size): number {
  return Math.max(rows - (rows >= TALL ? TALL_FRAME : LOW_FRAME) + (isText(placeOf(state)) ? 1 : 0), 1);
}

export function screenLines(state: State, contents: Contents, size: Size, facts: Facts): string[] {
  const { columns: width, rows } = size;
  const { style } = facts;
  const page = pageOf(state, size);
  const body = bodyLines(state, contents, width, page, facts);
  const isTall = rows >= TALL;
  const frame = isTall ? [titleLine(width, facts), totalsLine(contents, width, style)] : [];
  const lines = [
    ...frame,
    ...(isTall ? [placeLine(placeOf(state), contents, { width, page }, style)] : []),
    ...fill(body, page + (isText(placeOf(state)) ? 0 : 1)),
    messageLine(state, contents, width, facts),
    ...(isTall ? [hintLine(state, width, style)] : []),
  ];
  const box = boxLines(state, width, style);
  // Without its rule if it does not fit.
  const over = box.length <= rows ? box : box.slice(1, rows + 1);
  return [...fill(lines, rows - over.length), ...over];
}

function bodyLines(state: State, contents: Contents, width: number, page: number, { now, style }: Facts): string[] {
  const place = placeOf(state);
  if (contents.kind === 'text') return contents.lines.slice(place.top, place.top + page);
  const { selected, sort, top } = place;
  const options = { selected, sort, width, now, style };
  const { header, lines } = contents.draw(top, page, options);
  return [style.bold(header), ...(lines.length === 0 ? [fit(` ${contents.empty}`, width)] : lines)];
}

/** `nodepool · cluster`, and on the right `live` or how old the data is. */
function titleLine(width: number, { clusterName, live, now, style }: Facts): string {
  const [outage] = live.outages().filter(({ resource }) => resource !== 'events');
  const state = outage === undefined ? 'live' : outageText(outage, now);
  const paint = outage === undefined ? style.green : style.red;
  const shown = fit({ text: state, paint }, Math.min(widthOf(state), Math.floor((width * 2) / 3)));
  const room = width - Math.min(widthOf(state), Math.floor((width * 2) / 3)) - 1;
  return `${fit({ text: `nodepool · ${clusterName}`, paint: style.bold }, room)} ${shown}`;
}

function outageText({ since, message, resource }: Outage, now: Date): string {
  const age = since === undefined ? 'no data' : `data ${formatDuration(now.getTime() - since)} old`;
  return `${age}: ${resource}: ${shorten(message, MESSAGE_WIDTH)}`;
}

/** All nodes of the cluster: a bar, counts, and allocatable resources. */
function totalsLine({ totals }: Contents, width: number, style: Style): string {
  const { nodes, counts, cordoned, unassigned, allocatable } = totals;
  const resource = (name: string) => displayQuantity(name, allocatable[name] ?? '0');
  const gpu = gpuOf(allocatable);
  const parts = [
    plural(nodes, 'node'),
    ...(counts.notReady > 0 ? [`${counts.notReady} not ready`] : []),
    ...(cordoned > 0 ? [`${cordoned} cordoned`] : []),
    ...(unassigned > 0 ? [`${unassigned} in no pool`] : []),
    `cpu ${resource('cpu')}`,
    `memory ${resource('memory')}`,
    ...(gpu === undefined ? [] : [`gpus ${resource(gpu)}`]),
  ];
  const bar = nodesBar(counts, Math.floor(Math.min(width, 120) / 8), style);
  const text = partsThatFit([bar.text, ...parts], width);
  return fit({ text, paint: shown => paintBar(shown, style) }, width);
}

/** The path of the place: `Pools (3)`, `Pools > gpu > Nodes (2 of 12) /a`, `Pools > gpu > gpu-1 (lines 1-19 of 25)`. */
function placeLine(
  { kind, pool, subject, filter, top }: Place,
  contents: Contents,
  { width, page }: { width: number; page: number },
  style: Style,
): string {
  const count =
    contents.kind === 'text'
      ? linesText(top, page, contents.lines.length)
      : countText(contents.keys.length, contents.total);
  const of = pool === undefined ? [] : [pool];
  const trail = {
    pools: [`Pools${count}`],
    nodes: ['Pools', ...of, `Nodes${count}`],
    node: ['Pools', ...of, `${subject ?? ''}${count}`],
    events: ['Pools', ...of, `Events${count}`],
    event: ['Pools', ...of, `Event${count}`],
    help: [`Help${count}`],
  }[kind];
  const text = `${trail.join(' > ')}${filter === '' ? '' : `  /${filter}`}`;
  return fit({ text, paint: style.cyan }, width);
}

function countText(shown: number, total: number): string {
  return shown === total ? ` (${total})` : ` (${shown} of ${total})`;
}

/** Empty for a text that fits. */
function linesText(top: number, page: number, length: number): string {
  return length <= page ? '' : ` (lines ${top + 1}-${Math.min(top + page, length)} of ${length})`;
}

/** The last message; else why events are missing; else why the selected pool is not 200. */
function messageLine(state: State, contents: Contents, width: number, { live, style }: Facts): string {
  const { message, mode } = state;
  const place = placeOf(state);
  if (mode.kind === 'filter') return fit(`/${tail(place.filter, width - 2)}█`, width);
  if (message !== undefined) return fit({ text: message.text, paint: paintOf(message, style) }, width);
  if (place.kind === 'events') {
    const outage = live.outages().find(({ resource }) => resource === 'events');
    if (outage !== undefined) return fit({ text: `events: ${outage.message}`, paint: style.red }, width);
  }
  const pool =
    place.kind === 'pools' && place.selected !== undefined ? live.clusterState.pool(place.selected) : undefined;
  const trouble = pool !== undefined && pool.status?.status !== 200 ? troubleOf(pool.status) : undefined;
  const text = trouble === undefined ? '' : `${pool?.metadata.name}: ${trouble.reason}: ${trouble.message}`;
  return contents.kind === 'text' ? fit('', width) : fit({ text, paint: style.yellow }, width);
}

/** The end of the filter, where the user types. */
function tail(text: string, width: number): string {
  const lines = wrap(text, Math.max(width, 1));
  return lines.at(-1) ?? '';
}

function hintLine(state: State, width: number, style: Style): string {
  const place = placeOf(state);
  const hints =
    state.mode.kind === 'filter'
      ? ['enter: keep the filter', 'esc: without it']
      : {
          pools: ['? help', 'q quit', 'enter nodes', 'e events', '/ filter', 'N S C M … sort'],
          nodes: ['? help', 'esc back', 'c cordon', 'u uncordon', 'enter details', 'e events', '/ filter', 'q quit'],
          node: ['? help', 'esc back', 'c cordon', 'u uncordon', 'e events', 'q quit'],
          events: ['? help', 'esc back', 'enter whole', '/ filter', 'q quit'],
          event: ['? help', 'esc back', 'q quit'],
          help: ['any key: back', '↑ ↓ scroll'],
        }[place.kind];
  return fit({ text: partsThatFit(hints, width), paint: style.dim }, width);
}

/** Drawn over the last lines: the question, or a message too long for its line. */
function boxLines({ mode, message }: State, width: number, style: Style): string[] {
  if (mode.kind === 'confirm') {
    const { node, unschedulable } = mode.target;
    const what = unschedulable
      ? `Cordon node ${node.name}? It gets no new pods; those on it stay.`
      : `Uncordon node ${node.name}? It gets new pods again.`;
    return box([...wrap(what, width), 'y yes   any other key no'], width, text => text);
  }
  if (mode.kind === 'filter' || message === undefined || widthOf(message.text) <= width) return [];
  return box(wrap(message.text, width), width, paintOf(message, style));
}

function box(lines: readonly string[], width: number, paint: (text: string) => string): string[] {
  return ['─'.repeat(width), ...lines.map(text => fit({ text, paint }, width))];
}

function paintOf({ isError }: { isError: boolean }, style: Style): (text: string) => string {
  return isError ? style.red : style.yellow;
}

/** The first parts that fit, none of them cut. */
function partsThatFit(parts: readonly string[], width: number): string {
  const joined = parts.join('  ');
  return parts.length > 1 && widthOf(joined) > width ? partsThatFit(parts.slice(0, -1), width) : joined;
}

/** Exactly so many lines: cut, or filled up with empty ones. */
function fill(lines: readonly string[], count: number): string[] {
  return [...lines.slice(0, count), ...Array.from({ length: Math.max(count - lines.length, 0) }, () => '')];
}
