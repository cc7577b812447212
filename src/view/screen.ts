/** The whole screen as lines: exactly the terminal's height, none wider. Pure, for tests. */
import { plural } from '../nodepool/text.ts';
import { MESSAGE_WIDTH, shorten, troubleOf } from '../print/cells.ts';
import { displayQuantity } from '../print/quantity.ts';
import { sanitizeLine } from '../print/sanitize.ts';
import type { Style } from '../print/style.ts';
import { fit } from '../print/table.ts';
import { formatDuration } from '../print/time.ts';
import { cutMiddle, widthOf, wrap } from '../print/width.ts';
import type { ScreenContents } from './contents.ts';
import { COMMANDS, jumpCandidates } from './keys.ts';
import { type CordonTarget, isText, NO_POOL, type Place, placeOf, type ScreenData, type ViewState } from './places.ts';
import { gpuOf, nodesBar, paintBar } from './rows.ts';
import type { LiveView, WatchOutage } from './view.ts';
import type { LiveUsage } from './view-usage.ts';

export interface ScreenSize {
  columns: number;
  rows: number;
}

export interface ScreenFacts {
  clusterName: string;
  live: Pick<LiveView, 'clusterState' | 'outages'>;
  /** Undefined if usage is not shown. */
  usage: LiveUsage | undefined;
  names: ScreenData['names'];
  now: Date;
  style: Style;
}

/** Terminals with at least TALL rows have TALL_FRAME lines around the body; smaller ones have LOW_FRAME. */
const TALL = 10;
const TALL_FRAME = 6;
const LOW_FRAME = 2;
/** Maximum names shown while one is typed. */
const MAX_CANDIDATES = 20;

/** The number of lines in the body: rows of a list without its header, or lines of a text. */
export function pageOf(state: ViewState, { rows }: ScreenSize): number {
  return Math.max(rows - (rows >= TALL ? TALL_FRAME : LOW_FRAME) + (isText(placeOf(state)) ? 1 : 0), 1);
}

export function screenLines(
  state: ViewState,
  contents: ScreenContents,
  size: ScreenSize,
  facts: ScreenFacts,
): string[] {
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
  const box = boxLines(state, width, facts);
  // Without its rule line if it does not fit.
  const over = box.length <= rows ? box : box.slice(1, rows + 1);
  return [...fill(lines, rows - over.length), ...over];
}

function bodyLines(
  state: ViewState,
  contents: ScreenContents,
  width: number,
  page: number,
  { now, style }: ScreenFacts,
): string[] {
  const place = placeOf(state);
  if (contents.kind === 'text') return contents.lines.slice(place.top, place.top + page);
  const { selected, sort, top } = place;
  const options = { selected, sort, width, now, style };
  const { header, lines } = contents.draw(top, page, options);
  return [style.bold(header), ...(lines.length === 0 ? [fit(` ${contents.empty}`, width)] : lines)];
}

/** `nodepool · cluster`, and on the right `live` or the age of the data. */
function titleLine(width: number, { clusterName, live, now, style }: ScreenFacts): string {
  const [outage] = live.outages().filter(({ resource }) => resource !== 'events');
  const state = outage === undefined ? 'live' : outageText(outage, now);
  const paint = outage === undefined ? style.green : style.red;
  const shown = fit({ text: state, paint }, Math.min(widthOf(state), Math.floor((width * 2) / 3)));
  const room = width - Math.min(widthOf(state), Math.floor((width * 2) / 3)) - 1;
  return `${fit({ text: `nodepool · ${clusterName}`, paint: style.bold }, room)} ${shown}`;
}

function outageText({ since, message, resource }: WatchOutage, now: Date): string {
  // The cluster is named on the left; the server's address would displace the reason.
  const reason = message.replace(/ https?:\/\/\S*?(?=:?(?:\s|$))/g, '').replace('cannot reach the server: ', '');
  const age = since === undefined ? 'no data' : `data ${formatDuration(now.getTime() - since)} old`;
  return `${age}: ${resource}: ${shorten(reason, MESSAGE_WIDTH)}`;
}

