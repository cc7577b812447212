/** The output of `diff`: the next reconcile's changes with reasons; nodes with the same changes share a block. */

import type { FieldSetter } from '../../../nodepool/plan/change.ts';
import { allChanges, type Change, type DuePlan } from '../../../nodepool/plan/plan.ts';
import { stepsText } from '../../../nodepool/rollout/rollout.ts';
import { fieldErrorsText } from '../../../nodepool/spec/field-error.ts';
import { formatTaint } from '../../../nodepool/spec/syntax.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import { ANNOTATION_WIDTH, shorten } from '../../../print/cells.ts';
import { oneLine } from '../../../print/error.ts';
import { namesText, shortNames } from '../../../print/names.ts';
import { isChanging } from '../../../print/question.ts';
import { sanitizeLine } from '../../../print/sanitize.ts';
import type { Style } from '../../../print/style.ts';
import type { StyledText } from '../../../print/table.ts';
import { formatAge } from '../../../print/time.ts';
import { wrapWords } from '../../../print/width.ts';
import type { ClusterPlan, LaterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { blockedNotes, blockKey, blocksOf, type SharedChanges, sharedNotes } from './blocks.ts';

export interface PrintedDiff extends Omit<ClusterPlan, 'nodes' | 'later'> {
  nodes: PlannedNode[];
  later: (PlannedNode & Pick<LaterPlan, 'pausedBy'>)[];
}

type PlannedNode = Pick<DuePlan, 'node' | 'owner' | 'previous' | 'changes' | 'drain'>;

interface DiffOptions {
  /** For the age of values that others set, if the diff has it. */
  now?: Date;
  /** Show each node separately, even if others have the same changes. */
  byNode?: boolean;
  /** Width for wrapping lines of names and reasons; undefined: no wrapping. */
  terminalWidth?: number | undefined;
}

interface Screen extends DiffOptions {
  style: Style;
  wrapped: (line: string) => string;
  /** Shortens names so that all names of the screen differ. */
  short: (name: string) => string;
}

/** Indent below a line with a node's changes, which has two spaces. */
const WRAPPED = '    ';

/** Empty if there are no changes and no notes. */
export function renderDiff(diff: PrintedDiff, style: Style, options: DiffOptions = {}): string {
  const changed = diff.runtimeClasses.filter(({ kind }) => kind !== 'foreign');
  const runtimeClasses = changed.map(runtimeClass => runtimeClassLine(runtimeClass, style));
  const wrapped = (line: string) =>
    wrapWords(sanitizeLine(line), options.terminalWidth ?? Infinity, WRAPPED).join('\n');
  const named = [...diff.nodes, ...diff.later].map(({ node }) => node.name);
  const noted = [...diff.blocked, ...diff.conflicts].map(({ node }) => node);
  const screen: Screen = { style, wrapped, short: shortNames([...named, ...noted]), ...options };
  const paused = Map.groupBy(diff.later, ({ pausedBy }) => pausedBy);
  const notes = [
    ...[...paused].flatMap(([pool, { length }]) => (pool === undefined ? [] : pausedNote(pool, length))),
    ...diff.invalid.map(({ pool, errors }) => {
      return oneLine(`pool ${pool} has an invalid spec and is not applied: ${fieldErrorsText(errors)}`);
    }),
    ...blockedNotes(diff.blocked, screen),
    ...sharedNotes(
      diff.conflicts,
      ({ pool, owner, notApplied }, are) => {
        const verbs = are === 'is' ? ['belongs', 'matches'] : ['belong', 'match'];
        return `${verbs[0]} to pool ${owner} but also ${verbs[1]} pool ${pool} (conflict)${notApplied.length > 0 ? `; not applied: ${notApplied.join(', ')}` : ''}`;
      },
      screen,
    ),
    ...diff.runtimeClasses
      .filter(({ kind }) => kind === 'foreign')
      .map(({ name }) => `RuntimeClass ${name} has another owner and is not changed`),
  ].map(note => style.red(wrapped(`! ${note}`)));
  const nodes = diff.nodes.filter(isChanging);
  const summary = summarize(nodes, diff.later.length, changed.length);
  const sections = blocksOf<ShownNode>(
    [...nodes, ...diff.later.map(waiting)],
    options.byNode ? ({ node, waits }) => JSON.stringify([node.name, waits]) : blockKey,
  ).map(block => section(block, screen));
  return [
    ...sections,
    diff.rollouts.map(step => wrapped(rolloutLine(step))).join('\n'),
    runtimeClasses.join('\n'),
    notes.join('\n'),
    summary,
  ]
    .filter(section => section !== '')
    .join('\n\n');
}

function pausedNote(pool: string, nodes: number): string {
  return `pool ${pool} is paused: ${plural(nodes, 'node')} above ${nodes === 1 ? 'is' : 'are'} not written until \`kubectl nodepool rollout resume ${pool}\``;
}

/** `pool web: 10 nodes now (canary of 10); then 990 nodes in 20 steps of at most 50` */
function rolloutLine(step: PrintedDiff['rollouts'][number]): string {
  return `pool ${step.pool}: ${stepsText(step)}`;
}

type ShownNode = PlannedNode & Pick<SharedChanges, 'waits'>;

function waiting({ pausedBy, ...plan }: PrintedDiff['later'][number]): ShownNode {
  return { ...plan, waits: pausedBy === undefined ? 'later' : `pool ${pausedBy} is paused` };
}

function section(block: readonly [ShownNode, ...ShownNode[]], { style, wrapped, short, now }: Screen): string {
  const [{ owner, previous, changes, drain, waits }, ...more] = block;
  const where = move(previous, owner);
  const names = block.map(({ node }) => node.name);
  const head =
    more.length === 0
      ? `node ${names.join()} (${where}${waits === undefined ? '' : `; ${waits}`})`
      : `${where}: ${plural(names.length, 'node')}${waits === undefined ? '' : `, ${waits}`} (${namesText(names, short)})`;
  const setters = (at: number) => block.flatMap(node => node.changes[at]?.setBy ?? []);
  const later = (drain?.changes ?? []).map((change, at) => {
    return `${changeLine(change, [], style, now)}${style.dim(at === 0 ? AFTER : THEN)}`;
  });
  const lines = changes.map((change, at) => changeLine(change, setters(at), style, now));
  return [style.bold(wrapped(head)), ...lines, ...later].join('\n');
}

/** Maximum number of field managers in a line. */
const MAX_MANAGERS = 3;

const AFTER = ', after its pods are evicted';
const THEN = ', replaced by NoExecute';

function move(from: string | undefined, to: string | undefined): string {
  // A pool that was never reconciled owns no node.
  if (to === undefined) return from === undefined ? 'joins no pool' : `leaves pool ${from}`;
  if (from === undefined) return `joins pool ${to}`;
  return from === to ? `pool ${to}` : `moves from pool ${from} to pool ${to}`;
}

/**
 * ` ~ label zone: b -> a (drift: set by kubectl-label 3m ago)`
 * @param setters of the nodes, if they were read
 */
export function changeLine(change: Change, setters: readonly FieldSetter[], style: Style, now?: Date): string {
  const { text, paint } = changeCell(change, style);
  const reason = change.action === 'restore' ? `${change.reason}, restored` : change.reason;
  return `  ${paint(sanitizeLine(text))}  ${style.dim(`(${reason}${setByText(change, setters, now)})`)}`;
}

/** `: set by kubectl-label 3m ago`, or `; value set by …` if the spec changed as well. Taints are one field. */
function setByText({ kind, reason }: Change, setters: readonly FieldSetter[], now?: Date): string {
  const managers = [...new Set(setters.map(({ manager }) => manager))].toSorted();
  if (managers.length === 0) return '';
  const isReason = reason === 'drift' || reason === 'unmanaged';
  const what = kind === 'taint' ? 'taints ' : isReason ? '' : 'value ';
  // For several nodes, the latest time.
  const time = setters
    .flatMap(each => each.time ?? [])
    .toSorted((a, b) => Date.parse(a) - Date.parse(b))
    .at(-1);
  const age = time === undefined || now === undefined ? '' : ` ${formatAge(time, now)} ago`;
  return sanitizeLine(`${isReason ? ':' : ';'} ${what}set by ${firstFew(managers, MAX_MANAGERS)}${age}`);
}

/** `+` adds, `-` removes, `~` changes; restored values use the same signs. */
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

/** In the syntax of flags: `a=b`, `key=value:Effect`. */
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
