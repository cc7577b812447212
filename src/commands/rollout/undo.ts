/** `rollout undo`: shows what a former revision changes in the spec, asks where `edit` would, and writes it. */

import { showWarning, warnOnce } from '../../cli/error-line.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { EXIT } from '../../cli/report-error.ts';
import type { DryRun } from '../../kube/connection.ts';
import type { SpecChange } from '../../nodepool/spec/spec-changes.ts';
import { poolRef } from '../../print/pool-ref.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import { makeStyle } from '../../print/style.ts';
import { approver } from '../shared/consent/approve.ts';
import { deletingWarning, warnOfApply, warnOfOthersKeys } from '../shared/consent/membership-warnings.ts';
import { mayCostPods } from '../shared/edit/may-cost-pods.ts';
import { hintReconcile } from '../shared/edit/next-step.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import type { RolloutDeps } from './deps.ts';
import { renderSpecChanges } from './print.ts';
import { rolloutUndo } from './rollout-undo.ts';

export interface UndoFlags {
  /** 0: the one before. */
  toRevision: number;
  dryRun: DryRun;
  yes: boolean;
  output: ObjectFormat | undefined;
}

/** Returns the exit code. */
export async function undo(
  name: string,
  { toRevision, dryRun, yes, output }: UndoFlags,
  { io, connection }: RolloutDeps,
): Promise<number> {
  const { cluster, workloads } = connection;
  // In a dry run, the changes are the result.
  const print = dryRun === 'none' || output !== undefined ? io.err : io.out;
  let shown = '';
  const show = (changes: readonly SpecChange[]) => {
    const text = renderSpecChanges(changes, makeStyle(io.color));
    if (text !== shown && text !== '') print(text);
    shown = text;
  };
  const approve = approver({ yes, dryRun: dryRun !== 'none' }, io, connection.pods, impactTeller(io, connection));
  const options = { cluster, workloads, dryRun, approve, warn: warnOnce(io), reconciles: false };
  const { kind, pool, before, revision } = await rolloutUndo(name, { toRevision, show }, options);
  const suffix = dryRunSuffix(dryRun);
  if (output !== undefined) {
    const { printObjects } = await import('../../print/printers.ts');
    io.out(printObjects([pool], output, false));
  } else if (kind === 'skipped') {
    io.out(`${poolRef(name)} skipped rollback (current spec already matches revision ${revision})${suffix}`);
  } else io.out(`${poolRef(name)} rolled back${suffix}`);
  if (kind === 'skipped') return EXIT.done;
  await warnOfOthersKeys([pool], io, cluster.rules?.transient);
  await warnOfApply(pool, io);
  const deleting = deletingWarning(pool);
  if (deleting !== undefined) showWarning(io, deleting);
  else if (dryRun === 'none' && output === undefined) hintReconcile([name], io, mayCostPods(before, pool));
  return EXIT.done;
}
