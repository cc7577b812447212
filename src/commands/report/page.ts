import type { Change } from '../../nodepool/plan/plan.ts';
import { percentOf, type ResourceTotals } from '../../nodepool/quantity/resource-usage.ts';
import { type StateWord, stateText, stateWord } from '../../nodepool/status/state-word.ts';
import { MESSAGE_WIDTH, REASON_WIDTH, shorten } from '../../print/cells.ts';
import { makeStyle } from '../../print/style.ts';
import { changeCell } from '../shared/changes/print-diff.ts';
import type { TopPool } from '../shared/top/top.ts';
import { amount } from '../shared/top/top-cells.ts';
import { badge, bar, type Column, type Html, html, STYLE, shortTime, table, time } from './html.ts';
import type { EventCount, EventTrend, Report, ReportConflict, ReportMaintenance, ReportPool } from './run.ts';

const PLAIN = makeStyle(false);
/** Maximum number of changes shown for one node. */
const MAX_CHANGES = 10;
/** From this percentage of requested allocatable on, new pods may not fit. */
const FULL = 95;

function poolsSection({ pools }: Report): Html {
  const columns: Column<ReportPool>[] = [
    { header: 'Pool', cell: ({ pool }) => pool.metadata.name, kind: 'name' },
    { header: 'Status', cell: statusMark },
    { header: 'Nodes', cell: ({ live }) => live.nodes, kind: 'number' },
    { header: 'Ready', cell: ({ live }) => less(live.ready, live.nodes), kind: 'number' },
    { header: 'Cordoned', cell: ({ unschedulable }) => unschedulable, kind: 'number' },
    { header: 'Due', cell: ({ live }) => live.due, kind: 'number' },
    { header: 'Drift', cell: ({ live }) => live.drifted, kind: 'number' },
    { header: 'Owned by other pools', cell: ({ conflicts }) => conflicts, kind: 'number' },
  ];
  return table('Pools with their status and nodes', columns, pools, 'There are no pools.');
}

function less(ready: number, nodes: number): string | Html {
  return ready === nodes ? String(ready) : badge('warn', String(ready));
}

function statusMark({ pool, live }: ReportPool): Html {
  const word = stateWord(pool, live);
  const tone = word === 'Ready' ? 'good' : isSerious(word) ? 'bad' : 'warn';
  return badge(tone, stateText(pool, live).replace(',', ', '));
}

function isSerious(word: StateWord): boolean {
  return ['Invalid', 'Failing', 'Conflict', 'NotReady', 'Stopped'].includes(word);
}

function conditionsSection({ conditions }: Report): Html {
  type Row = Report['conditions']['items'][number];
  const columns: Column<Row>[] = [
    { header: 'Pool', cell: ({ pool }) => pool, kind: 'name' },
    { header: 'Condition', cell: ({ condition }) => `${shorten(condition.type, REASON_WIDTH)}=${condition.status}` },
    { header: 'Reason', cell: ({ condition }) => shorten(condition.reason, REASON_WIDTH), kind: 'name' },
    { header: 'Since', cell: ({ condition }) => time(condition.lastTransitionTime) },
    { header: 'Message', cell: ({ condition }) => shorten(condition.message, MESSAGE_WIDTH), kind: 'text' },
  ];
  return table('Conditions that need attention', columns, conditions, 'No condition needs attention.');
}

function capacitySection({ capacity }: Report): Html {
  const { pools, total, resources } = capacity;
  const rows = pools.length > 1 ? [...pools, { pool: 'Total', tally: total }] : pools;
  const columns: Column<Omit<TopPool, 'members'>>[] = [
    { header: 'Pool', cell: ({ pool = 'Unassigned' }) => pool, kind: 'name' },
    { header: 'Schedulable', cell: ({ tally }) => `${tally.schedulable} of ${tally.nodes}`, kind: 'number' },
    ...resources.map(
      (resource): Column<Omit<TopPool, 'members'>> => ({
        header: shorten(resource, REASON_WIDTH),
        cell: ({ tally }) => capacityCell(tally, resource),
        kind: 'number',
      }),
    ),
  ];
  const caption =
    capacity.usage === undefined
      ? 'Allocatable resources of nodes'
      : 'Requested by pods, of the allocatable resources of nodes';
  return table(caption, columns, { items: rows, total: rows.length }, 'There are no nodes.');
}

