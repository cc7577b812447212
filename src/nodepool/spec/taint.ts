import type { Taint, TaintEffect } from '../types.ts';

/** The identity of a taint in plans and records: `key:Effect`. */
export function taintId(taint: { key: string; effect: TaintEffect }): string {
  return `${taint.key}:${taint.effect}`;
}

/** Whether key, effect and value are equal. As for the API server, a missing value equals "". */
export function isSameTaint(a: Taint, b: Taint): boolean {
  return a.key === b.key && a.effect === b.effect && (a.value ?? '') === (b.value ?? '');
}

/** The taint with this identity and value; "" is left out, as the API server prints it. */
export function taintFrom(id: string, value: string): Taint {
  const colon = id.lastIndexOf(':');
  const effect = id.slice(colon + 1) as TaintEffect;
  return { key: id.slice(0, colon), ...(value === '' ? {} : { value }), effect };
}
