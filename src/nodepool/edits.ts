/** Edits of a pool's spec, as flags express them. Fields without an edit stay as they are. */
import { setOwn } from './json.ts';
import { taintId } from './taint.ts';
import type { NodePoolSpec, Taint, TaintEffect } from './types.ts';

export interface SpecEdits {
  /** null removes the label. */
  labels: Record<string, string | null>;
  nodeSelector: Record<string, string | null>;
  setTaints: Taint[];
  /** Without an effect, all taints of the key are removed. */
  removeTaints: { key: string; effect?: TaintEffect }[];
  /** "" removes the handler; undefined leaves it. */
  handler: string | undefined;
  unmanaged: 'Keep' | 'Remove' | undefined;
}

/** The edited spec, and a description of each removal that matched nothing. */
export function applyEdits(spec: NodePoolSpec, edits: SpecEdits): { spec: NodePoolSpec; notFound: string[] } {
  const notFound: string[] = [];
  const next: NodePoolSpec = { ...spec };
  assign(next, 'labels', editMap('label', spec.labels, edits.labels, notFound));
  assign(next, 'nodeSelector', editMap('node selector', spec.nodeSelector, edits.nodeSelector, notFound));
  assign(next, 'taints', editTaints(spec.taints, edits, notFound));
  if (edits.handler === '') delete next.handler;
  else if (edits.handler !== undefined) next.handler = edits.handler;
  if (edits.unmanaged !== undefined) next.unmanaged = edits.unmanaged;
  return { spec: next, notFound };
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

function editTaints(before: Taint[] = [], edits: SpecEdits, notFound: string[]): Taint[] {
  let after = [...before];
  for (const { key, effect } of edits.removeTaints) {
    const left = after.filter(taint => taint.key !== key || (effect !== undefined && taint.effect !== effect));
    if (left.length === after.length) notFound.push(`taint ${key}${effect === undefined ? '' : `:${effect}`}`);
    after = left;
  }
  for (const taint of edits.setTaints) {
    const at = after.findIndex(candidate => taintId(candidate) === taintId(taint));
    if (at < 0) after.push(taint);
    else after[at] = taint;
  }
  return after;
}

/** Removes the field when it is empty: the API rejects an empty selector. */
function assign<K extends 'labels' | 'nodeSelector' | 'taints'>(
  spec: NodePoolSpec,
  field: K,
  value: NonNullable<NodePoolSpec[K]>,
): void {
  if (Object.keys(value).length > 0) spec[field] = value;
  else delete spec[field];
}
