/** Consent to taints with the effect NoExecute, which evict pods: what a plan needs, and whether it was given. */
import { NodepoolError } from '../../nodepool/errors.ts';
import type { DuePlan } from '../../nodepool/plan/plan.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import { arrivingNoExecute } from '../../nodepool/spec/toleration.ts';
import type { Taint } from '../../nodepool/types.ts';

/** Ends what noExecuteOf() gives of a taint that is set after evictions. */
const AFTER_EVICTIONS = ' after evictions';

/**
 * The taints with the effect NoExecute that the plans add to nodes, each as `node key=value:NoExecute`. Those of pools with
 * `noExecute: Drain` end with AFTER_EVICTIONS: who agrees to these does not agree to the others.
 */
export function noExecuteOf(plans: readonly DuePlan[]): Set<string> {
  return new Set(
    plans.flatMap(plan => {
      const { node, patch, drain } = plan;
      const text = (taint: Taint) => `${node.name} ${formatTaint(taint)}`;
      const arriving = arrivingNoExecute(node.taints, patch?.taints ?? []).map(text);
      const later = (drain?.taints ?? []).map(text);
      return plan.kind === 'write' && plan.isCleared ? arriving.map(drained) : [...arriving, ...later.map(drained)];
    }),
  );
}

function drained(taint: string): string {
  return taint + AFTER_EVICTIONS;
}

/**
 * A node that changed since its plan was agreed to may get a NoExecute taint that no consent covers: throws NodepoolError.
 * @param consent as noExecuteOf() gives it; undefined: all
 */
export function assertConsent(plan: DuePlan, consent: ReadonlySet<string> | undefined): void {
  if (consent === undefined) return;
  const isCovered = (taint: string) => consent.has(taint) || consent.has(taint.replace(AFTER_EVICTIONS, ''));
  const first = [...noExecuteOf([plan])].find(taint => !isCovered(taint));
  if (first === undefined) return;
  throw new NodepoolError(
    'cluster',
    `node ${plan.node.name} was changed meanwhile and would now get the taint ${first.split(' ')[1]}, which was not agreed to; it was not written`,
    'run the command again to see which pods that would evict',
  );
}
