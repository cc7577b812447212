/** Shows the plan of a deletion, and its result. */
import { showError, showNote, showWarning } from '../../../cli/errors.ts';
import type { Deps } from '../../../cli/factory.ts';
import { type Io, terminalWidth } from '../../../cli/io.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { plural } from '../../../nodepool/text.ts';
import { poolRef } from '../../../print/sanitize.ts';
import type { Proposal } from '../consent/consent.ts';
import { showFailures } from '../reconcile/reconcile-deps.ts';
import type { DeleteResult } from './delete.ts';

interface DeletePrint {
  /** `name`: print only the names of deleted pools to stdout. */
  output: 'name' | undefined;
  /** For a dry run; like kubectl, names get no suffix. */
  suffix: string;
}

/** For a dry run: changes of nodes, and deleted RuntimeClasses, if any. */
export async function showPlan(plan: Proposal['plan'], { output }: DeletePrint, io: Io): Promise<void> {
  if (plan instanceof NodepoolError) throw plan;
  if (output === 'name') return;
  const { renderDiff } = await import('../changes/print-diff.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  const text = renderDiff(plan, makeStyle(io.color), { terminalWidth: terminalWidth(io) });
  if (text !== '') io.out(`${text}\n`);
}

/** Prints the result for one pool; returns its exit code. */
export function showDeletion(
  { pool, outcome, error, released, nextOwners, detached, finalizers }: DeleteResult,
  shown: DeletePrint,
  { io }: Deps,
): number {
  for (const warning of outcome?.warnings ?? []) showWarning(io, warning);
  if (error !== undefined) showError(io, error);
  showFailures(io, outcome?.failures ?? []);
  if (outcome?.kind !== 'released' || outcome.failures.length > 0) {
    // If an error has a next step of its own, repeating the command would fail again.
    const hasNext = [error, ...(outcome?.failures ?? [])].some(failure => failure?.next !== undefined);
    showNote(io, deletionLine(pool, `is not deleted yet${hasNext ? '' : ': run the command again to finish'}`, ''));
    return 1;
  }
  if (finalizers.length > 0) {
    showNote(
      io,
      deletionLine(
        pool,
        `has released its nodes; waiting for other finalizers: ${finalizers.join(', ')}`,
        shown.suffix,
      ),
    );
    return 1;
  }
  // No number if another process, such as a watch, may have released the nodes.
  const parts = [
    ...(released > 0 ? [`${plural(released, 'node')} released${nextOwnersText(released, nextOwners)}`] : []),
    ...(detached > 0 ? [`${detached} detached`] : []),
  ];
  io.out(deletedLine(pool, shown, parts.length === 0 ? '' : ` (${parts.join(', ')})`));
  return 0;
}

/** The pools that now own the released nodes. */
function nextOwnersText(released: number, nextOwners: DeleteResult['nextOwners']): string {
  const shares = [...nextOwners].toSorted().map(([pool, nodes]) => ({ pool, nodes }));
  const [first] = shares;
  if (first === undefined) return '';
  if (first.nodes === released) return ` to pool ${first.pool}`;
  return `, ${shares.map(({ pool, nodes }, at) => `${nodes}${at === 0 ? ' of them' : ''} to pool ${pool}`).join(', ')}`;
}

export function deletedLine(pool: string, { output, suffix }: DeletePrint, how = ''): string {
  return output === 'name' ? poolRef(pool) : deletionLine(pool, `deleted${how}`, suffix);
}

/** In kubectl's format for a deleted object. */
function deletionLine(pool: string, what: string, suffix: string): string {
  return `nodepool.nodes.lailin.xyz "${pool}" ${what}${suffix}`;
}
