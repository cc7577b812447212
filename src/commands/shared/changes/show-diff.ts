/** Shows what a reconcile would change: for `diff`, and above the result of `reconcile --dry-run`. */
import { showNote, showWarning } from '../../../cli/error-line.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import { type Io, terminalWidth } from '../../../cli/io.ts';
import type { ClusterPort } from '../../../kube/cluster.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { approver } from '../consent/approve.ts';
import { NO_CHANGE } from '../consent/consent.ts';
import { impactFinder, impactPreview, impactText } from '../impact/show-impact.ts';
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

// What a plan changes on nodes, and what that does to pods: for dry runs.

/** Prints to stdout, with an empty line below; nothing without changes. @param state as it was planned */
export async function showPlanned(
  plan: ClusterPlan,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<void> {
  const { renderDiff } = await import('./print-diff.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  const text = renderDiff(plan, makeStyle(io.color), io.now());
  if (text === '') return;
  io.out(`${text}\n`);
  await showImpact(plan, io, connection, state);
}

/** Of a dry run: a person sees it, a script need not be allowed to read what it needs. @param state as it was planned */
export async function showImpactToPerson(
  plan: ClusterPlan | NodepoolError,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<void> {
  if (io.stdoutIsTTY && !(plan instanceof NodepoolError)) await showImpact(plan, io, connection, state);
}

async function showImpact(plan: ClusterPlan, io: Io, connection: Connection, state?: ClusterState): Promise<void> {
  const impact = await impactPreview(plan, io, connection, state);
  if (impact !== undefined) io.out(`${impact}\n`);
}
