/** Decides which pool owns a node (at most one), and the state of the takeover of an earlier operator's pool. */
import { appendTo, deepEqual } from '../json.ts';
import { type AppliedRecord, type AppliedSlot, NO_SLOTS, NO_STARTUP } from '../plan/record.ts';
import { RecordCache } from '../plan/record-cache.ts';
import { stoppedRollout } from '../rollout/rollout.ts';
import type { FieldError } from '../spec/field-error.ts';
import { taintId } from '../spec/taints.ts';
import { isSelectorKnown, validatePool } from '../spec/validation.ts';
import { FINALIZER, type Node, type NodePool, TAKEOVER_ANNOTATION, TRANSIENT_KEYS_ANNOTATION } from '../types.ts';
import { unchangedSlots } from './birth-record.ts';
import { compileSelector, keysOf, matches, membershipSelector, requiredLabel, type Selector } from './selector.ts';

export interface Ownership {
  /** What is currently applied to the node, and by which pool. */
  record: AppliedRecord | undefined;
  /** The pool that the node belongs to. */
  owner: string | undefined;
  /** The other pools that match the node. */
  conflicting: readonly string[];
}

/** Shared, as most nodes have no conflict. */
const NONE: readonly string[] = [];

interface SelectingPool {
  pool: NodePool;
  matches: ReturnType<typeof compileSelector>;
}

/** An index over all pools: ownership costs one lookup for each label of the node, not one for each pool. */
export class PoolIndex {
  readonly #errors = new Map<string, FieldError[]>();
  /** Pools by key and value of one label that their selector requires; a hit is then checked completely. */
  readonly #byLabel = new Map<string, Map<string, SelectingPool[]>>();
  /** Pools by a label that their selector requires with any value. */
  readonly #byKey = new Map<string, SelectingPool[]>();
  /** Pools that require no label: each is checked for each node. */
  readonly #unindexed: SelectingPool[] = [];
  readonly #records: RecordCache;
  /** All label keys of all selectors. */
  readonly #keys = new Set<string>();
  /** Pools that keep every node that they own, because their selector cannot be parsed or is invalid. */
  readonly #unreadablePools = new Set<string>();
  /** Inherited pools (isInherited()): on nodes without a record, values equal to their spec count as applied. */
  readonly #inherited: ReadonlySet<string>;

  /** @param nodes all nodes: their records show which pools were taken over */
  constructor(pools: Iterable<NodePool>, nodes: Iterable<Node> = [], records = new RecordCache()) {
    this.#records = records;
    const sorted = [...pools].sort(olderFirst);
    this.#inherited = this.#inheritedOf(sorted, nodes);
    for (const pool of sorted) {
      const errors = validatePool(pool);
      this.#errors.set(pool.metadata.name, errors);
      if (!isSelectorKnown(pool, errors)) {
        if (pool.metadata.deletionTimestamp === undefined) this.#unreadablePools.add(pool.metadata.name);
        continue;
      }
      const selector = membershipSelector(pool);
      for (const key of keysOf(selector)) this.#keys.add(key);
      this.#add(selector, { pool, matches: compileSelector(selector) });
    }
  }

  #add(selector: Selector, selecting: SelectingPool): void {
    const required = requiredLabel(selector);
    if (required === undefined) {
      this.#unindexed.push(selecting);
      return;
    }
    const { key, values } = required;
    if (values === undefined) {
      appendTo(this.#byKey, key, selecting);
      return;
    }
    const byValue = this.#byLabel.get(key) ?? new Map<string, SelectingPool[]>();
    this.#byLabel.set(key, byValue);
    for (const value of values) appendTo(byValue, value, selecting);
  }

  errors(name: string): FieldError[] {
    return this.#errors.get(name) ?? [];
  }

  /** Whether only the earlier operator has reconciled the pool so far. */
  isInherited(name: string): boolean {
    return this.#inherited.has(name);
  }

