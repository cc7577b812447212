import type { RawPool } from '../../../kube/cluster.ts';
import { DeclinedError } from '../../../nodepool/errors.ts';
import { mergePatch } from '../../../nodepool/json.ts';
import { coercePool } from '../../../nodepool/spec/coerce.ts';
import { applyEdits, type SpecEdits, specToEdit } from '../../../nodepool/spec/edits.ts';
import { fieldErrors } from '../../../nodepool/spec/field-error.ts';
import { DroppedFieldsError } from '../../../nodepool/spec/schema.ts';
import type { NodePool } from '../../../nodepool/types.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { recreatedError } from '../../../reconciler/state/live-reads.ts';
import { type Approve, agree, NO_CHANGE, type Proposal } from '../consent/consent.ts';
import { assertValid } from '../create/create.ts';
import { existingPool } from '../pools/not-found.ts';
import { patchPool } from './guarded-patch.ts';
import { type EditOptions, proposeEdit } from './plan-edit.ts';

export type EditResult =
  /** released: see ProposedEdit. */
  | {
      kind: 'edited';
      pool: RawPool;
      notFound: string[];
      released?: ReadonlySet<string> | undefined;
      /** The label of the default selector that the edit put into spec.nodeSelector, because it adds expressions. */
      keptRole?: string | undefined;
      before: RawPool;
      /** What a reconcile would do, if the edit looks ahead. */
      ahead?: ClusterPlan | undefined;
      /** The state on which that plan is based. */
      seen?: ClusterState | undefined;
    }
  | { kind: 'unchanged'; pool: RawPool; notFound: string[] }
  | { kind: 'cancelled'; why: string };

export async function editByFlags(name: string, edits: SpecEdits, options: EditOptions): Promise<EditResult> {
  const { cluster, dryRun, approve, warn } = options;
  let uid: string | undefined;
  const propose = async () => {
    const before = await existingPool('edit', name, cluster);
    uid ??= before.metadata.uid;
    if (before.metadata.uid !== uid) throw recreatedError(name, 'edited');
    assertReadable(before);
    const from = specToEdit(before, edits);
    const { spec, notFound } = applyEdits(from, edits);
    const keptRole = from === before.spec ? undefined : Object.keys(spec.nodeSelector ?? {})[0];
    const after: RawPool = { ...before, spec };
    assertRestored(before, spec);
    assertValid(after);
    const patch = mergePatch({ spec: before.spec }, { spec });
    if (patch === undefined) return { before, after, patch, notFound, keptRole, plan: NO_CHANGE, ...NOTHING_AHEAD };
    const { warnings, ...proposal } = await proposeEdit(before, after, options);
    warn(warnings);
    return { before, after, patch, notFound, keptRole, ...proposal };
  };
  const edited = await patchPool(name, 'edit', options, () => agreedTo(propose, approve));
  const { pool, before, patch, notFound, keptRole, released, asksImpactOf: ahead, seen } = edited;
  if (patch === undefined) return { kind: 'unchanged', pool, notFound };
  return {
    kind: 'edited',
    pool,
    before,
    ahead,
    seen,
    notFound,
    keptRole,
    ...(dryRun === 'client' ? {} : { released }),
  };
}

const NOTHING_AHEAD = { released: undefined, asksImpactOf: undefined, seen: undefined };

/** Returns the approved proposal. Throws NodepoolError if the user declined. */
export async function agreedTo<P extends Proposal>(propose: () => Promise<P>, approve: Approve): Promise<P> {
  const agreed = await agree(propose, approve);
  if (agreed === undefined) throw new DeclinedError();
  return agreed.proposal;
}

/** Throws for fields of wrong types: flags would have no effect on them, or drop them. */
function assertReadable(pool: RawPool): void {
  const { unreadable = [], dropped = [], metadata } = coercePool(pool);
  // Flags may set missing fields.
  const wrong = unreadable.filter(({ field }) => !dropped.some(name => field === `spec.${name}`));
  if (wrong.length === 0) return;
  const next = `fix the pool in your editor: kubectl nodepool edit ${metadata.name}`;
  const errors = wrong.map(error => ({ ...error, next }));
  throw fieldErrors(`pool ${metadata.name}`, errors);
}

/** Throws unless the edit sets each field that the CRD dropped, because any write would lose them for good. */
export function assertRestored(before: RawPool, spec: NodePool['spec']): void {
  const { dropped = [], metadata } = coercePool(before);
  const missing = dropped.filter(name => !Object.hasOwn(spec, name));
  if (missing.length > 0) throw new DroppedFieldsError(metadata.name, missing);
}
