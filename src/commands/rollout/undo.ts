/** `rollout undo`: shows what a former revision changes in the spec, asks where `edit` would, and writes it. */
import { approver } from '../../cli/approve.ts';
import { showWarning, warnOnce } from '../../cli/error-line.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import { impactTeller } from '../../cli/impact.ts';
import { deletingWarning, warnOfApply, warnOfOthersKeys } from '../../cli/membership-warnings.ts';
import { EXIT } from '../../cli/report-error.ts';
import type { SpecChange } from '../../nodepool/spec-changes.ts';
import { mayCostPods } from '../../operations/edit/may-cost-pods.ts';
import type { DryRun } from '../../operations/ports.ts';
import { rolloutUndo } from '../../operations/rollout/rollout-undo.ts';
import { poolRef } from '../../render/pool-ref.ts';
import type { ObjectFormat } from '../../render/printers.ts';
import { renderSpecChanges } from '../../render/rollout-history.ts';
import { makeStyle } from '../../render/style.ts';
import { hintReconcile } from '../shared/next-step.ts';
import type { RolloutDeps } from './deps.ts';

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
    const { printObjects } = await import('../../render/printers.ts');
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
