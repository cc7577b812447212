/** Keeps the RuntimeClass of one pool: created, followed, deleted, and never taken from somebody else. */
import { planRuntimeClass, type RuntimeClassPlan, runtimeClassName } from '../nodepool/runtime-class.ts';
import type { NodePool } from '../nodepool/types.ts';
import type { ClusterPort } from './ports.ts';
import type { View } from './view.ts';

export type RuntimeClassOutcome =
  | { kind: 'unchanged' }
  | { kind: 'created' | 'updated' | 'deleted'; name: string }
  /** One of that name exists that the pool does not own. */
  | { kind: 'foreign'; name: string };

/** Each attempt acts on what the last one read; more than this is somebody recreating it as fast as we delete it. */
const MOST_ATTEMPTS = 5;

/** @param dryRun with it a deleted RuntimeClass is still there, so a replacement stops after the (dry) delete */
export async function settleRuntimeClass(
  pool: NodePool,
  cluster: ClusterPort,
  view: View,
  dryRun: boolean,
): Promise<RuntimeClassOutcome> {
  const name = runtimeClassName(pool.metadata.name);
  let deletedOurs = false;
  for (let attempt = 0; attempt < MOST_ATTEMPTS; attempt++) {
    const plan = planRuntimeClass(pool, view.runtimeClass(name));
    if (plan.kind === 'none') return deletedOurs ? { kind: 'deleted', name } : { kind: 'unchanged' };
    if (plan.kind === 'foreign') return { kind: 'foreign', name };
    if (await act(plan, cluster, view)) {
      switch (plan.kind) {
        case 'create':
          return { kind: deletedOurs ? 'updated' : 'created', name };
        case 'patch':
          return { kind: 'updated', name };
        case 'delete':
          return { kind: 'deleted', name };
        case 'replace':
          if (dryRun) return { kind: 'updated', name };
          deletedOurs = true;
          view.removeRuntimeClass(name);
          continue;
      }
    }
    const current = await cluster.getRuntimeClass(name);
    if (current === undefined) view.removeRuntimeClass(name);
    else view.setRuntimeClass(current);
  }
  throw new Error(`RuntimeClass ${name} kept changing while pool ${pool.metadata.name} was writing it`);
}

/** Carries out one step; false when the object was not as the view had it. */
async function act(
  plan: Exclude<RuntimeClassPlan, { kind: 'none' | 'foreign' }>,
  cluster: ClusterPort,
  view: View,
): Promise<boolean> {
  switch (plan.kind) {
    case 'create': {
      const made = await cluster.createRuntimeClass(plan.desired);
      if (made.kind === 'created') view.setRuntimeClass(made.runtimeClass);
      return made.kind === 'created';
    }
    case 'patch':
      // The view keeps the old one: the next look at it reads anew on conflict.
      return (await cluster.patchRuntimeClass(plan.current, plan.scheduling)) === 'written';
    case 'replace':
    case 'delete': {
      const deleted = await cluster.deleteRuntimeClass(plan.current);
      if (deleted === 'deleted' && plan.kind === 'delete') view.removeRuntimeClass(plan.current.metadata.name);
      return deleted === 'deleted';
    }
  }
}
