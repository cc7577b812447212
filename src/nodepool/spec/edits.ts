/** Edits of a pool's spec, as flags express them. Fields without an edit stay as they are. */
import { deepEqual, isObject, ownValue, setOwn } from '../json.ts';
import type { Requirement } from '../membership/label-query.ts';
import { hasDefaultSelector, ROLE_PREFIX } from '../membership/selector.ts';
import type { NodePool, NodePoolSpec, RolloutStrategy, StartupTaint, Taint, TaintEffect } from '../types.ts';
import { taintId } from './taints.ts';

/** Without an effect: all taints with the key. */
export interface TaintRemoval {
  key: string;
  effect?: TaintEffect;
}

export interface SpecEdits {
  /** null removes the label; likewise in the other maps. */
  labels: Record<string, string | null>;
  /** As labels. Setting or removing a label also replaces the expressions on it. */
  nodeSelector: Record<string, string | null>;
  /** Replace the selector's labels and expressions with the same keys. */
  matchExpressions: Requirement[];
  annotations: Record<string, string | null>;
  setTaints: Taint[];
  /** Without an effect, all taints with the key are removed. */
  removeTaints: TaintRemoval[];
  /** As taints. */
  setStartupTaints: StartupTaint[];
  removeStartupTaints: TaintRemoval[];
  /** "" removes the handler; undefined leaves it. */
  handler: string | undefined;
  unmanaged: 'Keep' | 'Remove' | undefined;
  noExecute: 'Immediate' | 'Drain' | undefined;
  /** Fields to set; null removes one. */
  rollout: { [Field in keyof RolloutStrategy]: RolloutStrategy[Field] | null };
  /** false removes the field, as `rollout resume` does. */
  paused: boolean | undefined;
}

/** Edits that only add expressions keep the default selector: the spec then names the role label explicitly. */
export function specToEdit({ metadata, spec }: NodePool, { nodeSelector, matchExpressions }: SpecEdits): NodePoolSpec {
  const setsLabel = Object.values(nodeSelector).some(value => value !== null);
  if (!hasDefaultSelector(spec) || matchExpressions.length === 0 || setsLabel) return spec;
  return { ...spec, nodeSelector: { [`${ROLE_PREFIX}${metadata.name}`]: '' } };
}

/** The edited spec, and a description of each removal that matched nothing. */
export function applyEdits(spec: NodePoolSpec, edits: SpecEdits): { spec: NodePoolSpec; notFound: string[] } {
  const notFound: string[] = [];
  const next: NodePoolSpec = { ...spec };
  assign(next, 'labels', editMap('label', spec.labels, edits.labels, notFound));
  const selector = editSelector(spec, edits, notFound);
  assign(next, 'nodeSelector', selector.labels);
  assign(next, 'matchExpressions', selector.expressions);
  assign(next, 'taints', editTaints('taint', spec.taints, edits.setTaints, edits.removeTaints, notFound));
  assign(next, 'annotations', editMap('annotation', spec.annotations, edits.annotations, notFound));
  const { setStartupTaints, removeStartupTaints } = edits;
  const startup = editTaints('startup taint', spec.startupTaints, setStartupTaints, removeStartupTaints, notFound);
  assign(next, 'startupTaints', startup);
  if (edits.handler === '') delete next.handler;
  else if (edits.handler !== undefined) next.handler = edits.handler;
  if (edits.unmanaged !== undefined) next.unmanaged = edits.unmanaged;
  if (edits.noExecute !== undefined) next.noExecute = edits.noExecute;
  const { rollout } = editRollout(spec.rollout, edits.rollout);
  if (rollout === undefined) delete next.rollout;
  else next.rollout = rollout;
  if (edits.paused) next.paused = true;
  else if (edits.paused === false) delete next.paused;
  return { spec: next, notFound };
}

/** Without the last field there is no rollout. A rollout that never had a field stays. */
export function editRollout(
  before: RolloutStrategy | undefined,
  edits: SpecEdits['rollout'],
): Pick<NodePoolSpec, 'rollout'> {
  const fields = Object.entries({ ...before, ...edits }).filter(([, value]) => value !== null);
  const wasEmpty = before !== undefined && Object.keys(before).length === 0;
  return fields.length > 0 || wasEmpty ? { rollout: Object.fromEntries(fields) } : {};
}

