/** `reconcile -o json|yaml`. */
import { warningText } from '../../../nodepool/errors.ts';
import { troubleIn } from '../../../nodepool/status/status.ts';
import { printDocument } from '../../../print/printers.ts';
import type { WriteFailure } from '../../../reconciler/outcome.ts';
import type { PoolSummary } from './apply.ts';

/** Without the last newline. */
export function printSummaries(pools: PoolSummary[], { dryRun }: { dryRun: boolean }, format: 'json' | 'yaml'): string {
  return printDocument('ReconcileResultList', { dryRun, items: pools.map(itemOf) }, format);
}

function itemOf({ pool, outcome, error, joined, left, updated }: PoolSummary) {
  const status = outcome?.status;
  const rollout = status?.conditions?.find(({ type }) => type === 'Progressing');
  const failures: WriteFailure[] = [...(outcome?.failures ?? [])];
  if (error !== undefined) failures.push({ message: error.oneLine, next: error.next });
  return {
    pool,
    result: outcome?.kind ?? (error === undefined ? 'not started' : 'failed'),
    status: status?.status ?? null,
    reason: status?.status === 200 ? null : (troubleIn(status)?.message ?? null),
    ...(rollout === undefined ? {} : { rollout: { reason: rollout.reason, message: rollout.message } }),
    nodeCount: status?.nodeCount ?? null,
    nodes: { joined, left, updated, unwritten: outcome?.unwritten ?? 0 },
    runtimeClass: outcome?.runtimeClass.kind ?? 'unchanged',
    failures: failures.map(({ message, next = null, node = null }) => ({ message, next, node })),
    warnings: (outcome?.warnings ?? []).map(warningText),
  };
}