function capacityCell({ figures }: ResourceTotals, resource: string): Html {
  const its = figures.get(resource);
  if (its === undefined) return html``;
  const offered = amount(its.allocatable, resource);
  if (its.requested === undefined) return html`${offered}`;
  const percent = percentOf(its, 'requested');
  const share = percent === undefined ? '' : ` (${Math.trunc(percent)}%)`;
  const text = `${amount(its.requested, resource)} of ${offered}${share}`;
  return html`${percent !== undefined && percent >= FULL ? badge('warn', text) : text}${bar(percent)}`;
}

function dueSection({ due }: Report): Html {
  const columns: Column<Report['due']['items'][number]>[] = [
    { header: 'Node', cell: ({ node }) => node.name, kind: 'name' },
    { header: 'Pool', cell: ({ pool = '', leaving }) => (leaving ? `${pool} (leaving)` : pool), kind: 'name' },
    { header: 'The next reconcile', cell: ({ changes }) => changesList(changes, changeText), kind: 'text' },
    { header: 'Value set by', cell: ({ changes }) => changesList(changes, setterText), kind: 'text' },
  ];
  return table('Nodes that differ from their pool', columns, due, 'No node differs from its pool.');
}

function changesList(changes: readonly Change[], cell: (change: Change) => string | Html): Html {
  const more = changes.length - MAX_CHANGES;
  const items = changes.slice(0, MAX_CHANGES).map(change => html`<li>${cell(change)}</li>`);
  return html`<ul>${items}${more > 0 ? html`<li>… and ${more} more</li>` : ''}</ul>`;
}

function changeText(change: Change): string {
  return `${changeCell(change, PLAIN).text} (${change.reason})`;
}

function setterText({ setBy, kind }: Change): Html {
  if (setBy === undefined) return html`<span class="dim">unknown</span>`;
  return html`${shorten(setBy.manager, REASON_WIDTH)}${kind === 'taint' ? ' (taints)' : ''}, ${time(setBy.time)}`;
}

function conflictsSection({ conflicts }: Report): Html {
  const columns: Column<ReportConflict>[] = [
    { header: 'Node', cell: ({ node }) => node, kind: 'name' },
    { header: 'Belongs to', cell: ({ owner }) => owner, kind: 'name' },
    { header: 'Also matches', cell: ({ pool }) => pool, kind: 'name' },
  ];
  return table('Nodes that several pools match', columns, conflicts, 'No node matches several pools.');
}

function maintenanceSection({ maintenance }: Report): Html {
  const columns: Column<ReportMaintenance>[] = [
    { header: 'Node', cell: ({ node }) => node, kind: 'name' },
    { header: 'Pool', cell: ({ pool = 'none' }) => pool, kind: 'name' },
    {
      header: 'Owner',
      cell: ({ maintenance: its }) => (its === undefined ? unknown() : shorten(its.owner.name, REASON_WIDTH)),
      kind: 'name',
    },
    { header: 'Since', cell: ({ maintenance: its }) => time(its?.since) },
    { header: 'Until', cell: untilCell },
    { header: 'Reason', cell: ({ maintenance: its }) => its?.reason ?? unknown(), kind: 'text' },
  ];
  return table('Cordoned nodes, overdue maintenance first', columns, maintenance, 'No node is cordoned.');
}

function untilCell({ maintenance, isOverdue }: ReportMaintenance): Html {
  if (maintenance === undefined) return unknown();
  if (maintenance.until === undefined) return html`open end`;
  return isOverdue ? html`${badge('bad', 'overdue')}, ${time(maintenance.until)}` : time(maintenance.until);
}

function unknown(): Html {
  return html`<span class="dim">unknown</span>`;
}

