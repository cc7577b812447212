/** Moves nodes and shows what came of it: for `add`, `remove` and `move`. */

import * as Flags from '@oclif/core/flags';
import { moveNodes } from '../operations/move-nodes.ts';
import { type MoveOptions, planMoves } from '../operations/plan-moves.ts';
import type { DryRun } from '../operations/ports.ts';
import { approveEvictions } from './approve-evictions.ts';
import { warningLine } from './error-line.ts';
import type { Deps } from './factory.ts';
import { failureLines } from './failure-lines.ts';
import { concurrencyFlag, dryRunFlag, dryRunSuffix, evictYesFlag } from './flags.ts';
import { reconcileDeps } from './reconcile-deps.ts';
import { EXIT } from './report-error.ts';

/** What the three verbs take alike. */
export const moveFlags = {
  selector: Flags.string({
    char: 'l',
    summary: 'The nodes with these labels, in place of names: a=b,c!=d,e.',
    helpValue: 'SELECTOR',
  }),
  'dry-run': dryRunFlag('Show what would change: "client" only reads, "server" has the server check every write.'),
  concurrency: concurrencyFlag,
  yes: evictYesFlag,
};

export interface MoveFlags {
  selector?: string | undefined;
  'dry-run': DryRun;
  concurrency: number;
  yes: boolean;
}

/** Prints one line a node to stdout, failures to stderr; returns the exit code. */
export async function showMoves(
  what: Pick<MoveOptions, 'kind' | 'pool' | 'nodes' | 'from'>,
  { selector, 'dry-run': dryRun, concurrency, yes }: MoveFlags,
  deps: Deps,
): Promise<number> {
  const { io, connect } = deps;
  const connection = await connect({ dryRun: dryRun === 'server', concurrency });
  const planned = await planMoves({ ...what, selector }, connection);
  const { renderMoved, renderUnmoved } = await import('../render/moves.ts');
  const suffix = dryRunSuffix(dryRun);
  for (const warning of planned.warnings) io.err(warningLine(warning));
  if (planned.plans.length + planned.unchanged.length === 0) io.err('No nodes found.');
  if (dryRun !== 'none' && planned.plans.length > 0) {
    const { renderDiff } = await import('../render/diff.ts');
    const { makeStyle } = await import('../render/style.ts');
    const nothingElse = { conflicts: [], circles: [], runtimeClasses: [], invalid: [] };
    io.out(`${renderDiff({ plans: planned.plans, ...nothingElse }, makeStyle(io.color))}\n`);
  }
  await approveEvictions({ yes, dryRun: dryRun !== 'none' }, io, connection.nodeAccess)(async () => planned.plans);
  for (const node of planned.unchanged) io.out(renderUnmoved(what, node));
  if (dryRun === 'client') {
    const owners = planned.plans.map(({ node, owner }) => {
      return { node: node.name, from: planned.view.claim(node.name)?.owner, to: owner };
    });
    for (const moved of owners) io.out(renderMoved(what, moved) + suffix);
    return EXIT.done;
  }
  if (planned.plans.length === 0) return EXIT.done;
  const work = await reconcileDeps(deps, connection, WORDS[what.kind]);
  const { moved, failures, warnings } = await moveNodes(
    planned,
    { concurrency, dryRun: dryRun === 'server' },
    work,
  ).finally(work.stop);
  for (const node of moved) io.out(renderMoved(what, node) + suffix);
  for (const warning of warnings) io.err(warningLine(warning));
  for (const line of failureLines(failures)) io.err(line);
  return failures.length > 0 ? EXIT.error : EXIT.done;
}

const WORDS = { add: 'Adding', remove: 'Removing', move: 'Moving' };
