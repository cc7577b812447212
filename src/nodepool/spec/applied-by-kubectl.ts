/** What the next `kubectl apply` of a pool's file would take back: client-side apply keeps the file in an annotation. */
import { isObject, own } from '../json.ts';
import { deepEqual } from '../merge-patch.ts';
import type { NodePool } from '../types.ts';

export const LAST_APPLIED = 'kubectl.kubernetes.io/last-applied-configuration';

/**
 * Paths of fields that differ from the last applied file, as `spec.taints` or `spec.labels.team`. Of fields that the file does
 * not have, none: client-side apply keeps those. It replaces lists as a whole, as a custom resource gets a JSON merge patch.
 */
export function takenBackByApply({ metadata, spec }: NodePool): string[] {
  const file = parsed(metadata.annotations?.[LAST_APPLIED]);
  return isObject(file) && isObject(file.spec) ? differing('spec', file.spec, { ...spec }) : [];
}

function differing(path: string, file: Record<string, unknown>, live: Record<string, unknown>): string[] {
  return Object.entries(file).flatMap(([key, wanted]) => {
    const value = own(live, key);
    if (isObject(wanted) && isObject(value)) return differing(`${path}.${key}`, wanted, value);
    return deepEqual(wanted, value) ? [] : [`${path}.${key}`];
  });
}

function parsed(text: string | undefined): unknown {
  try {
    return JSON.parse(text ?? 'null');
  } catch {
    return undefined;
  }
}
