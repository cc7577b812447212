/** Explains why a node belongs, or does not belong, to each pool: the rules of membership.ts as data for display. */
import { ownValue } from '../json.ts';
import { drainingTaints } from '../plan/no-execute.ts';
import { keptStartupTaints } from '../plan/startup-taints.ts';
import type { FieldError } from '../spec/field-error.ts';
import { taintFrom, taintId, taintsById } from '../spec/taints.ts';
import { isSelectorKnown } from '../spec/validation.ts';
import { type Node, type NodePool, POOL_LABEL, type Taint } from '../types.ts';
import { meetsNode } from './label-query.ts';
import type { Ownership } from './membership.ts';
import { type NearMiss, nearMiss } from './near-miss.ts';
import { matches, memberLabels, membershipSelector, partsOf } from './selector.ts';

/** A label or an expression of the pool's selector. */
export interface SelectorReason {
  key: string;
  /** As kubectl writes it: `a=b`, `a in (b,c)`. */
  requirement: string;
  isMet: boolean;
  /** The value on the node; undefined if the node does not have the label. */
  live: string | undefined;
  /** A label of the node that nearly matches, with another spelling of the value or key; absent if there is none. */
  near?: NearMiss;
}

/** The rule by which one of two matching pools owns the node. */
export type OwnershipRule = 'holds the node already' | 'is older' | 'has the smaller name';

export type MembershipVerdict =
  /** `over`: the other matching pools, each with the deciding rule. */
  | { kind: 'member'; over: { pool: string; rule: OwnershipRule }[] }
  | { kind: 'lost'; to: string; rule: OwnershipRule }
  | { kind: 'no match' }
  | { kind: 'deleting' }
  /** A pool with an invalid spec gets no new nodes. */
  | { kind: 'invalid'; errors: FieldError[] }
  /** The selector cannot be parsed: the pool keeps its nodes and gets no new ones. */
  | { kind: 'unknown selector'; keeps: boolean };

export interface PoolReason {
  pool: string;
  selector: SelectorReason[];
  verdict: MembershipVerdict;
  /** The node is no longer a member but still has what this pool applied; the next reconcile removes it. */
  toBeCleaned: boolean;
}

/** A startup taint that the pool added, or did not need to add, when the node joined. */
export interface StartupReason {
  /** Its value is the one that the pool set. */
  taint: Taint;
  /** The taint is unchanged; otherwise it was removed or changed, or never set. In `nodes --why -o json`. */
  isHeld: boolean;
  until: string | undefined;
  /** The taint is added again when the node boots. */
  isGivenAgain: boolean;
}

export interface MembershipExplanation {
  node: string;
  owner: string | undefined;
  /** The owner first, then other matching pools, then nearly matching ones, then the rest by name. */
  pools: PoolReason[];
  /** The startup taints in the owner's record; absent if there are none. */
  startup?: StartupReason[];
  /** Taints of the owner that wait until the pods that they would evict are gone; absent if there are none. */
  draining?: Taint[];
  /** A deleted pool whose labels and taints stay on the node until the next reconcile. */
  gone: string | undefined;
  /** The value of POOL_LABEL if no pool has set it; otherwise absent. */
  strayLabel?: string;
}

/** @param ownership of the node, from `PoolIndex.ownership` @param errorsOf validation errors of a pool */
export function explain(
  node: Node,
  pools: readonly NodePool[],
  ownership: Ownership,
  errorsOf: (pool: string) => FieldError[],
): MembershipExplanation {
  const byName = new Map(pools.map(pool => [pool.metadata.name, pool]));
  const holder = ownership.record?.pool;
  const reasons = pools.map((pool): PoolReason => {
    const { name } = pool.metadata;
    return {
      pool: name,
      selector: isSelectorKnown(pool) ? reasonsOf(pool, node) : [],
      verdict: verdictOf(pool, node, ownership, byName, errorsOf(name)),
      toBeCleaned: holder === name && ownership.owner !== name,
    };
  });
  const strayLabel = strayPoolLabel(node, ownership, byName.get(ownership.owner ?? ''));
  return {
    node: node.name,
    owner: ownership.owner,
    ...startupReasons(node, ownership, byName),
    ...drainingOf(ownership),
    pools: reasons.toSorted((a, b) => rank(a) - rank(b) || (a.pool < b.pool ? -1 : 1)),
    gone: holder !== undefined && !byName.has(holder) ? holder : undefined,
    ...(strayLabel === undefined ? {} : { strayLabel }),
  };
}

