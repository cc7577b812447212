/** What the server stored of a pool otherwise than a create or an edit sent it. */
import type { NodepoolError } from '../../../nodepool/errors.ts';
import { isObject } from '../../../nodepool/json.ts';
import { ellipsize } from '../../../nodepool/text.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import { alteredError } from '../../../reconciler/write/write-errors.ts';

/** Bytes of a value in a message. */
const MAX_VALUE_LENGTH = 200;

/**
 * Undefined where the answer has what was sent, and nothing that the write removed. What the server added is none of
 * ours. A field that its CRD does not have is refused (fieldValidation=Strict), so one that is missing was removed by
 * an admission policy or webhook.
 * @param before the pool as it was, for an edit
 */
export function alteredPool(sent: NodePool, answer: NodePool, before?: NodePool): NodepoolError | undefined {
  const [wanted, found] = [fields(sent), fields(answer)];
  const names = new Set([...wanted.keys(), ...(before === undefined ? [] : fields(before).keys())]);
  const altered = [...names]
    .filter(name => wanted.get(name) !== found.get(name))
    .map(name => ({ name, sent: wanted.get(name), found: found.get(name) }));
  return altered.length === 0 ? undefined : alteredError(`nodepool ${sent.metadata.name}`, altered);
}

/** Every value by its path: `spec.nodeSelector[kind]`, `spec.taints[gold:NoSchedule]`, `spec.handler`. */
function fields({ metadata, spec }: NodePool): Map<string, string> {
  const into = new Map<string, string>();
  const set = (path: string, value: unknown) => {
    if (value === undefined || value === null) return;
    into.set(path, ellipsize(typeof value === 'string' ? value : JSON.stringify(value), MAX_VALUE_LENGTH));
  };
  const setEach = (path: string, map: unknown) => {
    if (isObject(map)) for (const [key, value] of Object.entries(map)) set(`${path}[${key}]`, value);
  };
  setEach('metadata.labels', metadata.labels);
  setEach('metadata.annotations', metadata.annotations);
  setEach('spec.labels', spec.labels);
  setEach('spec.nodeSelector', spec.nodeSelector);
  setEach('spec.matchExpressions', { ...asList(spec.matchExpressions) });
  set('spec.handler', spec.handler);
  set('spec.unmanaged', spec.unmanaged);
  setEach('spec.annotations', spec.annotations);
  set('spec.paused', spec.paused);
  for (const [field, value] of Object.entries(spec.rollout ?? {})) set(`spec.rollout.${field}`, value);
  for (const taint of asList(spec.taints))
    if (isObject(taint)) set(`spec.taints[${taint.key}:${taint.effect}]`, taint.value ?? '');
  for (const taint of asList(spec.startupTaints)) {
    if (!isObject(taint)) continue;
    const path = `spec.startupTaints[${taint.key}:${taint.effect}]`;
    set(path, taint.value ?? '');
    if (isObject(taint.until)) set(`${path}.until`, taint.until.nodeCondition);
    set(`${path}.again`, taint.again);
  }
  return into;
}

function asList(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [];
}
