/** One pool in detail, in the layout of `kubectl describe`. */
import type { NodeEventRecord } from '../../../kube/resources/events.ts';
import { activeMaintenance, countMaintenance, isOverdue } from '../../../nodepool/drain/maintenance.ts';
import type { NodepoolError } from '../../../nodepool/errors.ts';
import { ownValue } from '../../../nodepool/json.ts';
import {
  hasDefaultSelector,
  membershipSelector,
  partsOf,
  quotedSelector,
} from '../../../nodepool/membership/selector.ts';
import { planRuntimeClass, type RecordedMember } from '../../../nodepool/plan/runtime-class.ts';
import { sumAllocatable } from '../../../nodepool/quantity/node-resources.ts';
import { DEFAULT_SETTLE_SECONDS } from '../../../nodepool/rollout/rollout-step.ts';
import { LAST_APPLIED } from '../../../nodepool/spec/annotations.ts';
import { formatTaint } from '../../../nodepool/spec/syntax.ts';
import { type LiveState, liveCode } from '../../../nodepool/status/state-word.ts';
import { GOOD_STATUS, isStale } from '../../../nodepool/status/status.ts';
import type {
  Node,
  NodePool,
  RolloutStrategy,
  RuntimeClass,
  StartupTaint,
  Toleration,
} from '../../../nodepool/types.ts';
import {
  ANNOTATION_WIDTH,
  annotationPairs,
  type LabelledField,
  labelTexts,
  MESSAGE_WIDTH,
  NONE,
  nodeStatusCell,
  orNone,
  REASON_WIDTH,
  resourceCell,
  shorten,
  stateCell,
  statusCell,
} from '../../../print/cells.ts';
import { type Column, fitColumns } from '../../../print/fit-columns.ts';
import { GRID_INDENT, renderGrid } from '../../../print/grid.ts';
import { displayQuantity } from '../../../print/quantity.ts';
import { isChanging } from '../../../print/question.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import { type Cell, DESCRIBE, paintAs, renderTable, safeText } from '../../../print/table.ts';
import { formatAge, formatTimeAndAge } from '../../../print/time.ts';
import { wrapWords } from '../../../print/width.ts';
import { blockedAmong, blockedNotes } from '../changes/blocks.ts';
import { maintenanceLine } from '../cordon/print-cordon.ts';
import type { Permitted } from '../refusals.ts';
import type { DescribedNode } from './describe.ts';
import { describeEvents } from './print-timeline.ts';

export interface PoolDescription {
  pool: NodePool;
  /** Values from the current nodes; undefined: STATUS is that of the last reconcile. */
  live?: LiveState;
  nodes: DescribedNode[];
  /** The RuntimeClass with the pool's name, whoever owns it. */
  runtimeClass: Permitted<RuntimeClass | undefined>;
  /** What each member has from the pool: its record and its taints. */
  reached?: readonly RecordedMember[];
  /** In display order. */
  events: Permitted<NodeEventRecord[]>;
}

/** Without the last newline. @param terminalWidth fits the tables into it; undefined keeps cells whole */
export function renderDescription(
  description: PoolDescription,
  now: Date,
  style: Style,
  terminalWidth?: number,
): string {
  const { pool, nodes, events } = description;
  return [
    fields(headFields(description, now, style)),
    'Spec:',
    fields(specFields(pool), '  '),
    ...section('Allocatable', allocatableTable(membersOf(nodes))),
    ...nodesSection(pool, nodes, { now, style, terminalWidth }),
    ...runtimeClassSection(description, style),
    ...section('Conditions', conditionsTable(description, now, style), terminalWidth),
    ...('forbidden' in events
      ? [forbiddenLine('Events', events.forbidden, style)]
      : section('Events', describeEvents(events.value, now, style), terminalWidth)),
  ].join('\n');
}

function headFields(description: PoolDescription, now: Date, style: Style): LabelledField[] {
  const { metadata, status } = description.pool;
  const annotations = Object.entries(metadata.annotations ?? {}).filter(([key]) => key !== LAST_APPLIED);
  return [
    ['Name', metadata.name],
    ['Labels', orNone(labelTexts(metadata.labels))],
    ['Annotations', orNone(annotations.map(([key, value]) => `${key}: ${shorten(value, ANNOTATION_WIDTH)}`))],
    ['Created', formatTimeAndAge(metadata.creationTimestamp, now)],
    ...(metadata.deletionTimestamp === undefined
      ? []
      : [
          [
            'Deleting',
            { text: `since ${formatTimeAndAge(metadata.deletionTimestamp, now)}`, paint: style.yellow },
          ] as LabelledField,
        ]),
    ['Status', statusLine(description, style)],
    ...(status?.podCount === undefined ? [] : [['Pods', `${status.podCount} on its nodes`] as LabelledField]),
  ];
}

