/** The detail texts: a node, an event, the help. No line is wider than the width. */

import { countMaintenance } from '../nodepool/maintenance.ts';
import { allChanges } from '../nodepool/plan.ts';
import { formatTaint } from '../nodepool/syntax.ts';
import type { Node } from '../nodepool/types.ts';
import type { PoolEventRecord } from '../operations/ports.ts';
import type { ClusterState } from '../reconciler/cluster-state.ts';
import { planOf } from '../reconciler/node-plan.ts';
import { annotationPairs, type Field, NONE, nodeStatusText, orNone, pairs } from '../render/cells.ts';
import { changeCell } from '../render/diff.ts';
import { eventTypeCell } from '../render/events.ts';
import { maintenanceLine } from '../render/maintenance.ts';
import { displayQuantity } from '../render/quantity.ts';
import type { Style } from '../render/style.ts';
import { fit, paintAs } from '../render/table.ts';
import { formatTimeAndAge } from '../render/time.ts';
import { wrap } from '../render/width.ts';

/** Of the column of titles at least, so that it stays when fields come and go. */
const TITLE_WIDTH = 14;

export function nodeText(clusterState: ClusterState, node: Node, now: Date, style: Style): Field[] {
  const ownership = clusterState.ownership(node.name);
  const holder = ownership?.record?.pool;
  const plan = planOf(clusterState, node.name);
  const changes = plan === undefined ? [] : allChanges(plan);
  const maintenance = maintenanceLine(node, now);
  const isLate = countMaintenance([node], now).overdue > 0;
  const isFine = node.ready && !node.unschedulable;
  const resources = Object.entries(node.allocatable).map(
    ([name, quantity]) => `${name}: ${displayQuantity(name, quantity)}`,
  );
  return [
    ['Name', node.name],
    ['Pool', ownership?.owner ?? NONE],
    ...(holder !== undefined && holder !== ownership?.owner
      ? [['Held by', `${holder}: released by the next reconcile`] as Field]
      : []),
    ...(ownership !== undefined && ownership.conflicting.length > 0
      ? [['Also matched by', ownership.conflicting.join(', ')] as Field]
      : []),
    ['Status', { text: nodeStatusText(node), paint: isFine ? style.green : style.yellow }],
    ...(maintenance === undefined
      ? []
      : [['Maintenance', isLate ? { text: maintenance, paint: style.red } : maintenance] as Field]),
    ['Created', formatTimeAndAge(node.creationTimestamp, now)],
    ['Changes due', changes.length === 0 ? NONE : changes.map(change => changeCell(change, style))],
    ['Taints', orNone(node.taints.map(formatTaint))],
    ['Allocatable', orNone(resources.toSorted())],
    ['Labels', orNone(pairs(node.labels))],
    ...(node.annotations === undefined ? [] : [['Annotations', annotationPairs(node.annotations)] as Field]),
  ];
}

export function eventText(event: PoolEventRecord, now: Date, style: Style): Field[] {
  const { count } = event;
  return [
    ['Pool', event.pool],
    ['Reason', event.reason],
    ['Type', eventTypeCell(event, style)],
    ['Last seen', formatTimeAndAge(event.lastSeen, now)],
    ...(count > 1 ? [['First seen', `${formatTimeAndAge(event.firstSeen, now)}, ${count} times`] as Field] : []),
    ['From', event.reporter || NONE],
    ['Message', event.note],
  ];
}

/** The fields as lines; long values are wrapped. A title that is too long for its column has a line of its own. */
export function fieldLines(fields: readonly Field[], width: number): string[] {
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

/** Of the first column of the help. */
const KEYS_WIDTH = 18;
/** Keys and what they do. */
const HELP: readonly (readonly [keys: string, what: string])[] = [
  ['↑ ↓  k j', 'up, down'],
  ['g G  pgup pgdn', 'first, last; a page, as space'],
  ['enter  →', 'open the pool, the node, the event'],
  ['q esc  ←', 'back; esc removes the filter first'],
  ['/', 'filter the rows; !text: those without it'],
  [':', 'jump to a pool or node; tab completes'],
  ['d  y', 'describe, YAML, of the pool or node'],
  ['t', 'requested and used resources'],
  ['e  E', 'events of the pool, of all pools'],
  ['c  u  D', 'cordon, uncordon, drain; ask first'],
  ['N S A', 'sort by name, status, age; again: reversed'],
  ['C M P U', 'sort by cpu, memory, pods, gpus'],
  ['V W', 'sort by cpu used, memory used'],
  ['Z R X F', 'pools: by nodes, ready, cordoned, drift'],
  ['T  I', 'nodes: state, maintenance; T events: type'],
  ['L S O M', 'events: last seen, reason, pool, message'],
  ['?', 'help; keys that do not scroll close it'],
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
