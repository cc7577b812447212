/** The labels and taints that a change modifies on a node, and which of them matter. */
import { ownValue } from '../../nodepool/json.ts';
import type { Change } from '../../nodepool/plan/change.ts';
import { taintId, taintsById } from '../../nodepool/spec/taints.ts';
import type { Node, Taint, TaintEffect } from '../../nodepool/types.ts';

/** The current node, and the node after a plan. */
export interface NodeChange {
  before: Node;
  after: Node;
}

export interface PlannedChange extends NodeChange {
  /** The node while NoExecute taints wait until its pods are evicted; absent: no taint waits. */
  meanwhile?: Node;
}

export interface ChangedKey {
  kind: 'label' | 'taint';
  key: string;
  /** For a taint. */
  effect?: TaintEffect;
  /** Absent: the key is added. */
  from?: string;
  /** Absent: the key is removed. */
  to?: string;
}

export function changedKeys({ before, after }: NodeChange): ChangedKey[] {
  const names = new Set([...Object.keys(before.labels), ...Object.keys(after.labels)]);
  const labels = [...names].flatMap((key): ChangedKey[] => {
    const [from, to] = [ownValue(before.labels, key), ownValue(after.labels, key)];
    return from === to ? [] : [{ kind: 'label', key, ...ends(from, to) }];
  });
  const [had, gets] = [taintsById(before.taints), taintsById(after.taints)];
  const taints = [...new Set([...had.keys(), ...gets.keys()])].flatMap((id): ChangedKey[] => {
    const taint = gets.get(id) ?? had.get(id);
    const [from, to] = [valueIn(had.get(id)), valueIn(gets.get(id))];
    if (taint === undefined || from === to) return [];
    return [{ kind: 'taint', key: taint.key, effect: taint.effect, ...ends(from, to) }];
  });
  return [...labels, ...taints];
}

/** Keys that are necessary for the new answer; if none is, keys that are sufficient; else all. */
export function causesOf<T>(
  answer: (node: Node) => T,
  change: NodeChange,
  keys: readonly ChangedKey[],
): readonly ChangedKey[] {
  const { before, after } = change;
  const [then, now] = [answer(before), answer(after)];
  if (then === now) return [];
  if (keys.length === 1) return keys;
  const needed = keys.filter(key => answer(withKey(after, before, key)) !== now);
  if (needed.length > 0) return needed;
  const enough = keys.filter(key => answer(withKey(before, after, key)) !== then);
  return enough.length > 0 ? enough : keys;
}

/** The node with the other node's value of this label or taint. */
function withKey(node: Node, other: Node, { kind, key, effect }: ChangedKey): Node {
  if (kind === 'label') {
    const { [key]: _, ...labels } = node.labels;
    const value = ownValue(other.labels, key);
    return { ...node, labels: value === undefined ? labels : { ...labels, [key]: value } };
  }
  const isThatTaint = (taint: Taint) => taint.key === key && taint.effect === effect;
  return {
    ...node,
    taints: [...node.taints.filter(taint => !isThatTaint(taint)), ...other.taints.filter(isThatTaint)],
  };
}

function ends(from: string | undefined, to: string | undefined): Pick<ChangedKey, 'from' | 'to'> {
  return { ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) };
}

function valueIn(taint: Taint | undefined): string | undefined {
  return taint && (taint.value ?? '');
}

export function changedNode(node: Node, changes: readonly Change[]): Node {
  const labels = new Map(Object.entries(node.labels));
  const taints = taintsById(node.taints);
  for (const { kind, key, effect, to } of changes) {
    if (kind === 'label') {
      if (to === undefined) labels.delete(key);
      else labels.set(key, to);
    }
    if (kind !== 'taint' || effect === undefined) continue;
    const taint: Taint = { key, effect, ...(to ? { value: to } : {}) };
    if (to === undefined) taints.delete(taintId(taint));
    else taints.set(taintId(taint), taint);
  }
  return { ...node, labels: Object.fromEntries(labels), taints: [...taints.values()] };
}
