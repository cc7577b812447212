/** Warns about pools that no node matches, and names the labels of nodes that almost match. */
import type { Warning } from '../../../nodepool/errors.ts';
import { ownValue } from '../../../nodepool/json.ts';
import { meetsNode } from '../../../nodepool/membership/label-query.ts';
import { isNearValue, similarKey } from '../../../nodepool/membership/near-miss.ts';
import {
  compileSelector,
  isEmpty,
  membershipSelector,
  needsLabel,
  partsOf,
  quotedSelector,
  type SelectorPart,
} from '../../../nodepool/membership/selector.ts';
import { isSelectorKnown } from '../../../nodepool/spec/validation.ts';
import { firstFew, plural } from '../../../nodepool/text.ts';
import type { Node, NodePool } from '../../../nodepool/types.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

/** Maximum number of label values, and of requirements, in a message. */
const MAX_NAMED = 3;

type NoMatch = Exclude<Warning, string>;
type NodeWithLabels = Pick<Node, 'labels'>;
/** For each key, the number of nodes with each value. */
type LabelCounts = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Warnings for pools without members. @param pools by name */
export function emptyPoolWarnings(state: ClusterState, pools: readonly string[]): NoMatch[] {
  const empty = emptyPools(
    state,
    pools.flatMap(name => state.pool(name) ?? []),
  );
  return empty.length === 0 ? [] : noMatchWarnings(empty, [...state.nodes()]);
}

/** The index alone rules out the other pools, without a loop over all nodes. */
export function emptyPools(state: ClusterState, pools: readonly NodePool[]): NodePool[] {
  return pools.filter(
    ({ metadata: { name } }) =>
      state.isActive(name) && state.members(name).length === 0 && state.lost(name).length === 0,
  );
}

/** Empty if there are no nodes: in a new cluster every pool is empty. @param nodes all nodes */
export function noMatchWarnings(pools: readonly NodePool[], nodes: readonly NodeWithLabels[]): NoMatch[] {
  if (nodes.length === 0) return [];
  let counts: LabelCounts | undefined;
  return pools.flatMap(pool => {
    const selector = membershipSelector(pool);
    // An empty selector matches nothing on purpose.
    if (isEmpty(selector) || !isSelectorKnown(pool)) return [];
    const isMatching = compileSelector(selector);
    if (nodes.some(({ labels }) => isMatching(labels))) return [];
    counts ??= countLabels(nodes);
    const misses = missesOf(partsOf(selector), nodes, counts);
    const { name } = pool.metadata;
    const why = misses.length === 0 ? '' : `: ${firstFew(misses, MAX_NAMED, '; ', '; ')}`;
    return {
      message: `no node matches pool ${name} (${quotedSelector(selector)})${why}`,
      next: `label nodes, or change the selector with \`kubectl nodepool edit ${name}\``,
    };
  });
}

function countLabels(nodes: readonly NodeWithLabels[]): LabelCounts {
  const counts = new Map<string, Map<string, number>>();
  for (const { labels } of nodes) {
    for (const key of Object.keys(labels)) {
      const values = counts.get(key) ?? new Map<string, number>();
      const value = labels[key] ?? '';
      counts.set(key, values.set(value, (values.get(value) ?? 0) + 1));
    }
  }
  return counts;
}

/** Requirements that no node meets; if each is met by some node, those that alone exclude nodes. */
function missesOf(parts: readonly SelectorPart[], nodes: readonly NodeWithLabels[], counts: LabelCounts): string[] {
  const unmet = parts.filter(part => {
    const values = counts.get(part.key);
    const isMet = [...(values?.keys() ?? [])].some(value => meetsNode(part, value));
    return !isMet && (needsLabel(part) || sum(values) === nodes.length);
  });
  if (unmet.length > 0) return unmet.flatMap(part => missOf(part, counts) ?? (parts.length > 1 ? lacking(part) : []));
  const alone = new Map<SelectorPart, number>();
  for (const { labels } of nodes) {
    const [first, ...more] = parts.filter(part => !meetsNode(part, ownValue(labels, part.key)));
    if (first !== undefined && more.length === 0) alone.set(first, (alone.get(first) ?? 0) + 1);
  }
  return [...alone].map(([{ text }, count]) => `${have(count, 'match', 'matches')} all but ${text}`);
}

/** Undefined if no node has the label or a similar one. */
function missOf(part: SelectorPart, counts: LabelCounts): string | undefined {
  const { key } = part;
  const values = counts.get(key);
  if (values !== undefined) {
    const isNear = (value: string) => Number(isNearValue(part, value));
    const byCount = [...values].toSorted(([a, aNodes], [b, bNodes]) => isNear(b) - isNear(a) || bNodes - aNodes);
    const texts = byCount.map(([value, count]) => `${have(count)} ${key}=${value === '' ? '""' : value}`);
    return firstFew(texts, MAX_NAMED);
  }
  const meant = similarKey(key, [...counts.keys()]);
  return meant && `${lacking({ key })}, ${have(sum(counts.get(meant)))} ${meant}`;
}

function lacking({ key }: Pick<SelectorPart, 'key'>): string {
  return `no node has the label ${key}`;
}

function sum(values: ReadonlyMap<string, number> | undefined): number {
  return [...(values?.values() ?? [])].reduce((total, count) => total + count, 0);
}

function have(count: number, many = 'have', one = 'has'): string {
  return `${plural(count, 'node')} ${count === 1 ? one : many}`;
}
