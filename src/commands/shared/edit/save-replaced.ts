/** Saves the spec that an edit replaces, if no reconcile has done so: `rollout undo` finds only saved specs. */
import type { RawPool } from '../../../kube/cluster.ts';
import { ForbiddenError } from '../../../nodepool/errors.ts';
import { deepEqual } from '../../../nodepool/json.ts';
import { type ControllerRevision, keptSpec, newRevision } from '../../../nodepool/rollout/revisions.ts';
import { isPaused } from '../../../nodepool/rollout/rollout.ts';
import { valueOrRefusal } from '../refusals.ts';
import type { EditOptions } from './plan-edit.ts';

/** One create, before the edit is written. Returns what it created. A failure is a warning. */
export async function saveReplaced(
  before: RawPool,
  after: Pick<RawPool, 'spec'>,
  { cluster, dryRun, warn }: Pick<EditOptions, 'cluster' | 'dryRun' | 'warn'>,
): Promise<ControllerRevision | undefined> {
  const { generation = 1 } = before.metadata;
  if (dryRun !== 'none' || isPaused(before) || before.status?.observedGeneration === generation) return undefined;
  if (deepEqual(keptSpec(before.spec), keptSpec(after.spec))) return undefined;
  // Without a list: a revision's number never exceeds the generation, as each higher number needs another spec.
  // If the name is taken, a reconcile or an earlier edit has saved this spec.
  const saved = await valueOrRefusal(async () => cluster.revisions.create(newRevision(before, generation, 0)));
  if (!('refusal' in saved)) return saved.value.kind === 'created' ? saved.value.revision : undefined;
  const { refusal } = saved;
  const next =
    refusal instanceof ForbiddenError
      ? 'ask for a role with verb create on controllerrevisions.apps in namespace default'
      : refusal.next;
  warn([{ message: `\`rollout undo\` will not find the replaced spec: ${refusal.oneLine}`, next }]);
  return undefined;
}
