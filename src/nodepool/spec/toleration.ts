/**
 * How a NoExecute taint affects the pods that already run on a node, as Kubernetes' taint eviction controller decides
 * (k8s.io/kubernetes pkg/controller/tainteviction, with Toleration.ToleratesTaint of k8s.io/api). Only tolerations
 * count: DaemonSet pods, mirror pods and terminated pods are not exempt. Most DaemonSet and mirror pods have suitable
 * tolerations.
 */
import { parseInt64 } from '../json.ts';
import type { Taint, Toleration } from '../types.ts';
import { taintId } from './taint-rules.ts';

/** As IsDecimalInteger: no plus sign, no leading zeros. */
const DECIMAL = /^(0|-?[1-9]\d*)$/;

/**
 * Whether the toleration tolerates the taint. Lt and Gt compare integers (TaintTolerationComparisonOperators, alpha in
 * 1.35 and 1.36); only a server with that feature gate accepts pods that use them.
 */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  const { key = '', operator = '', value = '', effect = '' } = toleration;
  if (effect !== '' && effect !== taint.effect) return false;
  if (key !== '' && key !== taint.key) return false;
  switch (operator) {
    case '':
    case 'Equal':
      return value === (taint.value ?? '');
    case 'Exists':
      return true;
    case 'Lt':
    case 'Gt':
      return compares(operator, integer(taint.value ?? ''), integer(value));
    default:
      return false;
  }
}

/**
 * Seconds until a pod with these tolerations is evicted from a node with these taints: 0 immediately, Infinity never.
 * For each taint the first matching toleration counts, and of those the shortest tolerationSeconds.
 */
export function evictedAfter(tolerations: readonly Toleration[], taints: readonly Taint[]): number {
  let shortest = Infinity;
  for (const taint of taints) {
    if (taint.effect !== 'NoExecute') continue;
    const first = tolerations.find(toleration => tolerates(toleration, taint));
    if (first === undefined) return 0;
    shortest = Math.min(shortest, Math.max(0, first.tolerationSeconds ?? Infinity));
  }
  return shortest;
}

/** NoExecute taints that are new on a node, or have a new value. */
export function arrivingNoExecute(before: readonly Taint[], after: readonly Taint[]): Taint[] {
  const values = new Map(before.map(taint => [taintId(taint), taint.value ?? '']));
  return after.filter(taint => taint.effect === 'NoExecute' && values.get(taintId(taint)) !== (taint.value ?? ''));
}

function compares(operator: 'Lt' | 'Gt', taint: bigint | undefined, toleration: bigint | undefined): boolean {
  if (taint === undefined || toleration === undefined) return false;
  return operator === 'Lt' ? taint < toleration : taint > toleration;
}

function integer(text: string): bigint | undefined {
  return DECIMAL.test(text) ? parseInt64(text) : undefined;
}