function eventsSection({ events }: Report): Html {
  type Row = Report['events']['items'][number];
  const columns: Column<Row>[] = [
    { header: 'Last seen', cell: ({ lastSeen }) => time(lastSeen) },
    { header: 'Type', cell: ({ type }) => (type === 'Warning' ? badge('warn', type) : shorten(type, REASON_WIDTH)) },
    { header: 'Reason', cell: ({ reason }) => shorten(reason, REASON_WIDTH), kind: 'name' },
    { header: 'Pool', cell: ({ pool }) => shorten(pool, 253), kind: 'name' },
    { header: 'Count', cell: ({ count }) => count, kind: 'number' },
    { header: 'Message', cell: ({ note }) => shorten(note.trim(), MESSAGE_WIDTH), kind: 'text' },
  ];
  return table('The latest Events, newest first', columns, events, 'The server has no Events about these pools.');
}

// Events by time and type, as a bar chart and as a table.

const [WIDTH, HEIGHT, LEFT, TOP, BOTTOM] = [640, 220, 44, 24, 40];
const PLOT = HEIGHT - TOP - BOTTOM;

function trendSection({ counts, intervalMs, earlier }: EventTrend): Html {
  const total = counts.reduce((sum, { normal, warning }) => sum + normal + warning, 0);
  const minutes = intervalMs / 60_000;
  if (total === 0) return html`<p class="none">No Events in the last hour.${earlierText(earlier)}</p>`;
  const columns = [
    { header: 'From (UTC)', cell: ({ from }: EventCount) => shortTime(from) },
    { header: 'Normal', cell: ({ normal }: EventCount) => normal, kind: 'number' as const },
    { header: 'Warning', cell: ({ warning }: EventCount) => warning, kind: 'number' as const },
  ];
  return html`${chart(counts, minutes)}
<div class="narrow">${table(`Events in each ${minutes} minutes`, columns, { items: counts, total: counts.length }, '')}</div>
<p>A repeated Event counts once, at the time it was last seen.${earlierText(earlier)}</p>`;
}

function earlierText(earlier: number): string {
  return earlier === 0 ? '' : ` ${earlier} ${earlier === 1 ? 'was' : 'were'} seen before.`;
}

function chart(counts: readonly EventCount[], minutes: number): Html {
  const most = niceTop(Math.max(...counts.map(({ normal, warning }) => normal + warning)));
  const step = (WIDTH - LEFT) / counts.length;
  const y = (value: number) => TOP + PLOT - (value / most) * PLOT;
  const bars = counts.map(({ normal, warning }, at) => {
    const x = (LEFT + at * step + step * 0.15).toFixed(1);
    const width = (step * 0.7).toFixed(1);
    const rect = (kind: string, from: number, to: number) =>
      to === from
        ? ''
        : html`<rect class="${kind}" x="${x}" width="${width}" y="${y(to).toFixed(1)}" height="${(y(from) - y(to)).toFixed(1)}"/>`;
    return [rect('normal', 0, normal), rect('warning', normal, normal + warning)];
  });
  const ticks = [...new Set([0, Math.round(most / 2), most])].map(
    value =>
      html`<line class="grid" x1="${LEFT}" x2="${WIDTH}" y1="${y(value).toFixed(1)}" y2="${y(value).toFixed(1)}"/><text x="${LEFT - 6}" y="${(y(value) + 4).toFixed(1)}" text-anchor="end">${value}</text>`,
  );
  const times = counts
    .filter((_, at) => at % 3 === 0)
    .map(
      ({ from }, at) =>
        html`<text x="${(LEFT + at * 3 * step).toFixed(1)}" y="${HEIGHT - 20}">${from.toISOString().slice(11, 16)}</text>`,
    );
  const [normal, warning] = [sum(counts, 'normal'), sum(counts, 'warning')];
  return html`<svg class="chart" viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-labelledby="trend-title trend-text">
<title id="trend-title">Events in each ${minutes} minutes, by type</title>
<desc id="trend-text">Bars from ${shortTime(counts[0]?.from ?? new Date(0))} UTC on: ${normal} Events of the type Normal and ${warning} of the type Warning, at most ${Math.max(...counts.map(each => each.normal + each.warning))} in ${minutes} minutes. The table below has the numbers.</desc>
<defs><pattern id="hatch" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)"><rect class="hatch-back" width="6" height="6"/><line class="hatch-line" x1="0" x2="0" y1="0" y2="6"/></pattern></defs>
<rect class="normal" x="${LEFT}" y="2" width="12" height="12"/><text x="${LEFT + 18}" y="12">Normal</text>
<rect class="warning" x="${LEFT + 90}" y="2" width="12" height="12"/><text x="${LEFT + 108}" y="12">Warning (hatched)</text>
${ticks}${bars}
<line class="axis" x1="${LEFT}" x2="${WIDTH}" y1="${TOP + PLOT}" y2="${TOP + PLOT}"/>
${times}<text x="${WIDTH}" y="${HEIGHT - 4}" text-anchor="end">time (UTC)</text>
</svg>`;
}

