/** Reconciles and shows what came of it: for `reconcile` and `create --reconcile`. */
import type { Approve } from '../operations/evictions.ts';
import { type PoolSummary, type ReconcileOptions, reconcile } from '../operations/reconcile.ts';
import { droppedFields, lackingMessage } from '../reconciler/status-fields.ts';
import { errorLine, warningLine } from './error-line.ts';
import type { Connection, Deps } from './factory.ts';
import { failureLines } from './failure-lines.ts';
import { reconcileDeps } from './reconcile-deps.ts';
import { EXIT } from './report-error.ts';

/** Prints one line a pool to stdout, failures to stderr; returns the exit code. */
export async function showReconcile(
  options: ReconcileOptions & { podCounts: boolean; approve?: Approve },
  deps: Deps,
  connection: Connection,
): Promise<number> {
  const { io } = deps;
  const work = await reconcileDeps(deps, connection, options.dryRun ? 'Reconciling (server dry run)' : 'Reconciling');
  const counts = options.podCounts ? { podCounts: () => connection.countPods() } : {};
  const { approve: ask } = options;
  const approve = ask === undefined ? {} : { approve: (read => work.aside(() => ask(read))) satisfies Approve };
  const summaries = await reconcile(options, { ...work, ...counts, ...approve }).finally(work.stop);
  if (summaries.length === 0) {
    io.err('No pools found. Create one with `kubectl nodepool create`.');
    return EXIT.done;
  }
  const { renderSummaries } = await import('../render/summary.ts');
  const { makeStyle } = await import('../render/style.ts');
  io.out(renderSummaries(summaries, { dryRun: options.dryRun }, makeStyle(io.color)));
  const dropped = droppedFields(summaries.flatMap(({ outcome }) => outcome?.lacking ?? []));
  if (dropped.length > 0) io.err(warningLine(lackingMessage(dropped)));
  const said = new Set<string>();
  for (const { pool, outcome, error } of summaries) {
    for (const warning of outcome?.warnings ?? []) io.err(warningLine(`${pool}: ${warning}`));
    for (const line of failureLines(outcome?.failures ?? [], pool, said)) io.err(line);
    if (error !== undefined) io.err(errorLine(error, pool));
  }
  const codes = summaries.map(exitCode);
  // An error wins over a pool that is not 200.
  return codes.includes(EXIT.error) ? EXIT.error : Math.max(EXIT.done, ...codes);
}

function exitCode({ outcome, error }: PoolSummary): number {
  if (error !== undefined || outcome === undefined || outcome.failures.length > 0) return EXIT.error;
  return outcome.kind === 'released' || outcome.status?.status === 200 ? EXIT.done : EXIT.unhealthy;
}