/** All nodes of the cluster: a bar, counts, and allocatable resources. */
function totalsLine({ totals }: ScreenContents, width: number, style: Style): string {
  const { nodes, counts, cordoned, maintenance, unassigned, allocatable } = totals;
  const resource = (name: string) => displayQuantity(name, allocatable[name] ?? '0');
  const gpu = gpuOf(allocatable);
  const parts = [
    plural(nodes, 'node'),
    ...(counts.notReady > 0 ? [`${counts.notReady} not ready`] : []),
    ...(cordoned > 0 ? [`${cordoned} cordoned`] : []),
    ...(maintenance.overdue > 0 ? [`${maintenance.overdue} overdue`] : []),
    ...(unassigned > 0 ? [`${unassigned} in no pool`] : []),
    `cpu ${resource('cpu')}`,
    `memory ${resource('memory')}`,
    ...(gpu === undefined ? [] : [`gpus ${resource(gpu)}`]),
  ];
  const bar = nodesBar(counts, Math.floor(Math.min(width, 120) / 8), style);
  const text = partsThatFit([bar.text, ...parts], width);
  return fit({ text, paint: shown => paintBar(shown, style) }, width);
}

/** The path of the place: `Pools (3)`, `Pools > gpu > Nodes (12-30 of 240) /a`, `… > gpu-1 (lines 1-19 of 25)`. */
function placeLine(
  { kind, pool, subject, filter, top }: Place,
  contents: ScreenContents,
  { width, page }: { width: number; page: number },
  style: Style,
): string {
  const count = contents.kind === 'text' ? linesText(top, page, contents.lines.length) : countText(top, page, contents);
  const of = pool === undefined ? [] : [pool];
  const about = ['Pools', ...of, ...(subject === undefined ? [] : [subject])];
  const trail = {
    pools: ['Pools'],
    nodes: ['Pools', ...of, 'Nodes'],
    node: ['Pools', ...of, subject ?? ''],
    events: ['Pools', ...of, 'Events'],
    event: ['Pools', ...of, 'Event'],
    describe: [...about, 'Describe'],
    yaml: [...about, 'YAML'],
    pods: [...about, 'Pods'],
    diff: [...about, 'Diff'],
    why: [...about, 'Why'],
    help: ['Help'],
  }[kind];
  // Cuts a long name rather than the number after it.
  const path = cutMiddle(sanitizeLine(trail.join(' > ')), width - count.length);
  const text = `${path}${count}${filter === '' ? '' : `  /${filter}`}`;
  return fit({ text, paint: style.cyan }, width);
}

/** The range of visible rows, if there are more; for a filtered list, also the number without the filter. */
function countText(top: number, page: number, { keys, total }: Extract<ScreenContents, { kind: 'list' }>): string {
  const { length } = keys.filter(key => key !== NO_POOL);
  if (length <= page) return length === total ? ` (${total})` : ` (${length} of ${total})`;
  const range = `${top + 1}-${Math.min(top + page, length)} of ${length}`;
  return length === total ? ` (${range})` : ` (${range}, ${total} in all)`;
}

/** Empty if the text fits. */
function linesText(top: number, page: number, length: number): string {
  return length <= page ? '' : ` (lines ${top + 1}-${Math.min(top + page, length)} of ${length})`;
}

/** The last message; else why events are missing; else the problem of the selected pool. */
function messageLine(state: ViewState, contents: ScreenContents, width: number, facts: ScreenFacts): string {
  const { live, style, usage } = facts;
  const { message, mode } = state;
  const place = placeOf(state);
  if (mode.kind === 'filter') return fit(`/${tail(place.filter, width - 2)}█`, width);
  if (mode.kind === 'jump') return jumpLine(mode.text, width, facts);
  if (message !== undefined) return fit({ text: message.text, paint: paintOf(message, style) }, width);
  if (place.kind === 'events') {
    const outage = live.outages().find(({ resource }) => resource === 'events');
    if (outage !== undefined) return fit({ text: `events: ${outage.message}`, paint: style.red }, width);
  }
  if (usage?.kind === 'failed') return fit({ text: `usage: ${usage.message}`, paint: style.red }, width);
  if (usage?.kind === 'reading') return fit('Reading pods …', width);
  const pool =
    place.kind === 'pools' && place.selected !== undefined ? live.clusterState.pool(place.selected) : undefined;
  const trouble = pool !== undefined && pool.status?.status !== 200 ? troubleOf(pool.status) : undefined;
  const text = trouble === undefined ? '' : `${pool?.metadata.name}: ${trouble.reason}: ${trouble.message}`;
  return contents.kind === 'text' ? fit('', width) : fit({ text, paint: style.yellow }, width);
}