  /** Whether a pool selects by one of these labels. Other labels do not change the membership of a node. */
  affectsMembership(labels: Record<string, unknown>): boolean {
    for (const key in labels) if (this.#keys.has(key)) return true;
    return false;
  }

  /**
   * The pool that already owns the node keeps it while it matches. Otherwise the oldest matching pool owns it, then the
   * one with the smallest name. A pool that is being deleted gets no node. A pool with an invalid spec keeps its nodes
   * and gets no new ones; if its selector cannot be parsed, it keeps even nodes that it might not match.
   */
  ownership(node: Node): Ownership {
    const matching = this.#matching(node);
    const applied = node.record === undefined ? undefined : this.#records.read(node.record);
    const record =
      applied === undefined
        ? impliedRecord(node, matching, this.#inherited)
        : node.birthRecord === 'record'
          ? unchangedSlots(applied, node)
          : applied;
    const eligible: string[] = [];
    for (const { metadata } of matching) {
      const { name } = metadata;
      const isEligible = name === record?.pool || this.errors(name).length === 0;
      if (metadata.deletionTimestamp === undefined && isEligible) eligible.push(name);
    }
    if (record !== undefined && this.#unreadablePools.has(record.pool)) eligible.unshift(record.pool);
    const owner = record !== undefined && eligible.includes(record.pool) ? record.pool : eligible[0];
    return { record, owner, conflicting: eligible.length < 2 ? NONE : eligible.filter(name => name !== owner) };
  }

  /**
   * If an unmarked pool has a record on a matching node, this program has reconciled the pool, so everything that it
   * applied is recorded. One record is enough: if more were required, values that others set on nodes that joined later
   * could be removed.
   */
  #inheritedOf(pools: NodePool[], nodes: Iterable<Node>): Set<string> {
    const inherited = pools.filter(isInherited);
    const names = new Set(inherited.map(({ metadata }) => metadata.name));
    const unmarked = new Map(
      inherited.filter(pool => takeoverOf(pool) === undefined).map(pool => [pool.metadata.name, pool]),
    );
    if (unmarked.size === 0) return names;
    for (const node of nodes) {
      // A birth record does not come from a reconcile.
      const isReconciled = node.record !== undefined && node.birthRecord !== 'record';
      const holder = isReconciled ? this.#records.read(node.record ?? '')?.pool : undefined;
      const pool = holder === undefined ? undefined : unmarked.get(holder);
      if (pool !== undefined && matches(membershipSelector(pool), node.labels)) names.delete(pool.metadata.name);
    }
    return names;
  }

  #matching(node: Node): NodePool[] {
    const found: NodePool[] = [];
    const find = (candidates: readonly SelectingPool[] | undefined) => {
      for (const selecting of candidates ?? []) if (selecting.matches(node.labels)) found.push(selecting.pool);
    };
    find(this.#unindexed);
    for (const key in node.labels) {
      find(this.#byLabel.get(key)?.get(node.labels[key] ?? ''));
      if (this.#byKey.size > 0) find(this.#byKey.get(key));
    }
    return found.length > 1 ? found.sort(olderFirst) : found;
  }
}

/** By creation time, then by name. */
export function olderFirst(a: NodePool, b: NodePool): number {
  const [aAge, bAge] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (aAge !== bAge) return aAge < bAge ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Whether ownership computed with `before` is still valid with `after`. */
export function sameOwnership(before: NodePool, after: NodePool): boolean {
  return (
    before.metadata.uid === after.metadata.uid &&
    before.metadata.generation === after.metadata.generation &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    isInherited(before) === isInherited(after) &&
    // These are not part of the spec, but plans depend on them.
    transientKeysText(before) === transientKeysText(after) &&
    stoppedRollout(before)?.at === stoppedRollout(after)?.at &&
    // A changed CRD can change the returned fields without a write.
    deepEqual(before.dropped, after.dropped)
  );
}

function transientKeysText({ metadata }: NodePool): string | undefined {
  return metadata.annotations?.[TRANSIENT_KEYS_ANNOTATION];
}

/**
 * Whether only the earlier operator has reconciled the pool so far. Then it has that operator's finalizer, and its
 * status has no observedGeneration, which this program sets once everything is applied. The earlier CRD drops
 * observedGeneration, so an annotation on the pool also marks the end of the takeover.
 */
export function isInherited(pool: NodePool): boolean {
  const hasFinalizer = pool.metadata.finalizers?.includes(FINALIZER) === true;
  return hasFinalizer && isWithoutGeneration(pool) && takeoverOf(pool) !== 'finished';
}

/** The earlier operator wrote no records: values equal to the spec of an inherited pool count as applied by it. */
function impliedRecord(node: Node, matching: NodePool[], inherited: ReadonlySet<string>): AppliedRecord | undefined {
  if (node.record !== undefined || inherited.size === 0) return undefined;
  const pool = matching.find(({ metadata }) => inherited.has(metadata.name));
  if (pool === undefined) return undefined;
  const live = new Map(node.taints.map(taint => [taintId(taint), taint.value ?? '']));
  return {
    pool: pool.metadata.name,
    labels: slots(Object.entries(pool.spec.labels ?? {}).filter(([key, value]) => node.labels[key] === value)),
    taints: slots(
      (pool.spec.taints ?? [])
        .map(taint => [taintId(taint), taint.value ?? ''] as const)
        .filter(([id, value]) => live.get(id) === value),
    ),
    // That operator set no annotations. It is unknown which nodes joined in its time: none gets startup taints.
    annotations: NO_SLOTS,
    startup: NO_STARTUP,
  };
}

function slots(pairs: (readonly [string, string])[]): Map<string, AppliedSlot> {
  return new Map(pairs.map(([id, value]) => [id, { value }]));
}

// The state of the takeover of a pool of the earlier operator: an annotation on the pool, which no CRD can drop.

/** `started` before the first record of an inherited pool is written; `finished` after a run tried all nodes. */
export type Takeover = 'started' | 'finished';

export function takeoverOf({ metadata }: NodePool): Takeover | undefined {
  const value = metadata.annotations?.[TAKEOVER_ANNOTATION];
  return value === 'started' || value === 'finished' ? value : undefined;
}

/** Whether the status lacks observedGeneration, which this program always sets at the end. */
function isWithoutGeneration({ status }: NodePool): boolean {
  return status?.status !== undefined && status.observedGeneration === undefined;
}

/** Whether the server dropped status fields that this program wrote, because the CRD has another version. */
export function hasLostFields(pool: NodePool): boolean {
  return isWithoutGeneration(pool) && takeoverOf(pool) === 'finished';
}

export const LOST_FIELDS = 'the CRD nodepools.nodes.lailin.xyz is from another version and drops fields of the status';
export const MEND_LOST_FIELDS = 'run `kubectl nodepool install`, then `kubectl nodepool reconcile`';

/** For a pool that is not created yet: it takes no node from another pool. */
export function asYoungest(pool: NodePool): NodePool {
  return { ...pool, metadata: { ...pool.metadata, creationTimestamp: '9999-12-31T23:59:59Z' } };
}
