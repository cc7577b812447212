/** `rollout undo`: writes the spec of a former revision back. */

import type { RawPool } from '../../kube/connection.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { mergePatch } from '../../nodepool/merge-patch.ts';
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
import { fieldErrors } from '../../nodepool/spec/field-error.ts';
import { type SpecChange, specChanges } from '../../nodepool/spec/spec-changes.ts';
import { validatePool } from '../../nodepool/spec/validation.ts';
import { recreatedError } from '../../reconciler/state/live-reads.ts';
import { NO_CHANGE, type Question } from '../shared/consent/consent.ts';
import { agreedTo, assertRestored } from '../shared/edit/edit.ts';
import { patchPool } from '../shared/edit/guarded-patch.ts';
import { type EditOptions, proposeEdit } from '../shared/edit/plan-edit.ts';
import { type RolloutHistory, rolloutHistory, whereToLook } from './rollout-history.ts';

export type RolloutUndoResult =
  /** The pool as it is now, or would be. */
  { kind: 'rolled back' | 'skipped'; pool: RawPool; before: RawPool; revision: number };

/**
 * Throws NodepoolError.
 * @param toRevision 0: see revisionToRestore()
 * @param show gets what each proposal would change, before it is asked about
 */
export async function rolloutUndo(
  name: string,
  { toRevision, show }: { toRevision: number; show: (changes: readonly SpecChange[]) => void },
  options: EditOptions,
): Promise<RolloutUndoResult> {
  const { cluster, dryRun, approve, warn } = options;
  let uid: string | undefined;
  const propose = async () => {
    const history = await rolloutHistory(name, options);
    const { pool: before } = history;
    uid ??= before.metadata.uid;
    if (before.metadata.uid !== uid) throw recreatedError(name, 'rolled back');
    const chosen = choose(history, toRevision);
    const { revision } = chosen;
    if (isRevisionOf(before, chosen))
      return { before, after: before, patch: undefined, revision, plan: NO_CHANGE, released: undefined };
    const after = restored(before, chosen);
    const patch = mergePatch(partsOf(before), partsOf(after)) ?? {};
    show(specChanges(before.spec, after.spec));
    const { warnings, ...proposal } = await proposeEdit(before, after, options);
    warn(warnings);
    const question = withWriter(proposal.question, chosen, name);
    return { before, after, patch, revision, ...proposal, ...(question === undefined ? {} : { question }) };
  };
  const { pool, before, patch, revision } = await patchPool(name, 'rollout', { pools: cluster.pools, dryRun }, () =>
    agreedTo(propose, approve),
  );
  return { kind: patch === undefined ? 'skipped' : 'rolled back', pool, before, revision };
}

/** Asks also before a revision that this program did not make. */
function withWriter(question: Question | undefined, revision: ControllerRevision, pool: string): Question | undefined {
  const writer = foreignWriter(revision);
  if (writer === undefined) return question;
  const reason = `revision ${revision.revision} was made by ${writer}, not by kubectl-nodepool`;
  const { text = `Save pool ${pool}?`, covers = [], needsYes } = question ?? {};
  return {
    text,
    covers: [...covers, reason],
    needsYes: [reason, ...(needsYes === undefined ? [] : [needsYes])].join('; '),
  };
}

function choose(history: RolloutHistory, toRevision: number): ControllerRevision {
  const { pool, revisions } = history;
  const { name } = pool.metadata;
  const next = whereToLook(pool, revisions);
  if (revisions.length === 0) throw new NodepoolError('input', `no rollout history found for nodepool "${name}"`, next);
  const found = revisionToRestore(pool, revisions, toRevision);
  if (found !== undefined) return found;
  if (toRevision === 0) throw new NodepoolError('input', 'no last revision to roll back to');
  throw new NodepoolError('input', `unable to find specified revision ${toRevision} in history`, next);
}

/** The pool with the spec and the cause of the revision. Throws NodepoolError for one that the pool must not have. */
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
  // Fields that the revision lacks are in managedFields: they would count as dropped by the CRD.
  const { managedFields: _managed, ...plain } = after.metadata as RawPool['metadata'] & { managedFields?: unknown };
  const errors = validatePool(coercePool({ ...after, metadata: plain }));
  if (errors.length === 0) return after;
  throw fieldErrors(`revision ${revision.revision} of nodepool ${before.metadata.name}`, errors);
}

function partsOf({ metadata, spec }: RawPool): object {
  return { metadata: { annotations: { [CHANGE_CAUSE]: metadata.annotations?.[CHANGE_CAUSE] } }, spec };
}
