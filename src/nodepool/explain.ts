/** Explains why a node belongs, or does not belong, to each pool: the rules of membership.ts as data for display. */

import type { FieldError } from './field-error.ts';
import { own } from './json.ts';
import type { Ownership } from './membership.ts';
import { isSelectorKnown, matchesLabels, membershipSelector } from './selector.ts';
import type { Node, NodePool } from './types.ts';

/** One label of the pool's selector. */
interface SelectorPair {
  key: string;
  wanted: string;
  /** The value on the node; undefined when the node does not have the label. */
  live: string | undefined;
}

/** The rule by which one of two matching pools owns the node. */
type Rule = 'holds the node already' | 'is older' | 'has the smaller name';

export type Verdict =
  /** `over`: the other pools that match, each with the deciding rule. */
  | { kind: 'member'; over: { pool: string; rule: Rule }[] }
  | { kind: 'lost'; to: string; rule: Rule }
  | { kind: 'no match' }
  | { kind: 'deleting' }
  /** A pool with an invalid spec gets no new nodes. */
  | { kind: 'invalid'; errors: FieldError[] }
  /** The selector cannot be read: the pool keeps the nodes that it holds and gets no new ones. */
  | { kind: 'unknown selector'; keeps: boolean };

export interface PoolReason {
  pool: string;
  selector: SelectorPair[];
  verdict: Verdict;
  /** The node still has what this pool applied but is no longer a member; the next reconcile removes it. */
  toBeCleaned: boolean;
}

export interface Explanation {
  node: string;
  owner: string | undefined;
  /** The owner first, then the pools that match but do not own the node, then the others by name. */
  pools: PoolReason[];
  /** A deleted pool whose labels and taints stay on the node until the next reconcile. */
  gone: string | undefined;
}

/**
 * @param ownership of the node among these pools, from `PoolIndex.ownership`
 * @param errorsOf returns the validation errors of a pool
 */
export function explain(
  node: Node,
  pools: readonly NodePool[],
  ownership: Ownership,
  errorsOf: (pool: string) => FieldError[],
): Explanation {
  const byName = new Map(pools.map(pool => [pool.metadata.name, pool]));
  const holder = ownership.record?.pool;
  const reasons = pools.map((pool): PoolReason => {
    const { name } = pool.metadata;
    return {
      pool: name,
      selector: isSelectorKnown(pool) ? pairsOf(pool, node) : [],
      verdict: verdictOf(pool, node, ownership, byName, errorsOf(name)),
      toBeCleaned: holder === name && ownership.owner !== name,
    };
  });
  return {
    node: node.name,
    owner: ownership.owner,
    pools: reasons.toSorted((a, b) => rank(a) - rank(b) || (a.pool < b.pool ? -1 : 1)),
    gone: holder !== undefined && !byName.has(holder) ? holder : undefined,
  };
}

function verdictOf(
  pool: NodePool,
  node: Node,
  { record, owner, conflicting }: Ownership,
  byName: ReadonlyMap<string, NodePool>,
  errors: FieldError[],
): Verdict {
  const { name, deletionTimestamp } = pool.metadata;
  const ruleBetween = (winner: string, other: string) =>
    ruleOf(record?.pool, byName.get(winner) ?? pool, byName.get(other) ?? pool);
  const isKnown = isSelectorKnown(pool);
  if (deletionTimestamp !== undefined) {
    return isKnown && !matchesLabels(membershipSelector(pool), node.labels)
      ? { kind: 'no match' }
      : { kind: 'deleting' };
  }
  if (!isKnown) return { kind: 'unknown selector', keeps: owner === name };
  if (owner === name) {
    return { kind: 'member', over: conflicting.map(other => ({ pool: other, rule: ruleBetween(name, other) })) };
  }
  if (owner !== undefined && conflicting.includes(name))
    return { kind: 'lost', to: owner, rule: ruleBetween(owner, name) };
  if (!matchesLabels(membershipSelector(pool), node.labels)) return { kind: 'no match' };
  return { kind: 'invalid', errors };
}

function ruleOf(holder: string | undefined, winner: NodePool, other: NodePool): Rule {
  if (holder === winner.metadata.name) return 'holds the node already';
  const [ours, theirs] = [winner.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? ''];
  return ours === theirs ? 'has the smaller name' : 'is older';
}

function pairsOf(pool: NodePool, { labels }: Node): SelectorPair[] {
  return Object.entries(membershipSelector(pool)).map(([key, wanted]) => ({
    key,
    wanted,
    live: own(labels, key),
  }));
}

function rank({ verdict, toBeCleaned }: PoolReason): number {
  if (verdict.kind === 'member' || (verdict.kind === 'unknown selector' && verdict.keeps)) return 0;
  if (verdict.kind === 'lost') return 1;
  if (toBeCleaned) return 2;
  return verdict.kind === 'no match' ? 4 : 3;
}