function drainingOf({ record, owner }: Ownership): Pick<MembershipExplanation, 'draining'> {
  return record?.draining === undefined || record.pool !== owner ? {} : { draining: drainingTaints(record.draining) };
}

function startupReasons(
  node: Node,
  { record, owner }: Ownership,
  pools: ReadonlyMap<string, NodePool>,
): Pick<MembershipExplanation, 'startup'> {
  if (record === undefined || record.pool !== owner || record.startup.size === 0) return {};
  const wanted = taintsById(pools.get(owner)?.spec.startupTaints);
  const kept = new Set(keptStartupTaints(node, record).map(taintId));
  const startup = [...record.startup].map(([id, recordedValue]) => ({
    taint: taintFrom(id, recordedValue ?? ''),
    isHeld: kept.has(id),
    until: wanted.get(id)?.until?.nodeCondition,
    isGivenAgain: wanted.get(id)?.again === 'Boot',
  }));
  return { startup };
}

function verdictOf(
  pool: NodePool,
  node: Node,
  { record, owner, conflicting }: Ownership,
  byName: ReadonlyMap<string, NodePool>,
  errors: FieldError[],
): MembershipVerdict {
  const { name, deletionTimestamp } = pool.metadata;
  const ruleBetween = (winner: string, other: string) =>
    ruleOf(record?.pool, byName.get(winner) ?? pool, byName.get(other) ?? pool);
  const isKnown = isSelectorKnown(pool);
  if (deletionTimestamp !== undefined) {
    return isKnown && !matches(membershipSelector(pool), node.labels) ? { kind: 'no match' } : { kind: 'deleting' };
  }
  if (!isKnown) return { kind: 'unknown selector', keeps: owner === name };
  if (owner === name) {
    return { kind: 'member', over: conflicting.map(other => ({ pool: other, rule: ruleBetween(name, other) })) };
  }
  if (owner !== undefined && conflicting.includes(name))
    return { kind: 'lost', to: owner, rule: ruleBetween(owner, name) };
  if (!matches(membershipSelector(pool), node.labels)) return { kind: 'no match' };
  return { kind: 'invalid', errors };
}

function ruleOf(holder: string | undefined, winner: NodePool, other: NodePool): OwnershipRule {
  if (holder === winner.metadata.name) return 'holds the node already';
  const [ours, theirs] = [winner.metadata.creationTimestamp ?? '', other.metadata.creationTimestamp ?? ''];
  return ours === theirs ? 'has the smaller name' : 'is older';
}

function reasonsOf(pool: NodePool, { labels }: Node): SelectorReason[] {
  return partsOf(membershipSelector(pool)).map(part => {
    const live = ownValue(labels, part.key);
    const isMet = meetsNode(part, live);
    const near = isMet ? undefined : nearMiss(part, labels);
    return { key: part.key, requirement: part.text, isMet, live, ...(near === undefined ? {} : { near }) };
  });
}

function rank({ selector, verdict, toBeCleaned }: PoolReason): number {
  if (verdict.kind === 'member' || (verdict.kind === 'unknown selector' && verdict.keeps)) return 0;
  if (verdict.kind === 'lost') return 1;
  if (toBeCleaned) return 2;
  if (verdict.kind !== 'no match') return 3;
  return selector.every(({ isMet, near }) => isMet || near !== undefined) ? 4 : 5;
}

// POOL_LABEL on a node where no pool has set it: another writer has, or the record was lost with the node's membership.
// Pods of the RuntimeClass of that pool can be scheduled there. Reconciles do not change it, like any label that is in
// no record.

/** The value. Undefined if the node does not have the label, or if a pool has set it, or will replace or remove it. */
export function strayPoolLabel(
  { labels }: Node,
  { record }: Pick<Ownership, 'record'>,
  owner: NodePool | undefined,
): string | undefined {
  const value = ownValue(labels, POOL_LABEL);
  if (value === undefined || record?.labels.has(POOL_LABEL)) return undefined;
  const isRemoved =
    owner !== undefined && (owner.spec.unmanaged === 'Remove' || ownValue(memberLabels(owner), POOL_LABEL));
  return isRemoved ? undefined : value;
}

/** An imperative without a trailing full stop. */
export function strayLabelRemedy(node: string): string {
  return `remove it: \`kubectl label node ${node} ${POOL_LABEL}-\``;
}
