/** The pods that NoExecute taints would evict, shown before the question. */
import { firstFew, noun, plural } from '../../../nodepool/text.ts';
import { taintsText } from '../../../print/cells.ts';
import { wrapProse } from '../../../print/error.ts';
import { type Column, fittedRows } from '../../../print/fit-columns.ts';
import { namesText } from '../../../print/names.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import { GET, renderTable } from '../../../print/table.ts';
import { formatDuration } from '../../../print/time.ts';
import type { EvictionPreview, NodeEvictions } from './taint-evictions.ts';

const MAX_NODES = 20;
/** Maximum number of pods named for a node, and in a question. */
const MAX_NAMED = 3;
/** Beyond this many characters, further taints are only counted. */
const TAINTS_WIDTH = 40;

/** Without the last newline. @param width Infinity if nothing is to be cut */
export function renderEvictions(preview: EvictionPreview, width: number): string {
  const shown = preview.nodes.slice(0, MAX_NODES);
  const { header, cells } = fittedRows(columnsOf(preview, width), shown, width === Infinity ? undefined : width);
  const more = preview.nodes.length - shown.length;
  const prose = (line: string) => wrapProse(sanitizeLine(line), width);
  return [
    ...prose(`${evictionsSentence(preview)}:`),
    renderTable([header, ...cells], GET, width),
    ...(more > 0 ? [`… and ${more} more ${noun(more, 'node')}`] : []),
    ...notes(preview).flatMap(prose),
  ].join('\n');
}

/**
 * `NoExecute taints evict 5 pods at once, and 1 pod after tolerationSeconds from 2 nodes`; if all are drained, `5 pods
 * are evicted from 2 nodes before NoExecute taints are set there`
 */
export function evictionsSentence({ nodes, now, later, drained }: EvictionPreview): string {
  if (drained === nodes.length) {
    const are = now === 1 ? 'is' : 'are';
    return `${plural(now, 'pod')} ${are} evicted from ${plural(drained, 'node')} before NoExecute taints are set there`;
  }
  const atOnce = now > 0 ? `${plural(now, 'pod')} at once` : '';
  const afterwards = later > 0 ? `${plural(later, 'pod')} after tolerationSeconds` : '';
  return `NoExecute taints evict ${[atOnce, afterwards].filter(Boolean).join(', and ')} from ${plural(nodes.length, 'node')}`;
}

/** The same for a question, or for the error of a script. */
export function evictionLosses(preview: EvictionPreview): string[] {
  const { nodes, drained, ofDaemonSets, withoutController, ended } = preview;
  const pods = nodes.flatMap(podsOf);
  const names = namesText(nodes.map(({ node }) => node));
  const of = (count: number, one: string, many: string) =>
    count === 0 ? [] : [`${count} of them ${count === 1 ? one : many}`];
  return [
    `${evictionsSentence(preview)} (${names}): ${firstFew(pods, MAX_NAMED)}`,
    ...(drained === nodes.length ? [] : ['taints ignore PodDisruptionBudgets']),
    ...of(withoutController, 'has no controller and is not recreated', 'have no controller and are not recreated'),
    ...of(ofDaemonSets, 'belongs to a DaemonSet', 'belong to DaemonSets'),
    ...of(ended, 'has already ended', 'have already ended'),
  ];
}

/** On a terminal, a column of zeros is left out to make room for names: the sentence above has both numbers. */
function columnsOf({ now, later }: EvictionPreview, width: number): Column<NodeEvictions>[] {
  const isShown = (count: number) => count > 0 || width === Infinity;
  // One word for scripts.
  const podsText = (each: NodeEvictions) =>
    width === Infinity ? podsOf(each).join(',') : firstFew(podsOf(each), MAX_NAMED);
  const taints: Column<NodeEvictions>['cell'] = (each, _, most) =>
    taintsText(each.taints, Math.min(most, TAINTS_WIDTH));
  return [
    { header: 'NODE', cell: ({ node }) => node, cutFrom: Infinity, isName: true },
    { header: 'TAINTS', cell: taints, rank: 1, cutFrom: Infinity },
    ...(isShown(now) ? [{ header: 'NOW', cell: (each: NodeEvictions) => String(each.now.length) }] : []),
    ...(isShown(later) ? [{ header: 'LATER', cell: laterText }] : []),
    { header: 'PODS', cell: podsText, isText: true },
  ];
}

function laterText({ later }: NodeEvictions): string {
  const soonest = later[0]?.seconds;
  return soonest === undefined ? '0' : `${later.length} (${formatDuration(soonest * 1000)})`;
}

function podsOf({ now, later }: NodeEvictions): string[] {
  return [...now, ...later.map(({ pod }) => pod)];
}

/** @param drained number of nodes of pools with noExecute: Drain */
function budgetNote(drained: number, nodes: number): string {
  const within = 'the Eviction API evicts the pods before the taints are set and respects PodDisruptionBudgets';
  if (drained === nodes) return `The pool has noExecute: Drain: ${within}.`;
  const others = 'Taints ignore PodDisruptionBudgets.';
  return drained === 0 ? others : `${others} On ${plural(drained, 'node')} of pools with noExecute: Drain, ${within}.`;
}

const DAEMONS = ['owned by a DaemonSet, which recreates', 'owned by DaemonSets, which recreate'];

function notes({ nodes, drained, ofDaemonSets, withoutController, ended }: EvictionPreview): string[] {
  const note = (count: number, one: string, many: string, what: string) =>
    count > 0 ? [`${count} of them ${count === 1 ? one : many} ${what}.`] : [];
  return [
    budgetNote(drained, nodes.length),
    ...note(ofDaemonSets, 'is', 'are', `${DAEMONS[ofDaemonSets === 1 ? 0 : 1]} no pod there without a toleration`),
    ...note(withoutController, 'has', 'have', 'no controller and will not be recreated'),
    ...note(ended, 'has', 'have', 'already ended'),
  ];
}
