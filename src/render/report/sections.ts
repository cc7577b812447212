/** The sections of the report. */
import type { Change } from '../../nodepool/plan.ts';
import { percentOf, type Tally } from '../../nodepool/resource-usage.ts';
import type { Report, ReportConflict, ReportMaintenance, ReportPool } from '../../operations/report.ts';
import type { TopPool } from '../../operations/top/top.ts';
import { MESSAGE_WIDTH, REASON_WIDTH, shorten, statusCell } from '../cells.ts';
import { changeCell } from '../diff.ts';
import { makeStyle } from '../style.ts';
import { safeText } from '../table.ts';
import { amount } from '../top-cells.ts';
import { type Html, html } from './html.ts';
import { bar, type Column, mark, table, time } from './parts.ts';

const PLAIN = makeStyle(false);
/** Changes of one node. */
const MAX_CHANGES = 10;
/** Of these and more of what is allocatable, pods may find no place. */
const FULL = 95;

export function poolsSection({ pools }: Report): Html {
  const columns: Column<ReportPool>[] = [
    { header: 'Pool', cell: ({ pool }) => pool.metadata.name, kind: 'name' },
    { header: 'Status', cell: statusMark },
    { header: 'Nodes', cell: ({ nodes }) => nodes, kind: 'number' },
    { header: 'Ready', cell: ({ ready, nodes }) => less(ready, nodes), kind: 'number' },
    { header: 'Cordoned', cell: ({ unschedulable }) => unschedulable, kind: 'number' },
    { header: 'In drift', cell: ({ drifted }) => drifted, kind: 'number' },
    { header: 'Held by other pools', cell: ({ conflicts }) => conflicts, kind: 'number' },
  ];
  return table('Pools with their status and nodes', columns, pools, 'There are no pools.');
}

function less(ready: number, nodes: number): string | Html {
  return ready === nodes ? String(ready) : mark('warn', String(ready));
}

function statusMark({ pool }: ReportPool): Html {
  const text = safeText(statusCell(pool, PLAIN)).replace(',', ', ');
  const status = pool.status?.status;
  if (text === '200') return mark('good', '200, Normal');
  return mark(status === undefined || status === 200 ? 'warn' : 'bad', text);
}

export function conditionsSection({ conditions }: Report): Html {
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

export function capacitySection({ capacity }: Report): Html {
  const { pools, total, resources } = capacity;
  const rows = pools.length > 1 ? [...pools, { pool: 'All of them', tally: total }] : pools;
  const columns: Column<TopPool>[] = [
    { header: 'Pool', cell: ({ pool = 'Nodes of no pool' }) => pool, kind: 'name' },
    { header: 'Nodes for pods', cell: ({ tally }) => `${tally.schedulable} of ${tally.nodes}`, kind: 'number' },
    ...resources.map(
      (resource): Column<TopPool> => ({
        header: shorten(resource, REASON_WIDTH),
        cell: ({ tally }) => capacityCell(tally, resource),
        kind: 'number',
      }),
    ),
  ];
  const caption =
    capacity.usage === undefined
      ? 'What nodes offer (allocatable)'
      : 'Requested by pods, of what nodes offer (allocatable)';
  return table(caption, columns, { items: rows, total: rows.length }, 'There are no nodes.');
}

function capacityCell({ figures }: Tally, resource: string): Html {
  const its = figures.get(resource);
  if (its === undefined) return html``;
  const offered = amount(its.allocatable, resource);
  if (its.requested === undefined) return html`${offered}`;
  const percent = percentOf(its.requested, its);
  const share = percent === undefined ? '' : ` (${Math.trunc(percent)}%)`;
  const text = `${amount(its.requested, resource)} of ${offered}${share}`;
  return html`${percent !== undefined && percent >= FULL ? mark('warn', text) : text}${bar(percent)}`;
}

export function driftSection({ drift }: Report): Html {
  const columns: Column<Report['drift']['items'][number]>[] = [
    { header: 'Node', cell: ({ node }) => node.name, kind: 'name' },
    { header: 'Pool', cell: ({ pool = '', leaving }) => (leaving ? `${pool} (leaving)` : pool), kind: 'name' },
    { header: 'The next reconcile', cell: ({ changes }) => changesList(changes, changeText), kind: 'text' },
    { header: 'Value set by', cell: ({ changes }) => changesList(changes, setterText), kind: 'text' },
  ];
  return table('Nodes that differ from their pool', columns, drift, 'No node differs from its pool.');
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

export function conflictsSection({ conflicts }: Report): Html {
  const columns: Column<ReportConflict>[] = [
    { header: 'Node', cell: ({ node }) => node, kind: 'name' },
    { header: 'Belongs to', cell: ({ owner }) => owner, kind: 'name' },
    { header: 'Matches as well', cell: ({ pool }) => pool, kind: 'name' },
  ];
  return table('Nodes that several pools match', columns, conflicts, 'No node is matched by two pools.');
}

export function maintenanceSection({ maintenance }: Report): Html {
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
  return table('Cordoned nodes, overdue ones first', columns, maintenance, 'No node is cordoned.');
}

function untilCell({ maintenance, isOverdue }: ReportMaintenance): Html {
  if (maintenance === undefined) return unknown();
  if (maintenance.until === undefined) return html`open end`;
  return isOverdue ? html`${mark('bad', 'overdue')}, ${time(maintenance.until)}` : time(maintenance.until);
}

function unknown(): Html {
  return html`<span class="dim">unknown</span>`;
}

export function eventsSection({ events }: Report): Html {
  type Row = Report['events']['items'][number];
  const columns: Column<Row>[] = [
    { header: 'Last seen', cell: ({ lastSeen }) => time(lastSeen) },
    { header: 'Type', cell: ({ type }) => (type === 'Warning' ? mark('warn', type) : shorten(type, REASON_WIDTH)) },
    { header: 'Reason', cell: ({ reason }) => shorten(reason, REASON_WIDTH), kind: 'name' },
    { header: 'Pool', cell: ({ pool }) => shorten(pool, 253), kind: 'name' },
    { header: 'Count', cell: ({ count }) => count, kind: 'number' },
    { header: 'Message', cell: ({ note }) => shorten(note.trim(), MESSAGE_WIDTH), kind: 'text' },
  ];
  return table('The latest Events, newest first', columns, events, 'The server has no Events about these pools.');
}