/** The typed text and its candidates: `:gp█  gpu  gpu-1`. */
function jumpLine(text: string, width: number, { names }: ScreenFacts): string {
  const found = text === '' ? COMMANDS : jumpCandidates(text, [...names(), ...COMMANDS]).slice(0, MAX_CANDIDATES);
  return fit(partsThatFit([`:${tail(text, width - 2)}█`, ...found], width), width);
}

/** The end of the filter, where the user types. */
function tail(text: string, width: number): string {
  const lines = wrap(text, Math.max(width, 1));
  return lines.at(-1) ?? '';
}

/** Two spaces separate keys. */
const HINTS: Readonly<Record<Place['kind'], string>> = {
  pools:
    '? help  q quit  enter nodes  d describe  t usage  / filter  : jump  e events  = diff  r reconcile  p pods  y yaml  c cordon  u uncordon  D drain',
  nodes:
    '? help  q back  c cordon  u uncordon  enter details  t usage  / filter  : jump  p pods  d describe  w why  D drain  = diff  r reconcile  y yaml',
  node: '? help  q back  c cordon  u uncordon  d describe  y yaml  e events  D drain  p pods  w why  = diff  r reconcile',
  events: '? help  q back  enter details  / filter',
  event: '? help  q back',
  describe: '? help  q back  y yaml  ↑ ↓ scroll  p pods  = diff',
  yaml: '? help  q back  ↑ ↓ scroll',
  pods: '? help  q back  ↑ ↓ scroll  p read again',
  diff: '? help  q back  ↑ ↓ scroll  r reconcile  = read again',
  why: '? help  q back  ↑ ↓ scroll  d describe',
  help: 'any key: back  ↑ ↓ scroll',
};

function hintLine(state: ViewState, width: number, style: Style): string {
  const place = placeOf(state);
  const hints = {
    filter: 'enter keep the filter  esc remove it',
    jump: 'enter go to the first  tab complete  esc cancel',
    confirm: HINTS[place.kind],
    browse: HINTS[place.kind],
  }[state.mode.kind];
  return fit({ text: partsThatFit(hints.split('  '), width), paint: style.dim }, width);
}

/** Drawn over the last lines: the question, or a message that does not fit on its line. */
function boxLines({ mode, message }: ViewState, width: number, { style }: ScreenFacts): string[] {
  if (mode.kind === 'confirm') {
    return box([...wrap(questionText(mode.target), width), 'y yes   any other key no'], width, text => text);
  }
  if (mode.kind === 'filter' || message === undefined || widthOf(message.text) <= width) return [];
  return box(wrap(message.text, width), width, paintOf(message, style));
}

function questionText({ node, unschedulable }: CordonTarget): string {
  return unschedulable
    ? `Cordon node ${node.name}? No new pods are scheduled to it; its pods keep running.`
    : `Uncordon node ${node.name}? New pods can be scheduled to it again.`;
}

function box(lines: readonly string[], width: number, paint: (text: string) => string): string[] {
  return ['─'.repeat(width), ...lines.map(text => fit({ text, paint }, width))];
}

function paintOf({ isError }: { isError: boolean }, style: Style): (text: string) => string {
  return isError ? style.red : style.yellow;
}

/** The first parts that fit uncut. */
function partsThatFit(parts: readonly string[], width: number): string {
  const joined = parts.join('  ');
  return parts.length > 1 && widthOf(joined) > width ? partsThatFit(parts.slice(0, -1), width) : joined;
}

/** Exactly this many lines: cut, or padded with empty ones. */
function fill(lines: readonly string[], count: number): string[] {
  return [...lines.slice(0, count), ...Array.from({ length: Math.max(count - lines.length, 0) }, () => '')];
}