/** The status from the current nodes, and the last reconcile's. */
function statusLine({ pool, live }: PoolDescription, style: Style): Cell {
  const cell = statusCell(pool, style, live);
  const code = live === undefined ? pool.status?.status : liveCode(pool, live);
  const about = code === undefined ? 'not reconciled yet' : `code ${code}`;
  const isOld = isStale(pool) ? '; the spec changed after the last reconcile' : '';
  return { text: `${safeText(cell)} (${about}${isOld})`, paint: text => paintAs(cell, text) };
}

function specFields(pool: NodePool): LabelledField[] {
  const { labels, taints = [], handler, unmanaged, annotations, startupTaints, paused = false } = pool.spec;
  const { rollout, noExecute } = pool.spec;
  const { labels: wanted, expressions } = membershipSelector(pool);
  const selector = [...labelTexts(wanted), ...partsOf({ labels: {}, expressions }).map(({ text }) => text)];
  return [
    ['Labels', orNone(labelTexts(labels))],
    ['Taints', orNone(taints.map(formatTaint))],
    ['Handler', handler || NONE],
    ['Node Selector', hasDefaultSelector(pool.spec) ? selector.map(pair => `${pair} (default)`) : orNone(selector)],
    ['Unmanaged', unmanaged ?? 'Keep'],
    ...(startupTaints === undefined
      ? []
      : [['Startup Taints', orNone(startupTaints.map(startupText))] as LabelledField]),
    ...(noExecute === undefined ? [] : [['No Execute', noExecute] as LabelledField]),
    ...(paused ? [['Paused', 'true'] as LabelledField] : []),
    ...(rollout === undefined ? [] : [['Rollout', rolloutPairs(rollout)] as LabelledField]),
    ...(annotations === undefined ? [] : [['Annotations', orNone(annotationPairs(annotations))] as LabelledField]),
  ];
}

function startupText({ until, again, ...taint }: StartupTaint): string {
  const lifted = until === undefined ? '' : ` until ${until.nodeCondition}`;
  return `${formatTaint(taint)}${lifted}${again === undefined ? '' : `, again after a ${again.toLowerCase()}`}`;
}

function rolloutPairs(rollout: RolloutStrategy): string[] {
  const { settleSeconds = DEFAULT_SETTLE_SECONDS, stopOnNotReady = true, ...limits } = rollout;
  return Object.entries({ ...limits, settleSeconds, stopOnNotReady }).map(([field, value]) => {
    return `${field}=${value}${Object.hasOwn(rollout, field) ? '' : ' (default)'}`;
  });
}

interface Table {
  columns: string[];
  rows: Cell[][];
}

function membersOf(nodes: readonly DescribedNode[]): Node[] {
  return nodes.filter(({ membership }) => membership.kind === 'member').map(({ node }) => node);
}

/** Exact quantities next to rounded ones. */
function allocatableTable(members: readonly Node[]): Table {
  const rows = Object.entries(sumAllocatable(members))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([resource, quantity]) => {
      const shown = displayQuantity(resource, quantity);
      const cells = [resource, quantity, shown === quantity ? '' : `(${shown})`];
      return cells.map(text => shorten(text, REASON_WIDTH));
    });
  return { columns: ['Resource', 'Total', ''], rows };
}

