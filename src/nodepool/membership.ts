/** Which node belongs to which pool. One node, one pool. */
import { deepEqual } from './merge-patch.ts';
import type { AppliedRecord, AppliedSlot } from './record.ts';
import { RecordCache } from './record-cache.ts';
import { isSelectorKnown, matchesLabels, membershipSelector } from './selector.ts';
import { taintId } from './taint.ts';
import { isWithoutGeneration, takeoverOf } from './takeover.ts';
import { FINALIZER, type Node, type NodePool } from './types.ts';
import { type FieldError, validatePool } from './validation.ts';

/** What the pools have to say about one node. */
export interface Ownership {
  /** What is applied to the node now, and by which pool. */
  record: AppliedRecord | undefined;
  /** Name of the pool that the node belongs to. */
  owner: string | undefined;
  /** Names of the other pools that match the node and do not get it. */
  conflicting: readonly string[];
}

/** Most nodes are lost by nobody. */
const NONE: readonly string[] = [];

/** All pools, arranged so that one node's ownership costs a look-up per label of the node, not one per pool. */
export class PoolIndex {
  readonly #errors = new Map<string, FieldError[]>();
  /** By key and value of one label of the pool's selector; the rest of the selector is checked on a hit. */
  readonly #byLabel = new Map<string, Map<string, NodePool[]>>();
  readonly #records = new RecordCache();
  /** Of the selectors of all pools. */
  readonly #keys = new Set<string>();
  /** Names of pools that keep every node they hold: which ones they are meant to have cannot be read. */
  readonly #keepers = new Set<string>();
  /** Names of pools that hold what equals their spec on nodes without a record. */
  readonly #inherited: ReadonlySet<string>;

  /** @param nodes all of them: their records tell which pools have been taken over */
  constructor(pools: Iterable<NodePool>, nodes: Iterable<Node> = []) {
    const sorted = [...pools].sort(olderFirst);
    this.#inherited = this.#inheritedOf(sorted, nodes);
    for (const pool of sorted) {
      this.#errors.set(pool.metadata.name, validatePool(pool));
      if (!isSelectorKnown(pool)) {
        if (pool.metadata.deletionTimestamp === undefined) this.#keepers.add(pool.metadata.name);
        continue;
      }
      const selector = membershipSelector(pool);
      for (const key of Object.keys(selector)) this.#keys.add(key);
      const first = Object.entries(selector)[0];
      if (first === undefined) continue;
      const [key, value] = first;
      const values = this.#byLabel.get(key) ?? new Map<string, NodePool[]>();
      this.#byLabel.set(key, values);
      const sharing = values.get(value);
      if (sharing === undefined) values.set(value, [pool]);
      else sharing.push(pool);
    }
  }

  /** What is wrong with the pool's spec, as `validatePool` says. */
  errors(name: string): FieldError[] {
    return this.#errors.get(name) ?? [];
  }

  /** Whether the pool still holds what equals its spec: see isInherited(). */
  isInherited(name: string): boolean {
    return this.#inherited.has(name);
  }

  /** Whether a pool selects by one of these labels: no others can make a node join or leave one. */
  affectsMembership(labels: Record<string, unknown>): boolean {
    for (const key in labels) if (this.#keys.has(key)) return true;
    return false;
  }

  /**
   * The pool that already holds the node keeps it while it matches; else the older pool, then the smaller name.
   * A pool that is being deleted gets no node; a pool with an invalid spec keeps what it has and gets nothing new, even
   * nodes that it might not match if its selector could be read.
   */
  ownership(node: Node): Ownership {
    const matching = this.#matching(node);
    const applied = node.record === undefined ? undefined : this.#records.read(node.record);
    const record = applied ?? impliedRecord(node, matching, this.#inherited);
    const able: string[] = [];
    for (const { metadata } of matching) {
      const { name } = metadata;
      const isSound = name === record?.pool || this.errors(name).length === 0;
      if (metadata.deletionTimestamp === undefined && isSound) able.push(name);
    }
    if (record !== undefined && this.#keepers.has(record.pool)) able.unshift(record.pool);
    const owner = record !== undefined && able.includes(record.pool) ? record.pool : able[0];
    return { record, owner, conflicting: able.length < 2 ? NONE : able.filter(name => name !== owner) };
  }

  /**
   * One without a mark that has a record on a node it matches was reconciled by this program: all that it held is
   * recorded. Any one record counts, since the other answer would remove what others set on nodes that joined later.
   */
  #inheritedOf(pools: NodePool[], nodes: Iterable<Node>): Set<string> {
    const inherited = pools.filter(isInherited);
    const names = new Set(inherited.map(({ metadata }) => metadata.name));
    const unmarked = new Map(
      inherited.filter(pool => takeoverOf(pool) === undefined).map(pool => [pool.metadata.name, pool]),
    );
    if (unmarked.size === 0) return names;
    for (const node of nodes) {
      const holder = node.record === undefined ? undefined : this.#records.read(node.record)?.pool;
      const pool = holder === undefined ? undefined : unmarked.get(holder);
      if (pool !== undefined && matchesLabels(membershipSelector(pool), node.labels)) names.delete(pool.metadata.name);
    }
    return names;
  }

  #matching(node: Node): NodePool[] {
    const found: NodePool[] = [];
    for (const key in node.labels) {
      for (const pool of this.#byLabel.get(key)?.get(node.labels[key] ?? '') ?? []) {
        if (matchesLabels(membershipSelector(pool), node.labels)) found.push(pool);
      }
    }
    return found.length > 1 ? found.sort(olderFirst) : found;
  }
}

function olderFirst(a: NodePool, b: NodePool): number {
  const [aAge, bAge] = [a.metadata.creationTimestamp ?? '', b.metadata.creationTimestamp ?? ''];
  if (aAge !== bAge) return aAge < bAge ? -1 : 1;
  return a.metadata.name < b.metadata.name ? -1 : 1;
}

/** Whether ownerships made with `before` still hold with `after`. */
export function sameOwnership(before: NodePool, after: NodePool): boolean {
  return (
    before.metadata.uid === after.metadata.uid &&
    before.metadata.generation === after.metadata.generation &&
    before.metadata.deletionTimestamp === after.metadata.deletionTimestamp &&
    isInherited(before) === isInherited(after) &&
    // What the server shows of a spec can change without a write: with the CRD.
    deepEqual(before.dropped, after.dropped)
  );
}

/**
 * Whether only the operator that this product follows has reconciled the pool so far: its finalizer is there, and a
 * status without observedGeneration, which ours sets (on such a pool only once all of it is applied). Its CRD drops that
 * field, so the end of the takeover is marked on the pool as well.
 */
export function isInherited(pool: NodePool): boolean {
  const isHeld = pool.metadata.finalizers?.includes(FINALIZER) === true;
  return isHeld && isWithoutGeneration(pool) && takeoverOf(pool) !== 'finished';
}

/** That operator wrote no records: an inherited pool holds what equals its spec on the nodes it matches. */
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
  };
}

function slots(pairs: (readonly [string, string])[]): Map<string, AppliedSlot> {
  return new Map(pairs.map(([id, value]) => [id, { value }]));
}
