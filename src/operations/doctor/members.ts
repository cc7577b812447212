/** Members that are not Ready, and pools that no node matches: a selector with a typo makes an empty pool without an error. */

import { plural } from '../../nodepool/plural.ts';
import type { NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from '../../reconciler/cluster-state.ts';
import { emptyPoolWarnings } from '../no-match.ts';
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
  const all = pools.map(({ metadata }) => metadata.name);
  const empty = emptyPoolWarnings(state, all).map(({ message }) => message);
  if (count > 0) {
    return warning(
      `${plural(count, 'member')} ${count === 1 ? 'is' : 'are'} not Ready`,
      'see why: `kubectl describe node NODE`',
      [...notReady, ...empty],
    );
  }
  return ok(pools.length === 0 ? 'there are no pools' : 'every member is Ready', empty);
}