function editMap(
  what: string,
  before: Record<string, string> = {},
  edits: Record<string, string | null>,
  notFound: string[],
): Record<string, string> {
  const after = { ...before };
  for (const [key, value] of Object.entries(edits)) {
    if (value !== null) setOwn(after, key, value);
    else if (Object.hasOwn(after, key)) delete after[key];
    else notFound.push(`${what} ${key}`);
  }
  return after;
}

function editSelector(
  { nodeSelector = {}, matchExpressions = [] }: NodePoolSpec,
  edits: SpecEdits,
  notFound: string[],
): { labels: Record<string, string>; expressions: Requirement[] } {
  const edited = new Set([...Object.keys(edits.nodeSelector), ...edits.matchExpressions.map(({ key }) => key)]);
  const labels = Object.fromEntries(Object.entries(nodeSelector).filter(([key]) => !edited.has(key)));
  for (const [key, value] of Object.entries(edits.nodeSelector)) {
    if (value !== null) setOwn(labels, key, value);
    else if (!Object.hasOwn(nodeSelector, key) && matchExpressions.every(expression => expression.key !== key))
      notFound.push(`node selector ${key}`);
  }
  const kept = matchExpressions.filter(({ key }) => !edited.has(key));
  return { labels, expressions: [...kept, ...edits.matchExpressions] };
}

function editTaints<T extends Taint>(
  what: string,
  before: readonly T[] = [],
  set: readonly T[],
  remove: readonly TaintRemoval[],
  notFound: string[],
): T[] {
  let after = [...before];
  for (const { key, effect } of remove) {
    const remaining = after.filter(taint => taint.key !== key || (effect !== undefined && taint.effect !== effect));
    if (remaining.length === after.length) notFound.push(`${what} ${key}${effect === undefined ? '' : `:${effect}`}`);
    after = remaining;
  }
  for (const taint of set) {
    const at = after.findIndex(candidate => taintId(candidate) === taintId(taint));
    if (at < 0) after.push(taint);
    else after[at] = taint;
  }
  return after;
}

/** Removes an empty field: the API rejects an empty selector. */
function assign<K extends 'labels' | 'nodeSelector' | 'matchExpressions' | 'taints' | 'annotations' | 'startupTaints'>(
  spec: NodePoolSpec,
  field: K,
  value: NonNullable<NodePoolSpec[K]>,
): void {
  if (Object.keys(value).length > 0) spec[field] = value;
  else delete spec[field];
}

// The differences between two specs of a pool, field by field, for display.

export interface SpecChange {
  /** As `spec.labels[tier]`, `spec.taints[gold:NoSchedule]`, `spec.handler`. */
  path: string;
  /** Undefined if the field was absent. */
  from: unknown;
  to: unknown;
}

/** Includes fields that this version does not know. Sorted by path. */
export function specChanges(before: object, after: object): SpecChange[] {
  const [from, to] = [parts(before), parts(after)];
  return [...new Set([...from.keys(), ...to.keys()])]
    .toSorted()
    .map(path => ({ path, from: from.get(path), to: to.get(path) }))
    .filter(change => !deepEqual(change.from, change.to));
}

function parts(spec: object): Map<string, unknown> {
  return new Map(Object.entries(spec).flatMap(([field, value]) => partsOf(`spec.${field}`, value)));
}

function partsOf(path: string, value: unknown): [string, unknown][] {
  if (Array.isArray(value)) return value.map((item, at) => [`${path}[${keyOf(item) ?? at}]`, withoutTaintId(item)]);
  if (isObject(value) && Object.keys(value).length > 0)
    return Object.keys(value).map(key => [`${path}[${key}]`, ownValue(value, key)]);
  return [[path, value]];
}

/** The key of a taint. */
function keyOf(item: unknown): string | undefined {
  return isObject(item) && typeof item.effect === 'string' ? `${item.key}:${item.effect}` : undefined;
}

function withoutTaintId(item: unknown): unknown {
  if (keyOf(item) === undefined || !isObject(item)) return item;
  const { key: _key, effect: _effect, value = '', ...rest } = item;
  return Object.keys(rest).length === 0 ? value : { value, ...rest };
}
