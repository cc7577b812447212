/** The output of `diff`: the changes of the next reconcile for each node, each with its reason. */

import { allChanges, type Change, type DuePlan } from '../../../nodepool/plan/plan.ts';
import { stepsText } from '../../../nodepool/rollout/rollout.ts';
import { formatTaint } from '../../../nodepool/spec/syntax.ts';
import { plural } from '../../../nodepool/text.ts';
import { ANNOTATION_WIDTH, shorten } from '../../../print/cells.ts';
import { oneLine } from '../../../print/error.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import type { StyledText } from '../../../print/table.ts';
import { formatAge } from '../../../print/time.ts';
import type { ClusterPlan, LaterPlan } from '../../../reconciler/plan/cluster-plan.ts';

export interface PrintedDiff extends Omit<ClusterPlan, 'nodes' | 'later'> {
  nodes: PlannedNode[];
  later: (PlannedNode & Pick<LaterPlan, 'pausedBy'>)[];
}

type PlannedNode = Pick<DuePlan, 'node' | 'owner' | 'previous' | 'changes' | 'drain'>;

/** Empty without changes and notes. @param now for the age of what others set, where the diff has that */
export function renderDiff(diff: PrintedDiff, style: Style, now?: Date): string {
  const changed = diff.runtimeClasses.filter(({ kind }) => kind !== 'foreign');
  const runtimeClasses = changed.map(runtimeClass => runtimeClassLine(runtimeClass, style));
  const paused = Map.groupBy(diff.later, ({ pausedBy }) => pausedBy);
  const notes = [
    ...[...paused].flatMap(([pool, { length }]) => (pool === undefined ? [] : pausedNote(pool, length))),
    ...diff.invalid.map(({ pool, errors }) => {
      const wrong = errors.map(({ field, message }) => `${field}: ${message}`).join('; ');
      return oneLine(`pool ${pool} is not applied until its spec is corrected: ${wrong}`);
    }),
    ...diff.circles.map(
      ({ node, pools }) =>
        `node ${node} is not written: the labels of each of the pools ${pools.join(', ')} make it a member of another, without end`,
    ),
    ...diff.oversized.map(
      node => `node ${node} is not written: what its pool sets and removes there does not fit into the record`,
    ),
    ...diff.conflicts.map(
      ({ node, pool, owner, notApplied }) =>
        `node ${node} belongs to pool ${owner} and also matches pool ${pool} (conflict)${notApplied.length > 0 ? `; not applied: ${notApplied.join(', ')}` : ''}`,
    ),
    ...diff.runtimeClasses
      .filter(({ kind }) => kind === 'foreign')
      .map(({ name }) => `RuntimeClass ${name} has another owner and is not changed`),
  ].map(note => style.red(`! ${sanitizeLine(note)}`));
  // A change of the record alone is no difference.
  const nodes = diff.nodes.filter(({ changes, drain }) => changes.length > 0 || drain !== undefined);
  const summary = summarize(nodes, diff.later.length, changed.length);
  const sections = [
    ...nodes.map(plan => nodeSection(plan, style, now)),
    ...diff.later.map(plan =>
      nodeSection(plan, style, now, plan.pausedBy === undefined ? 'later' : `pool ${plan.pausedBy} is paused`),
    ),
  ];
  return [...sections, diff.rollouts.map(rolloutLine).join('\n'), runtimeClasses.join('\n'), notes.join('\n'), summary]
    .filter(section => section !== '')
    .join('\n\n');
}

function pausedNote(pool: string, nodes: number): string {
  return `pool ${pool} is paused: ${plural(nodes, 'node')} above ${nodes === 1 ? 'is' : 'are'} not written until \`kubectl nodepool rollout resume ${pool}\``;
}

/** `pool web: 10 nodes now, of the canary of 10; then 990 nodes in 20 steps of at most 50` */
function rolloutLine(step: PrintedDiff['rollouts'][number]): string {
  return sanitizeLine(`pool ${step.pool}: ${stepsText(step)}`);
}

/** @param waits why it is not written now */
function nodeSection(
  { node, owner, previous, changes, drain }: PlannedNode,
  style: Style,
  now?: Date,
  waits?: string,
): string {
  const head = style.bold(sanitizeLine(`node ${node.name} (${move(previous, owner)}${waits ? `; ${waits}` : ''})`));
  const later = (drain?.changes ?? []).map((change, at) => {
    return `${changeLine(change, style, now)}${style.dim(at === 0 ? AFTER : THEN)}`;
  });
  return [head, ...changes.map(change => changeLine(change, style, now)), ...later].join('\n');
}

