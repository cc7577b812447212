/** The RuntimeClasses of pools, as `diff` compares them, and nodes that they select without being members. */
import { planRuntimeClass, type RuntimeClassPlan, runtimeClassName } from '../../nodepool/runtime-class.ts';
import { strayLabelRemedy, strayPoolLabel } from '../../nodepool/stray-label.ts';
import { type NodePool, POOL_LABEL, type RuntimeClass } from '../../nodepool/types.ts';
import { validatePool } from '../../nodepool/validation.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { reachedBy } from '../../reconciler/runtime-class-writer.ts';
import type { Attempt } from '../attempt.ts';
import { error, type Finding, named, notChecked, ok, warning } from './check.ts';

const NO_HANDLER = 'no pool has a runtime handler';

/** @param strays from strayLabels() @param state where nodes could be read: a spec may have reached some of them alone */
export function checkRuntimeClasses(
  pools: readonly NodePool[],
  read: Attempt<RuntimeClass[]>,
  strays: readonly string[] = [],
  state?: ClusterState,
): Finding {
  const found = checkClasses(pools, read, state);
  if (strays.length === 0) return found;
  const message = `nodes carry the label ${POOL_LABEL}, and no pool has set it: a RuntimeClass may select them`;
  const remedy = strayLabelRemedy('NODE');
  const details = [...found.details, ...strays];
  if (found.status === 'ok') return warning(message, remedy, details);
  return { ...found, message: `${found.message}; ${message}`, details, remedy: `${found.remedy}; ${remedy}` };
}

/** Nodes with a label that only RuntimeClasses of pools select by, and that no pool has set, by its value. */
export function strayLabels(names: readonly string[], state: ClusterState): string[] {
  const strays = names.flatMap(name => {
    const [node, ownership] = [state.node(name), state.ownership(name)];
    if (node === undefined || ownership === undefined) return [];
    const owner = ownership.owner === undefined ? undefined : state.pool(ownership.owner);
    const value = strayPoolLabel(node, ownership, owner);
    return value === undefined ? [] : [{ name, value }];
  });
  return [...Map.groupBy(strays, ({ value }) => value)]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([value, nodes]) => `${POOL_LABEL}=${value}: ${named(nodes.map(({ name }) => name))}`);
}

function checkClasses(
  pools: readonly NodePool[],
  read: Attempt<RuntimeClass[]>,
  state: ClusterState | undefined,
): Finding {
  const hasHandlers = pools.some(({ spec }) => spec.handler);
  if ('refusal' in read) return hasHandlers ? notChecked(read.refusal) : ok(NO_HANDLER);
  const classes = new Map(read.value.map(each => [each.metadata.name, each]));
  // The RuntimeClass of a pool with an invalid spec stays as it is.
  const plans = pools
    .filter(pool => validatePool(pool).length === 0)
    .map(pool => {
      const known = classes.get(runtimeClassName(pool.metadata.name));
      return { pool, plan: planRuntimeClass(pool, known, state && reachedBy(pool, state)) };
    });
  const details = plans.flatMap(({ pool, plan }) => {
    const what = difference(plan, pool);
    const { name } = pool.metadata;
    return what === undefined ? [] : [`${name}: RuntimeClass ${runtimeClassName(name)} ${what}`];
  });
  const foreign = plans.filter(({ plan }) => plan.kind === 'foreign');
  if (details.length === 0) return ok(hasHandlers ? 'every pool with a handler has its RuntimeClass' : NO_HANDLER);
  const remedies = [
    ...(foreign.length === 0 ? [] : ['delete the RuntimeClass of the other owner, or remove spec.handler of the pool']),
    ...(foreign.length === details.length ? [] : ['run `kubectl nodepool reconcile`']),
  ];
  return (foreign.length > 0 ? error : warning)(
    'RuntimeClasses are not as their pools say',
    remedies.join('; '),
    details,
  );
}

function difference(plan: RuntimeClassPlan, { spec }: NodePool): string | undefined {
  switch (plan.kind) {
    case 'none':
      return undefined;
    case 'create':
      return 'is missing';
    case 'delete':
      return 'is left, and the pool has no handler';
    case 'foreign':
      return 'does not belong to the pool';
    case 'patch':
      return 'has another nodeSelector or other tolerations than the pool';
    case 'replace': {
      const { handler, metadata } = plan.current;
      if (metadata.deletionTimestamp !== undefined) return 'is being deleted';
      return handler === spec.handler
        ? 'belongs to an earlier pool of that name'
        : `has the handler ${handler}, not ${spec.handler}`;
    }
  }
}
