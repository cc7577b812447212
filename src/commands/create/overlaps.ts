/** Warns about nodes of new pools that other pools also select, about control-plane nodes, and about empty pools. */

import type { ClusterReader, RawPool } from '../../kube/cluster.ts';
import type { Connection } from '../../kube/connect.ts';
import type { LabelledNode } from '../../kube/resources/nodes.ts';
import type { Warning } from '../../nodepool/errors.ts';
import { ownValue } from '../../nodepool/json.ts';
import { matches, membershipSelector } from '../../nodepool/membership/selector.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { isSelectorKnown } from '../../nodepool/spec/validation.ts';
import { firstFew, plural } from '../../nodepool/text.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { noMatchWarnings } from '../shared/consent/no-match.ts';
import { wideWarning } from '../shared/consent/warnings.ts';
import { labelsOfMatching } from '../shared/pools/load-cluster-state.ts';
import { valueOrRefusal } from '../shared/refusals.ts';

const MAX_NAMED = 3;

export interface OverlapReader extends Pick<Connection, 'nodeLabels'> {
  cluster: Pick<ClusterReader, 'pools'>;
}

/** Empty if pools or nodes may not be read. @param isReconciled a reconcile follows and reports the rest */
export async function selectionWarnings(
  created: readonly RawPool[],
  reader: OverlapReader,
  { isReconciled = false, areNodesNamed = false } = {},
): Promise<Warning[]> {
  const pools = created.map(coercePool);
  const isAll = !isReconciled && !areNodesNamed;
  const judged = isAll ? pools : pools.filter(({ spec }) => spec.matchExpressions !== undefined);
  const pairs = isReconciled ? [] : await sharingPairs(pools, reader);
  const selecting = new Set([...pairs.map(({ pool }) => pool), ...judged]);
  const nodes = await labelsOfMatching([...selecting].map(membershipSelector), reader);
  if ('refusal' in nodes) return [];
  const found = nodes.value;
  // The list uses the selector of the only pool; if it is empty, ask whether the cluster has other nodes.
  const all =
    isAll && pools.length === 1 && found.length === 0 ? await valueOrRefusal(() => reader.nodeLabels()) : nodes;
  return [
    ...judged.flatMap(pool => wideWarning(pool, found) ?? []),
    ...(isAll && 'value' in all ? noMatchWarnings(pools, all.value) : []),
    ...overlapsOf(pairs, found),
  ];
}

interface OverlappingPool {
  pool: NodePool;
  /** Pools that may select the same nodes. */
  others: NodePool[];
}

async function sharingPairs(pools: readonly NodePool[], reader: OverlapReader): Promise<OverlappingPool[]> {
  const listed = await valueOrRefusal(() => reader.cluster.pools.listCoerced());
  if ('refusal' in listed) return [];
  const names = new Set(pools.map(({ metadata }) => metadata.name));
  const existing = listed.value.filter(pool => !names.has(pool.metadata.name) && takesNodes(pool));
  return pools
    .map((pool, at) => ({ pool, others: [...existing, ...pools.slice(at + 1)].filter(other => mayShare(pool, other)) }))
    .filter(({ others }) => others.length > 0);
}

function overlapsOf(pairs: readonly OverlappingPool[], nodes: readonly LabelledNode[]): Warning[] {
  return pairs.flatMap(({ pool, others }) => {
    const selector = membershipSelector(pool);
    const mine = nodes.filter(({ labels }) => matches(selector, labels));
    const shared = others.flatMap(other => {
      const theirs = membershipSelector(other);
      const count = mine.filter(({ labels }) => matches(theirs, labels)).length;
      return count === 0 ? [] : [`${other.metadata.name} (${plural(count, 'node')})`];
    });
    return shared.length === 0 ? [] : [warningOf(pool, shared)];
  });
}

function warningOf({ metadata: { name } }: NodePool, shared: readonly string[]): Warning {
  return {
    message: `pool ${name} will not get nodes that match other pools: ${firstFew(shared, MAX_NAMED)}`,
    next: 'change the node selector of one of the pools',
  };
}

function takesNodes(pool: NodePool): boolean {
  return pool.metadata.deletionTimestamp === undefined && isSelectorKnown(pool);
}

/** False if a label would need two values. */
function mayShare(one: NodePool, other: NodePool): boolean {
  const [{ labels: a }, { labels: b }] = [membershipSelector(one), membershipSelector(other)];
  return Object.keys(a).every(key => (ownValue(b, key) ?? a[key]) === a[key]);
}