function sum(counts: readonly EventCount[], type: 'normal' | 'warning'): number {
  return counts.reduce((total, each) => total + each[type], 0);
}

/** 1, 2 or 5 with zeros, at least the value; above 1 it is even, so that its half is a whole number. */
function niceTop(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 1)));
  return [1, 2, 4, 6, 10].map(each => each * power).find(each => each >= value) ?? value;
}

const SECTIONS: readonly { id: string; title: string; body: (report: Report) => Html }[] = [
  { id: 'pools', title: 'Pools', body: poolsSection },
  { id: 'conditions', title: 'Conditions', body: conditionsSection },
  { id: 'maintenance', title: 'Maintenance', body: maintenanceSection },
  { id: 'due', title: 'Changes due', body: dueSection },
  { id: 'conflicts', title: 'Conflicts', body: conflictsSection },
  { id: 'capacity', title: 'Capacity', body: capacitySection },
  { id: 'trend', title: 'Events of the last hour', body: ({ trend }) => trendSection(trend) },
  { id: 'events', title: 'Latest Events', body: eventsSection },
];

/** No script runs, whatever the page contains, and nothing is loaded. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'";

/** @param version this program's version. Without the last newline */
export function renderPage(report: Report, version: string): string {
  const { context, clusterName } = report;
  const title = `Node pools of ${context ?? clusterName}`;
  return html`<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="${POLICY}">
<meta name="generator" content="kubectl-nodepool ${version}">
<title>${title}</title>
<style>${STYLE}</style>
</head>
<body>
<header>
<h1>${title}</h1>
${factsList(report)}
<nav aria-label="Sections"><ul>${SECTIONS.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`)}</ul></nav>
</header>
<main>
${numbersList(report)}
${warningsList(report)}
${SECTIONS.map(
  ({ id, title, body }) => html`<section aria-labelledby="${id}">
<h2 id="${id}">${title}</h2>
${body(report)}
</section>
`,
)}</main>
<footer><p>Made by kubectl-nodepool ${version}. Events expire after one hour by default. Names, reasons and messages come from the cluster; invisible characters are escaped.</p></footer>
</body>
</html>`.text;
}

function factsList({ context, clusterName, serverVersion, time: at }: Report): Html {
  const fact = (name: string, value: string | Html) => html`<dt>${name}</dt><dd>${value}</dd>\n`;
  return html`<dl>
${fact('Server time', time(at.toISOString()))}${context === undefined ? '' : fact('Context', context)}${fact('Cluster', clusterName)}${fact('Kubernetes', serverVersion ?? 'unknown')}</dl>`;
}

function numbersList({ pools, capacity, due, conflicts, maintenance }: Report): Html {
  const overdue = maintenance.items.filter(({ isOverdue }) => isOverdue).length;
  const numbers: [number, string][] = [
    [pools.total, 'pools'],
    [capacity.total.nodes, 'nodes'],
    [capacity.total.schedulable, 'schedulable nodes'],
    [due.total, 'nodes with changes due'],
    [conflicts.total, 'conflicts'],
    [maintenance.total, 'cordoned'],
    [overdue, 'overdue'],
  ];
  return html`<ul class="numbers" aria-label="Summary">${numbers.map(([count, what]) => html`<li><b>${count}</b> ${what}</li>`)}</ul>`;
}

function warningsList({ warnings }: Report): Html {
  if (warnings.length === 0) return html``;
  return html`<p class="warn">Not complete:</p>
<ul>${warnings.map(warning => html`<li>${warning.slice(0, 2_000)}</li>`)}</ul>`;
}
