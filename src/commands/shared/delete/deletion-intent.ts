/** The intent of a deletion: the question before it and the release are of the same one. */
import { ROLE_PREFIX } from '../../../nodepool/membership/selector.ts';
import { API_VERSION } from '../../../nodepool/types.ts';
import { type Intent, stateAfter, stateBefore } from '../../../reconciler/plan/intent.ts';
import type { MembershipChange, MembershipChanges } from '../../../reconciler/plan/membership-change.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

/** @param detachNodes the default membership labels of the pools leave the nodes */
export function deletionIntent(state: ClusterState, pools: readonly string[], detachNodes: boolean): Intent {
  const intent: Intent = { pools, isDeletion: true };
  return detachNodes ? { ...intent, changes: detachments(state, intent) } : intent;
}

/** By node, the pool that holds it before the deletion. */
export function formerOwners(state: ClusterState, deletion: Intent): Map<string, string> {
  const before = stateBefore(state, deletion);
  const owners = deletion.pools.flatMap(pool => before.held(pool).map(({ name }) => [name, pool] as const));
  return new Map(owners);
}

/** Removes the membership label with the patch that releases the node: a run that is killed finds the rest again. */
function detachments(state: ClusterState, deletion: Intent): MembershipChanges {
  const [former, after] = [formerOwners(state, deletion), stateAfter(state, deletion)];
  const labels = new Map<string, Record<string, null>>();
  const changes = new Map<string, MembershipChange>();
  for (const name of deletion.pools) {
    // A controller may have released and removed the pool meanwhile. Pools that detach have the default selector.
    const pool = after.pool(name) ?? { apiVersion: API_VERSION, kind: 'NodePool', metadata: { name }, spec: {} };
    for (const node of after.matching(pool)) {
      const ownership = after.ownership(node.name);
      // The pool is marked, so that another one that matches the node is its owner now.
      const isItsOwn = [ownership?.owner, ownership?.record?.pool, former.get(node.name)].includes(name);
      if (ownership?.owner !== undefined && !isItsOwn) continue;
      const removed = { ...labels.get(node.name), [detachedLabel(name)]: null };
      labels.set(node.name, removed);
      changes.set(node.name, { pool: name, to: undefined, labels: () => removed });
    }
  }
  return changes;
}

/** The label that --detach-nodes removes: of pools without a nodeSelector alone. */
export function detachedLabel(pool: string): string {
  return `${ROLE_PREFIX}${pool}`;
}
