/** Changes the membership of nodes and shows the result: for `add`, `remove` and `move`. */
import * as Flags from '@oclif/core/flags';
import { showWarning, warnOnce } from '../../../cli/error-line.ts';
import type { Deps } from '../../../cli/factory.ts';
import { concurrencyFlag, dryRunFlag, dryRunSuffix, yesFlag } from '../../../cli/flags.ts';
import { EXIT } from '../../../cli/report-error.ts';
import type { DryRun } from '../../../kube/cluster.ts';
import { showPlanned } from '../changes/show-diff.ts';
import { approver } from '../consent/approve.ts';
import { agree } from '../consent/consent.ts';
import { impactTeller } from '../impact/show-impact.ts';
import { interruptible, isInterrupted, reportInterruption } from '../reconcile/interruptible.ts';
import { reconcileDeps, showFailures } from '../reconcile/reconcile-deps.ts';
import { moveNodes } from './move-nodes.ts';
import { type MoveOptions, planMoves } from './plan-moves.ts';

/** The flags of all three commands. */
export const moveFlags = {
  selector: Flags.string({
    char: 'l',
    summary: 'Select nodes by their labels: a=b,c!=d,e.',
    helpValue: 'SELECTOR',
  }),
  'dry-run': dryRunFlag(),
  concurrency: concurrencyFlag,
  yes: yesFlag(),
};

export interface MoveFlags {
  selector?: string | undefined;
  'dry-run': DryRun;
  concurrency: number;
  yes: boolean;
}

/** Prints a line for each node to stdout, failures to stderr; returns the exit code. */
export async function showMoves(
  what: Pick<MoveOptions, 'kind' | 'pool' | 'nodes' | 'from'>,
  { selector, 'dry-run': dryRun, concurrency, yes }: MoveFlags,
  deps: Deps,
): Promise<number> {
  const { io, connect } = deps;
  const connection = await connect({ concurrency, dryRun: dryRun !== 'none' });
  const warn = warnOnce(io);
  const propose = async () => {
    const planned = await planMoves({ ...what, selector }, connection);
    warn(planned.warnings);
    if (planned.plan.nodes.length + planned.unchanged.length === 0) io.err('No nodes found.');
    if (dryRun !== 'none' && planned.plan.nodes.length > 0) {
      await showPlanned(planned.plan, io, connection, planned.state);
    }
    return { ...planned, asksImpactOf: planned.plan };
  };
  const approve = approver({ yes, dryRun: dryRun !== 'none' }, io, connection.pods, impactTeller(io, connection));
  const agreed = await agree(propose, approve);
  if (agreed === undefined) return EXIT.error;
  const { proposal: planned, consent } = agreed;
  const { renderMoved, renderUnmoved } = await import('./print-moves.ts');
  const suffix = dryRunSuffix(dryRun);
  for (const node of planned.unchanged) io.out(renderUnmoved(what, node));
  if (dryRun === 'client') {
    const owners = planned.plan.nodes.map(({ node, owner, changes }) => {
      return { node: node.name, from: planned.state.ownership(node.name)?.owner, to: owner, changes };
    });
    for (const moved of owners) io.out(renderMoved(what, moved) + suffix);
    return EXIT.done;
  }
  if (planned.plan.nodes.length === 0) return EXIT.done;
  const work = await reconcileDeps(deps, connection, WORDS[what.kind]);
  const options = { concurrency, consent };
  const { moved, failures, warnings, results } = await interruptible(io, signal =>
    moveNodes(planned, options, { ...work, signal }).finally(work.stop),
  );
  const changes = new Map(planned.plan.nodes.map(plan => [plan.node.name, plan.changes]));
  for (const one of moved) io.out(renderMoved(what, { ...one, changes: changes.get(one.node) }) + suffix);
  for (const warning of warnings) showWarning(io, warning);
  showFailures(io, failures);
  if (isInterrupted(results)) return reportInterruption(io, results);
  return failures.length > 0 ? EXIT.error : EXIT.done;
}

const WORDS = { add: 'Adding', remove: 'Removing', move: 'Moving' };
