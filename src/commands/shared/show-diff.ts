/** Shows what a reconcile would change: for `diff` and for `reconcile --dry-run=client`. */
import { approver } from '../../cli/approve.ts';
import { warningLine } from '../../cli/error-line.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { reportNoPools } from '../../cli/pool-choice.ts';
import { namesUnlessAll, type PoolChoice } from '../../operations/choose-pools.ts';
import { NO_CHANGE } from '../../operations/consent.ts';
import { type Diff, diff } from '../../operations/diff.ts';

/**
 * Prints the changes to stdout, warnings and the pods that would be evicted to stderr.
 * @returns how many nodes and RuntimeClasses would change; throws where no node would and RuntimeClasses are forbidden
 */
export async function showDiff(
  choice: PoolChoice,
  output: 'json' | 'yaml' | undefined,
  { io }: Pick<Deps, 'io'>,
  connection: Connection,
): Promise<number> {
  const names = await namesUnlessAll(choice, connection.cluster.pools);
  const isNone = names?.length === 0;
  const found: Diff = isNone ? { plan: NO_CHANGE, warnings: [] } : await diff(names ?? [], connection);
  const { plan, warnings, forbidden } = found;
  if (isNone) reportNoPools(io);
  for (const warning of warnings) io.err(warningLine(warning));
  if (output !== undefined) {
    const { printDiff } = await import('../../render/diff-data.ts');
    io.out(printDiff(plan, output));
  } else {
    const { renderDiff } = await import('../../render/diff.ts');
    const { makeStyle } = await import('../../render/style.ts');
    const text = renderDiff(plan, makeStyle(io.color), io.now());
    if (text !== '') io.out(text);
  }
  await approver({ yes: false, dryRun: true }, io, connection.pods)({ plan });
  const nodes = plan.nodes.filter(({ changes }) => changes.length > 0);
  if (forbidden !== undefined) {
    // Without a difference the answer would be "none", which is not known.
    if (nodes.length === 0) throw forbidden;
    const { oneLine, next } = forbidden;
    io.err(warningLine(`RuntimeClasses are not shown: ${oneLine}${next === undefined ? '' : `; next: ${next}`}`));
  }
  return nodes.length + plan.runtimeClasses.filter(({ kind }) => kind !== 'foreign').length;
}
