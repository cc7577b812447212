/**
 * What `reconcile` would change of labels, taints and RuntimeClasses, without writing it. Bookkeeping alone (a record,
 * a status, a finalizer) is no difference.
 */
import type { NodePlan } from '../nodepool/plan.ts';
import { planRuntimeClass, type RuntimeClassPlan, runtimeClassName } from '../nodepool/runtime-class.ts';
import type { FieldError } from '../nodepool/validation.ts';
import { keysOf } from '../reconciler/conflicts.ts';
import { planOf } from '../reconciler/node-plan.ts';
import type { ClusterPort } from '../reconciler/ports.ts';
import { loadView, selectPools } from './load-view.ts';
import { firstStripWarning } from './reconcile.ts';

export interface DiffResult {
  /** Nodes whose labels or taints would change, by name. */
  plans: NodePlan[];
  /** Nodes that a pool matches and does not get. */
  conflicts: { node: string; pool: string; owner: string; notApplied: string[] }[];
  runtimeClasses: { name: string; kind: Exclude<RuntimeClassPlan['kind'], 'none'> }[];
  /** Pools that are left as they are because their spec is wrong. */
  invalid: { pool: string; errors: FieldError[] }[];
  /** Nodes that are left as they are: the pools would hand them to each other for ever. */
  circles: { node: string; pools: readonly string[] }[];
  warnings: string[];
}

export async function diff(names: string[], deps: { cluster: ClusterPort }): Promise<DiffResult> {
  const view = await loadView(deps.cluster);
  const pools = selectPools(view, names);
  const nodes = new Set(pools.flatMap(pool => view.held(pool).map(node => node.name)));
  // A pool on its way out is released whatever its spec says.
  const errorsOf = (name: string) =>
    view.pool(name)?.metadata.deletionTimestamp === undefined ? view.specErrors(name) : [];
  const plans = [...nodes].toSorted().flatMap(name => planOf(view, name) ?? []);
  return {
    plans: plans.filter(({ changes }) => changes.length > 0),
    circles: plans.flatMap(({ node, circle }) => (circle === undefined ? [] : { node: node.name, pools: circle })),
    conflicts: pools.flatMap(pool => {
      const loser = view.pool(pool);
      const notApplied = loser === undefined ? [] : keysOf(loser);
      return view
        .lost(pool)
        .map(({ node, owner }) => ({ node: node.name, pool, owner: owner.metadata.name, notApplied }));
    }),
    runtimeClasses: pools.flatMap(name => {
      const pool = view.pool(name);
      if (pool === undefined || errorsOf(name).length > 0) return [];
      const { kind } = planRuntimeClass(pool, view.runtimeClass(runtimeClassName(name)));
      return kind === 'none' ? [] : [{ name: runtimeClassName(name), kind }];
    }),
    invalid: pools.map(pool => ({ pool, errors: errorsOf(pool) })).filter(({ errors }) => errors.length > 0),
    warnings: pools.flatMap(pool => firstStripWarning(view, pool, { where: 'below' })),
  };
}