function conditionsTable({ pool: { status }, nodes }: PoolDescription, now: Date, style: Style): Table {
  const differs = nodes.some(node => node.membership.kind === 'member' && (isChanging(node) || node.blocked));
  const members = membersOf(nodes);
  const ready = members.filter(({ ready }) => ready).length;
  const isReadyOld = members.length !== status?.nodeCount || ready !== status.readyNodeCount;
  const rows = (status?.conditions ?? []).map(({ type, status: value, reason, lastTransitionTime, message }) => {
    // Conditions of others should be True.
    const wanted = ownValue(GOOD_STATUS, type) ?? 'True';
    const good = value === wanted;
    // The condition contradicts the current nodes shown above.
    const isOld = good && (type === 'Applied' ? differs : type === 'Ready' && isReadyOld);
    const paint = isOld ? style.yellow : good ? style.green : style.red;
    return [
      shorten(type, REASON_WIDTH),
      wanted === 'either' ? shorten(value, REASON_WIDTH) : { text: shorten(value, REASON_WIDTH), paint },
      shorten(reason, REASON_WIDTH),
      formatAge(lastTransitionTime, now),
      shorten(isOld ? `from the last reconcile: ${message}` : message, MESSAGE_WIDTH),
    ];
  });
  return { columns: ['Type', 'Status', 'Reason', 'Age', 'Message'], rows };
}

function forbiddenLine(title: string, { oneLine, next }: NodepoolError, style: Style): string {
  const text = `<forbidden: ${oneLine}${next === undefined ? '' : `; ${next}`}>`;
  return `${title}:  ${style.yellow(sanitizeLine(text))}`;
}

function runtimeClassSection({ pool, runtimeClass: read, reached }: PoolDescription, style: Style): string[] {
  if ('forbidden' in read) return [forbiddenLine('RuntimeClass', read.forbidden, style)];
  const runtimeClass = read.value;
  const plan = planRuntimeClass(pool, runtimeClass, reached).kind;
  if (runtimeClass === undefined || (plan === 'none' && !pool.spec.handler)) {
    return [`RuntimeClass:  ${NONE}${plan === 'create' ? ' (the next reconcile creates it)' : ''}`];
  }
  const states: Record<typeof plan, Cell> = {
    none: { text: 'in sync', paint: style.green },
    create: '',
    patch: { text: 'to be updated', paint: style.yellow },
    replace: { text: 'to be deleted and recreated', paint: style.yellow },
    delete: { text: 'to be deleted', paint: style.yellow },
    foreign: { text: 'owned by another object; not changed', paint: style.red },
  };
  const { nodeSelector, tolerations = [] } = runtimeClass.scheduling ?? {};
  const rows: LabelledField[] = [
    ['Name', runtimeClass.metadata.name],
    ['Handler', runtimeClass.handler],
    ['State', states[plan]],
    ['Node Selector', orNone(labelTexts(nodeSelector))],
    ['Tolerations', orNone(tolerations.map(tolerationText))],
  ];
  return ['RuntimeClass:', fields(rows, '  ')];
}

/** As in kubectl describe of a pod: `key=value:Effect op=Exists for 30s`. */
function tolerationText({ key = '', operator = 'Equal', value, effect, tolerationSeconds }: Toleration): string {
  return [
    `${key}${value ? `=${value}` : ''}${effect ? `:${effect}` : ''}`,
    ...(operator === 'Exists' ? ['op=Exists'] : []),
    ...(tolerationSeconds === undefined ? [] : [`for ${tolerationSeconds}s`]),
  ]
    .filter(Boolean)
    .join(' ');
}

function section(title: string, { columns, rows }: Table, terminalWidth?: number): string[] {
  if (rows.length === 0) return [`${title}:  ${NONE}`];
  return [`${title}:`, renderGrid(columns, rows, terminalWidth)];
}

function fields(rows: LabelledField[], indent = ''): string {
  const cells = rows.flatMap(([label, values]) =>
    [values].flat().map((value, i): Cell[] => [i === 0 ? `${label}:` : '', value]),
  );
  return renderTable(cells, { ...DESCRIBE, indent });
}

// The nodes of a pool in `describe`; if there are many, those with problems come first.

const MAX_SHOWN = 50;

function nodeColumns(style: Style): Column<DescribedNode>[] {
  const resource = (header: string, name: string, rank: number): Column<DescribedNode> => {
    return { header, cell: ({ node }) => resourceCell(node.allocatable, name), rank };
  };
  return [
    { header: 'Name', cell: ({ node }) => node.name, cutFrom: 0, isName: true },
    { header: 'Status', cell: ({ node }) => nodeStatusCell(node, style) },
    resource('CPU', 'cpu', 2),
    resource('Memory', 'memory', 3),
    resource('Pods', 'pods', 4),
    { header: 'State', cell: described => nodeState(described, style) },
    { header: 'Age', cell: ({ node }, now) => formatAge(node.creationTimestamp, now), rank: 1 },
  ];
}

interface NodesTable {
  now: Date;
  style: Style;
  terminalWidth: number | undefined;
}

