/** `rollout undo`: writes the spec of a former revision back. */
import { coercePool } from '../nodepool/coerce.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { fieldErrors } from '../nodepool/field-error.ts';
import { mergePatch } from '../nodepool/merge-patch.ts';
import {
  CHANGE_CAUSE,
  type ControllerRevision,
  causeOf,
  isRevisionOf,
  restoredSpec,
  revisionToRestore,
} from '../nodepool/revisions.ts';
import { type SpecChange, specChanges } from '../nodepool/spec-changes.ts';
import { validatePool } from '../nodepool/validation.ts';
import type { NodePoolsClient } from '../reconciler/ports.ts';
import { alteredPool } from './altered-pool.ts';
import { type Approve, agree, NO_CHANGE } from './consent.ts';
import { assertRestored } from './edit.ts';
import { guarded, MAX_ATTEMPTS } from './guarded-patch.ts';
import { poolNotFound } from './not-found.ts';
import { type PlanEditDeps, proposeEdit } from './plan-edit.ts';
import type { DryRun, RawPool } from './ports.ts';
import { type RolloutHistory, type RolloutHistoryDeps, rolloutHistory, whereToLook } from './rollout-history.ts';

export interface RolloutUndoDeps extends PlanEditDeps {
  cluster: PlanEditDeps['cluster'] &
    RolloutHistoryDeps['cluster'] & { pools: Pick<NodePoolsClient, 'get' | 'patch' | 'firstNames'> };
  approve: Approve;
  /** Gets what each proposal would change, before it is asked about. */
  show: (changes: readonly SpecChange[]) => void;
  /** Gets the warnings of each proposal. */
  warn: (warnings: readonly string[]) => void;
}

export type RolloutUndoResult =
  /** The pool as it is now, or would be. */
  { kind: 'rolled back' | 'skipped'; pool: RawPool; revision: number };

/** @param toRevision 0: see revisionToRestore(). Throws NodepoolError. */
export async function rolloutUndo(
  name: string,
  { toRevision, dryRun }: { toRevision: number; dryRun: DryRun },
  deps: RolloutUndoDeps,
): Promise<RolloutUndoResult> {
  const { cluster, approve, show, warn } = deps;
  let uid: string | undefined;
  const propose = async () => {
    const history = await rolloutHistory(name, deps);
    const { pool: before } = history;
    uid ??= before.metadata.uid;
    if (before.metadata.uid !== uid) {
      const message = `nodepool ${name} was deleted and recreated meanwhile; the new one is not changed`;
      throw new NodepoolError('cluster', message);
    }
    const chosen = choose(history, toRevision);
    const { revision } = chosen;
    if (isRevisionOf(before, chosen))
      return { before, after: before, patch: undefined, revision, plan: NO_CHANGE, released: undefined };
    const after = restored(before, chosen);
    const patch = mergePatch(partsOf(before), partsOf(after)) ?? {};
    show(specChanges(before.spec, after.spec));
    const { warnings, ...proposal } = await proposeEdit(before, after, deps);
    warn(warnings);
    return { before, after, patch, revision, ...proposal };
  };
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    const agreed = await agree(propose, approve);
    if (agreed === undefined) throw new NodepoolError('input', 'nothing was changed');
    const { before, after, patch, revision } = agreed.proposal;
    if (patch === undefined) return { kind: 'skipped', pool: before, revision };
    if (dryRun === 'client') return { kind: 'rolled back', pool: after, revision };
    const write = await cluster.pools.patch(name, guarded(patch, before), { dryRun: dryRun === 'server' });
    if (write.kind === 'gone') throw poolNotFound('rollout', [name]);
    if (write.kind === 'conflict') continue;
    const altered = alteredPool(after, write.pool, before);
    if (altered !== undefined) throw altered;
    return { kind: 'rolled back', pool: write.pool, revision };
  }
  throw new NodepoolError('cluster', `cannot edit nodepool ${name}: somebody else keeps changing it`, 'try again');
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