const AFTER = ', once the pods that it would evict are evicted within their budgets';
const THEN = ', with it';

function move(from: string | undefined, to: string | undefined): string {
  // A pool that was never reconciled owns no node.
  if (to === undefined) return from === undefined ? 'joins no pool' : `leaves pool ${from}`;
  if (from === undefined) return `joins pool ${to}`;
  return from === to ? `pool ${to}` : `moves from pool ${from} to pool ${to}`;
}

function changeLine(change: Change, style: Style, now?: Date): string {
  const { text, paint } = changeCell(change, style);
  const reason = change.action === 'restore' ? `${change.reason}, restored` : change.reason;
  return `  ${paint(sanitizeLine(text))}  ${style.dim(`(${reason}${setByText(change, now)})`)}`;
}

/**
 * `: set by kubectl-label 3m ago`; where the spec changed as well, `; value set by …`. Taints are one field: it is not
 * known which of them its last writer set.
 */
function setByText({ kind, reason, setBy }: Change, now?: Date): string {
  if (setBy === undefined) return '';
  const isReason = reason === 'drift' || reason === 'unmanaged';
  const what = kind === 'taint' ? 'taints ' : isReason ? '' : 'value ';
  const age = setBy.time === undefined || now === undefined ? '' : ` ${formatAge(setBy.time, now)} ago`;
  return sanitizeLine(`${isReason ? ':' : ';'} ${what}set by ${setBy.manager}${age}`);
}

/** `+` adds, `-` removes, `~` changes; a restored value is one of these too. */
export function changeCell(change: Pick<Change, 'kind' | 'key' | 'effect' | 'from' | 'to'>, style: Style): StyledText {
  const { kind } = change;
  const [from, to] = [change.from, change.to].map(value => (kind === 'annotation' ? cutValue(value) : value));
  const cell = (sign: string, text: string, paint: (text: string) => string) => ({
    text: `${sign} ${kind} ${text}`,
    paint,
  });
  if (from === undefined) return cell('+', slot(change, to ?? ''), style.green);
  if (to === undefined) return cell('-', slot(change, from), style.red);
  const key = change.effect === undefined ? change.key : `${change.key}:${change.effect}`;
  return cell('~', `${key}: ${from || '""'} -> ${to || '""'}`, style.yellow);
}

function cutValue(value: string | undefined): string | undefined {
  return value === undefined ? undefined : shorten(value, ANNOTATION_WIDTH);
}

/** As in flags: `a=b`, `key=value:Effect`. */
function slot({ key, effect }: Pick<Change, 'key' | 'effect'>, value: string): string {
  return effect === undefined ? `${key}=${value}` : formatTaint({ key, value, effect });
}

function runtimeClassLine({ name, kind }: PrintedDiff['runtimeClasses'][number], style: Style): string {
  const text = (sign: string, what: string) => `${sign} RuntimeClass ${sanitizeLine(name)}${what}`;
  switch (kind) {
    case 'create':
      return style.green(text('+', ''));
    case 'delete':
      return style.red(text('-', ''));
    case 'replace':
      return style.yellow(text('~', ': deleted and recreated: its handler or owner differs'));
    default:
      return style.yellow(text('~', ': node selector and tolerations updated'));
  }
}

/** `3 nodes would change: 4 set, 1 changed, 2 removed, 1 restored; 1 RuntimeClass would change` */
function summarize(plans: PrintedDiff['nodes'], later: number, runtimeClasses: number): string {
  const changes = plans.flatMap(allChanges);
  const counts = (
    [
      ['add', 'set'],
      ['change', 'changed'],
      ['remove', 'removed'],
      ['restore', 'restored'],
    ] as const
  ).flatMap(([action, word]) => {
    const count = changes.filter(change => change.action === action).length;
    return count > 0 ? [`${count} ${word}`] : [];
  });
  return [
    ...(plans.length > 0 ? [`${plural(plans.length, 'node')} would change: ${counts.join(', ')}`] : []),
    ...(later > 0 ? [`${plural(later, 'node')} would change later`] : []),
    ...(runtimeClasses > 0 ? [`${plural(runtimeClasses, 'RuntimeClass')} would change`] : []),
  ].join('; ');
}