/** @param nodes sorted by name */
function nodesSection(pool: NodePool, nodes: DescribedNode[], { now, style, terminalWidth }: NodesTable): string[] {
  if (nodes.length === 0) return [`Nodes:  ${countsText(nodes, now)}`];
  const many = nodes.length > MAX_SHOWN;
  const shown = many ? nodes.toSorted((a, b) => urgency(b) - urgency(a)).slice(0, MAX_SHOWN) : nodes;
  const all = nodeColumns(style);
  const columns =
    terminalWidth === undefined ? all : fitColumns(all, shown, now, terminalWidth - GRID_INDENT.length, DESCRIBE);
  return [
    `Nodes:  ${countsText(nodes, now)}`,
    renderGrid(
      columns.map(({ header }) => header),
      shown.map(described => columns.map(({ cell }) => cell(described, now, Infinity))),
    ),
    ...(many ? [moreText(pool, nodes.length - MAX_SHOWN)] : []),
    ...blockedSection(nodes, terminalWidth),
    ...maintenanceSection(nodes, { now, style, terminalWidth }),
  ];
}

function blockedSection(nodes: DescribedNode[], width = Infinity): string[] {
  return blockedNotes(blockedAmong(nodes)).flatMap(note => wrapWords(`  ! ${sanitizeLine(note)}`, width, '    '));
}

/** Overdue ones first. */
function maintenanceSection(nodes: DescribedNode[], { now, style, terminalWidth }: NodesTable): string[] {
  const noted = nodes.flatMap(({ node }) => {
    const text = maintenanceLine(node, now);
    if (text === undefined) return [];
    const maintenance = activeMaintenance(node);
    return [{ name: node.name, text, late: maintenance !== undefined && isOverdue(maintenance, now) }];
  });
  if (noted.length === 0) return [];
  const shown = noted.toSorted((a, b) => Number(b.late) - Number(a.late)).slice(0, MAX_SHOWN);
  const rows = shown.map(({ name, text, late }): Cell[] => [name, late ? { text, paint: style.red } : text]);
  const more = noted.length - shown.length;
  return [
    'Maintenance:',
    renderGrid(['Node', 'Owner'], rows, terminalWidth),
    ...(more > 0 ? [`  … and ${more} more`] : []),
  ];
}

/** `5, 4 ready, 1 unschedulable, 1 under maintenance, 2 with changes due, 1 not written, 1 owned by another pool` */
function countsText(nodes: DescribedNode[], now: Date): string {
  const members = nodes.filter(({ membership }) => membership.kind === 'member');
  const count = (from: DescribedNode[], what: (described: DescribedNode) => boolean) => from.filter(what).length;
  const { active, overdue } = countMaintenance(
    members.map(({ node }) => node),
    now,
  );
  const others = [
    [count(members, ({ node }) => node.unschedulable), 'unschedulable'],
    [active, overdue === 0 ? 'under maintenance' : `under maintenance (${overdue} overdue)`],
    [count(members, isChanging), 'with changes due'],
    [count(nodes, ({ blocked }) => blocked !== undefined), 'not written'],
    [count(nodes, ({ membership }) => membership.kind === 'leaving'), 'to be cleaned'],
    [count(nodes, ({ membership }) => membership.kind === 'conflict'), 'owned by another pool'],
  ] as const;
  return [
    String(members.length),
    `${count(members, ({ node }) => node.ready)} ready`,
    ...others.flatMap(([number, what]) => (number > 0 ? [`${number} ${what}`] : [])),
  ].join(', ');
}

function moreText(pool: NodePool, more: number): string {
  const selector = sanitizeLine(quotedSelector(membershipSelector(pool)));
  return `  … and ${more} more; list them all with: kubectl get nodes -l ${selector}`;
}

function nodeState({ changes, drain, blocked, membership }: DescribedNode, style: Style): Cell {
  return blocked
    ? { text: blocked.word, paint: style.red }
    : stateCell(membership, changes.length + (drain?.changes.length ?? 0), style, drain?.hasBegun);
}

function urgency(described: DescribedNode): number {
  const { node, blocked, membership } = described;
  if (blocked !== undefined || membership.kind === 'conflict') return 4;
  if (membership.kind === 'leaving') return 3;
  if (isChanging(described)) return 2;
  return node.ready && !node.unschedulable ? 0 : 1;
}
