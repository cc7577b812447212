/** The whole screen as lines: exactly as many as the terminal has, none wider. Pure, so that a test can look at it. */
import type { LiveView, Outage } from '../operations/view.ts';
import { troubleOf } from '../render/cells.ts';
import { displayQuantity } from '../render/quantity.ts';
import type { Style } from '../render/style.ts';
import { widthOf } from '../render/width.ts';
import { formatDuration } from '../render/time.ts';
import { nodesBar, paintBar } from './bar.ts';
import type { Contents } from './contents.ts';
import { fit, wrap } from './fit.ts';
import { gpuOf } from './rows.ts';
import { isText, placeOf, type State } from './state.ts';
import { helpLines } from './texts.ts';

export interface Size {
  columns: number;
  rows: number;
}

export interface Facts {
  clusterName: string;
  live: Pick<LiveView, 'view' | 'outages'>;
  now: Date;
  style: Style;
}

/** Lines above and below the body, from this many rows of the terminal on; with less the body has all but two. */
const TALL = 10;
const TALL_FRAME = 6;
const LOW_FRAME = 2;

/** How many lines the body has: rows of a list, without its header, or lines of a text. */
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
    ...(isTall ? [placeLine(state, contents, width, style)] : []),
    ...fill(body, page + (isText(placeOf(state)) ? 0 : 1)),
    messageLine(state, contents, width, facts),
    ...(isTall ? [hintLine(state, width, style)] : []),
  ];
  return fill(overlay(state, lines, width), rows);
}

function bodyLines(state: State, contents: Contents, width: number, page: number, { now, style }: Facts): string[] {
  const place = placeOf(state);
  if (state.mode.kind === 'help') return helpLines(width);
  if (contents.kind === 'text') return contents.lines.slice(place.top, place.top + page);
  const { selected, sort, top } = place;
  const options = { selected, sort, width, now, style };
  const { header, lines } = contents.draw(top, page, options);
  return [style.bold(header), ...(lines.length === 0 ? [fit(` ${contents.empty}`, width)] : lines)];
}

/** `nodepool · cluster` and, at the right, whether what is shown is what the cluster has. */
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
  return `${age}: ${resource}: ${message}`;
}

/** All nodes of the cluster in one bar, and what they can give together. */
function totalsLine({ totals }: Contents, width: number, style: Style): string {
  const { nodes, counts, unassigned, allocatable } = totals;
  const resource = (name: string) => displayQuantity(name, allocatable[name] ?? '0');
  const gpu = gpuOf(allocatable);
  const parts = [
    `${nodes} ${nodes === 1 ? 'node' : 'nodes'}`,
    ...(counts.notReady > 0 ? [`${counts.notReady} not ready`] : []),
    ...(counts.cordoned > 0 ? [`${counts.cordoned} cordoned`] : []),
    ...(unassigned > 0 ? [`${unassigned} in no pool`] : []),
    `cpu ${resource('cpu')}`,
    `memory ${resource('memory')}`,
    ...(gpu === undefined ? [] : [`gpus ${resource(gpu)}`]),
  ];
  const bar = nodesBar(counts, Math.floor(Math.min(width, 120) / 8), style);
  const text = asManyAs([bar.text, ...parts], width);
  return fit({ text, paint: shown => paintBar(shown, style) }, width);
}

/** Where one is: `Pools (3)`, `Pools > gpu > Nodes (2 of 12) /a`. */
function placeLine(state: State, contents: Contents, width: number, style: Style): string {
  const { kind, pool, subject, filter } = placeOf(state);
  const count = contents.kind === 'text' ? '' : countText(contents.keys.length, contents.total);
  const trail = {
    pools: [`Pools${count}`],
    nodes: ['Pools', pool ?? '', `Nodes${count}`],
    node: ['Pools', pool ?? '', subject ?? ''],
    events: ['Pools', ...(pool === undefined ? [] : [pool]), `Events${count}`],
    event: ['Pools', ...(pool === undefined ? [] : [pool]), 'Event'],
  }[kind];
  const text = `${trail.join(' > ')}${filter === '' ? '' : `  /${filter}`}`;
  return fit({ text, paint: style.cyan }, width);
}

function countText(shown: number, total: number): string {
  return shown === total ? ` (${total})` : ` (${shown} of ${total})`;
}

/** What was said last; else why the selected pool is not as it should be; else why there are no events. */
function messageLine(state: State, contents: Contents, width: number, { live, style }: Facts): string {
  const { message, mode } = state;
  const place = placeOf(state);
  if (mode.kind === 'filter') return fit(`/${tail(place.filter, width - 2)}█`, width);
  if (message !== undefined)
    return fit({ text: message.text, paint: message.isError ? style.red : style.yellow }, width);
  if (place.kind === 'events') {
    const outage = live.outages().find(({ resource }) => resource === 'events');
    if (outage !== undefined) return fit({ text: `events: ${outage.message}`, paint: style.red }, width);
  }
  const pool = place.kind === 'pools' && place.selected !== undefined ? live.view.pool(place.selected) : undefined;
  const trouble = pool !== undefined && pool.status?.status !== 200 ? troubleOf(pool.status) : undefined;
  const text = trouble === undefined ? '' : `${pool?.metadata.name}: ${trouble.reason}: ${trouble.message}`;
  return contents.kind === 'text' ? fit('', width) : fit({ text, paint: style.yellow }, width);
}

/** The end of the filter: that is where one types. */
function tail(text: string, width: number): string {
  const lines = wrap(text, Math.max(width, 1));
  return lines.at(-1) ?? '';
}

function hintLine(state: State, width: number, style: Style): string {
  const place = placeOf(state);
  const hints =
    state.mode.kind === 'help'
      ? ['any key: back']
      : state.mode.kind === 'filter'
        ? ['enter: keep the filter', 'esc: without it']
        : {
            pools: ['? help', 'q quit', 'enter nodes', 'e events', '/ filter', 'N S C M … sort'],
            nodes: ['? help', 'esc back', 'c cordon', 'u uncordon', 'enter details', 'e events', '/ filter', 'q quit'],
            node: ['? help', 'esc back', 'c cordon', 'u uncordon', 'e events', 'q quit'],
            events: ['? help', 'esc back', 'enter whole', '/ filter', 'q quit'],
            event: ['? help', 'esc back', 'q quit'],
          }[place.kind];
  return fit({ text: asManyAs(hints, width), paint: style.dim }, width);
}

/** The question, over the last lines: all of it, however long the name is, as far as there is room. */
function overlay(state: State, lines: string[], width: number): string[] {
  if (state.mode.kind !== 'confirm') return lines;
  const { node, unschedulable } = state.mode.target;
  const what = unschedulable
    ? `Cordon node ${node}? It gets no new pods; those on it stay.`
    : `Uncordon node ${node}? It gets new pods again.`;
  const box = ['─'.repeat(width), ...wrap(what, width), 'y yes   any other key no'].map(line => fit(line, width));
  const shown = box.slice(0, lines.length);
  return [...lines.slice(0, lines.length - shown.length), ...shown];
}

/** The first parts, whole ones alone: a word cut in half helps nobody. */
function asManyAs(parts: readonly string[], width: number): string {
  const joined = parts.join('  ');
  return parts.length > 1 && widthOf(joined) > width ? asManyAs(parts.slice(0, -1), width) : joined;
}

/** So many lines, empty ones at the end. */
function fill(lines: readonly string[], count: number): string[] {
  return [...lines.slice(0, count), ...Array.from({ length: Math.max(count - lines.length, 0) }, () => '')];
}
