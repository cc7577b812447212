/** `rollout undo`: shows what an earlier revision changes in the spec, asks if `edit` would, and writes it. */
import { EXIT, showWarning, warnOnce } from '../../cli/errors.ts';
import type { Connection, Deps } from '../../cli/factory.ts';
import { dryRunSuffix } from '../../cli/flags.ts';
import type { DryRun, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { mergePatch } from '../../nodepool/json.ts';
import {
  CHANGE_CAUSE,
  type ControllerRevision,
  causeOf,
  foreignWriter,
  isRevisionOf,
  restoredSpec,
  revisionToRestore,
} from '../../nodepool/rollout/revisions.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { type SpecChange, specChanges } from '../../nodepool/spec/edits.ts';
import { fieldErrors } from '../../nodepool/spec/field-error.ts';
import { validatePool } from '../../nodepool/spec/validation.ts';
import type { ObjectFormat } from '../../print/printers.ts';
import { poolRef, sanitizeScreen } from '../../print/sanitize.ts';
import { makeStyle } from '../../print/style.ts';
import { recreatedError } from '../../reconciler/state/live-reads.ts';
import { specChangeLines } from '../shared/changes/print-pools.ts';
import { approver } from '../shared/consent/approve.ts';
import { NO_CHANGE, type Question } from '../shared/consent/consent.ts';
import { deletingWarning, warnOfApply, warnOfOthersKeys } from '../shared/consent/membership-warnings.ts';
import { agreedTo, assertRestored } from '../shared/edit/edit.ts';
import { patchPool } from '../shared/edit/guarded-patch.ts';
import { hintReconcile } from '../shared/edit/next-step.ts';
import { type EditOptions, mayCostPods, proposeEdit } from '../shared/edit/plan-edit.ts';
import { impactTeller } from '../shared/impact/show-impact.ts';
import { type PoolRevisions, readRevisions, whereToLook } from './history.ts';

export interface UndoFlags {
  /** 0: the previous revision. */
  toRevision: number;
  dryRun: DryRun;
  yes: boolean;
  output: ObjectFormat | undefined;
}

/** Returns the exit code. */
export async function undo(
  name: string,
  { toRevision, dryRun, yes, output }: UndoFlags,
  { io }: Deps,
  connection: Connection,
): Promise<number> {
  const { cluster, workloads } = connection;
  // In a dry run, the changes are the result.
  const isResult = dryRun !== 'none' && output === undefined;
  let shown = '';
  const show = (changes: readonly SpecChange[]) => {
    const text = specChangeLines(changes, makeStyle(isResult ? io.color : io.errorColor)).join('\n');
    if (text !== shown && text !== '') {
      if (isResult) io.out(text);
      // io.err() would escape the colour codes.
      else io.stderr.write(`${sanitizeScreen(text)}\n`);
    }
    shown = text;
  };
  const approve = approver({ yes, dryRun: dryRun !== 'none' }, io, connection, impactTeller(io, connection));
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

/** Throws NodepoolError. @param toRevision 0: the last different spec @param show gets each proposal's changes */
async function rolloutUndo(
  name: string,
  { toRevision, show }: { toRevision: number; show: (changes: readonly SpecChange[]) => void },
  options: EditOptions,
): Promise<{ kind: 'rolled back' | 'skipped'; pool: RawPool; before: RawPool; revision: number }> {
  const { approve, warn } = options;
  let uid: string | undefined;
  const propose = async () => {
    const kept = await readRevisions(name, options);
    const { pool: before } = kept;
    uid ??= before.metadata.uid;
    if (before.metadata.uid !== uid) throw recreatedError(name, 'rolled back');
    const chosen = choose(kept, toRevision);
    const { revision } = chosen;
    if (isRevisionOf(before, chosen))
      return { before, after: before, patch: undefined, revision, plan: NO_CHANGE, released: undefined };
    const after = restored(before, chosen);
    const patch = mergePatch(partsOf(before), partsOf(after)) ?? {};
    show(specChanges(before.spec, after.spec));
    const { warnings, ...proposal } = await proposeEdit(before, after, options);
    warn(warnings);
    const question = withWriter(proposal.question, chosen);
    const action = proposal.action?.replace(`Save pool ${name}`, `Roll pool ${name} back to revision ${revision}`);
    return { before, after, patch, revision, ...proposal, action: action ?? '', question };
  };
  const { pool, before, patch, revision } = await patchPool(name, 'rollout', options, () => agreedTo(propose, approve));
  return { kind: patch === undefined ? 'skipped' : 'rolled back', pool, before, revision };
}

/** Also asks before it restores a revision that another field manager created. */
function withWriter(question: Question | undefined, revision: ControllerRevision): Question | undefined {
  const writer = foreignWriter(revision);
  if (writer === undefined) return question;
  const reason = `revision ${revision.revision} was created by ${writer}, not by kubectl-nodepool`;
  const { losses = [], covers = [] } = question ?? {};
  return { losses: [reason, ...losses], covers: [...covers, reason], needsYes: [] };
}

function choose({ pool, revisions }: PoolRevisions, toRevision: number): ControllerRevision {
  const { name } = pool.metadata;
  const next = toRevision === 0 ? withoutEarlier(pool) : whereToLook(pool, revisions);
  if (revisions.length === 0) throw new NodepoolError('input', `no rollout history found for nodepool "${name}"`, next);
  const found = revisionToRestore(pool, revisions, toRevision);
  if (found !== undefined) return found;
  if (toRevision === 0) throw new NodepoolError('input', 'no last revision to roll back to', next);
  throw new NodepoolError('input', `unable to find specified revision ${toRevision} in history`, next);
}

/** The next step without an earlier spec: only a reconcile and our edits save one, and none of a paused pool. */
function withoutEarlier({ metadata: { name, generation } }: RawPool): string {
  if (generation === 1)
    return `the spec was never changed; describe the pool with \`kubectl nodepool describe ${name}\``;
  return `find the changed fields with \`kubectl nodepool history ${name}\`, and restore them with \`kubectl nodepool edit ${name}\``;
}

/** The pool with the spec and the cause of the revision. Throws NodepoolError if the pool must not have it. */
function restored(before: RawPool, revision: ControllerRevision): RawPool {
  const { annotations: all = {}, ...metadata } = before.metadata;
  const { [CHANGE_CAUSE]: _cause, ...others } = all;
  const cause = causeOf(revision);
  const annotations = cause === undefined ? others : { ...others, [CHANGE_CAUSE]: cause };
  const after: RawPool = {
    ...before,
    metadata: { ...metadata, annotations },
    spec: restoredSpec(before.spec, revision),
  };
  assertRestored(before, after.spec);
  // Fields that the revision lacks are still in managedFields, and would count as dropped by the CRD.
  const { managedFields: _managed, ...plain } = after.metadata as RawPool['metadata'] & { managedFields?: unknown };
  const errors = validatePool(coercePool({ ...after, metadata: plain }));
  if (errors.length === 0) return after;
  throw fieldErrors(`revision ${revision.revision} of pool ${before.metadata.name}`, errors);
}

function partsOf({ metadata, spec }: RawPool): object {
  return { metadata: { annotations: { [CHANGE_CAUSE]: metadata.annotations?.[CHANGE_CAUSE] } }, spec };
}
