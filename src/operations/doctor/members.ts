/** Members that are not Ready, and pools that no node matches: a selector with a typo makes an empty pool without an error. */

import { isSelectorKnown } from '../../nodepool/known-selector.ts';
import { plural } from '../../nodepool/plural.ts';
import { membershipSelector, selectorText } from '../../nodepool/selector.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { type Finding, named, ok, warning } from './check.ts';

export function checkMembers(pools: NodePool[], state: ClusterState): Finding {
  let count = 0;
  const notReady = pools.flatMap(({ metadata: { name } }) => {
    const members = state.members(name);
    const names = members.filter(({ ready }) => !ready).map(node => node.name);
    count += names.length;
    return names.length === 0
      ? []
      : [`${name}: ${names.length} of ${plural(members.length, 'member')}: ${named(names)}`];
  });
  const empty = pools.filter(pool => isEmpty(pool, state)).map(pool => `no node matches pool ${described(pool)}`);
  if (count > 0) {
    return warning(
      `${plural(count, 'member')} ${count === 1 ? 'is' : 'are'} not Ready`,
      'see why: `kubectl describe node NODE`',
      [...notReady, ...empty],
    );
  }
  return ok(pools.length === 0 ? 'there are no pools' : 'every member is Ready', empty);
}

function isEmpty(pool: NodePool, state: ClusterState): boolean {
  const { name, deletionTimestamp } = pool.metadata;
  const matchesNone = state.members(name).length === 0 && state.lost(name).length === 0;
  return deletionTimestamp === undefined && isSelectorKnown(pool) && matchesNone;
}

function described(pool: NodePool): string {
  return `${pool.metadata.name}: ${selectorText(membershipSelector(pool))}`;
}
