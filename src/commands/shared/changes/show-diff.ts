/** Shows what a reconcile would change: for `diff`, and above the result of `reconcile --dry-run`. */

import { showNote, showWarning } from '../../../cli/error-line.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import { type Io, terminalWidth } from '../../../cli/io.ts';
import type { ClusterPort } from '../../../kube/cluster.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { approver } from '../consent/approve.ts';
import { NO_CHANGE } from '../consent/consent.ts';
import { impactFinder, impactText } from '../impact/show-impact.ts';
import { namesUnlessAll, type PoolChoice } from '../pools/choose-pools.ts';
import { reportNoPools } from '../pools/pool-choice.ts';
import { type Diff, diff } from './diff.ts';
import { unreadText, withSetters } from './drift-setters.ts';

/**
 * Prints the changes to stdout, warnings and the pods that would be evicted to stderr.
 * @param impactPaths also finds the impact, on these fields of custom resources as well as on the well-known ones
 * @returns how many nodes and RuntimeClasses would change; throws where no node would and RuntimeClasses are forbidden
 */
export async function showDiff(
  choice: PoolChoice,
  output: 'json' | 'yaml' | undefined,
  { io }: Pick<Deps, 'io'>,
  connection: Connection,
  impactPaths?: readonly string[],
): Promise<number> {
  const names = await namesUnlessAll(choice, connection.cluster.pools);
  const isNone = names?.length === 0;
  const found: Diff = isNone
    ? { plan: NO_CHANGE, warnings: [], notes: [] }
    : await diff(names ?? [], connection, impactPaths && (await impactFinder(impactPaths, io.env, connection)));
  const { plan, warnings, notes, forbidden, impact } = found;
  if (isNone) reportNoPools(io);
  for (const warning of warnings) showWarning(io, warning);
  for (const note of notes) showNote(io, `${note}; reconcile writes it`);
  const nodes = [...plan.nodes.filter(({ changes, drain }) => changes.length > 0 || drain), ...plan.later];
  // Without a difference the answer would be "none", which is not known.
  if (forbidden !== undefined && nodes.length === 0) throw forbidden;
  if (output !== undefined) {
    const { printDiff } = await import('./print-diff-data.ts');
    const { runtimeClasses, ...others } = plan;
    io.out(printDiff(forbidden === undefined ? { ...others, runtimeClasses } : others, output, impact));
  } else {
    const text = await diffText(plan, io);
    if (text !== '') io.out(text);
    if (impact !== undefined && nodes.length > 0)
      io.out(`\n${await impactText(impact, { color: io.color, width: terminalWidth(io) })}`);
  }
  if (!impact?.isKnown) await approver({ yes: false, dryRun: true }, io, connection.pods)({ plan });
  if (forbidden !== undefined) {
    const { oneLine, next } = forbidden;
    showWarning(io, { message: `RuntimeClasses are not shown: ${oneLine}`, next });
  }
  return nodes.length + plan.runtimeClasses.filter(({ kind }) => kind !== 'foreign').length;
}

/** What a reconcile is about to change, with an empty line below; nothing without changes. */
export async function printChanges(plan: ClusterPlan, { nodes }: Pick<ClusterPort, 'nodes'>, io: Io): Promise<void> {
  const { planned, unread } = await withSetters(plan.nodes, nodes);
  if (unread > 0) showWarning(io, unreadText(unread));
  const text = await diffText({ ...plan, nodes: planned }, io);
  if (text !== '') io.out(`${text}\n`);
}

/** Empty without changes and notes. */
async function diffText(plan: ClusterPlan, { color, now }: Pick<Io, 'color' | 'now'>): Promise<string> {
  const { renderDiff } = await import('./print-diff.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  return renderDiff(plan, makeStyle(color), now());
}
