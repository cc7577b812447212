/** Pools from files as `kubectl apply` would leave them: removes missing fields if an earlier apply set them. */
import { isObject, ownValue, parsedJson, setOwn } from '../../../nodepool/json.ts';
import { type ManagedFields, managedAt, readManagedFields } from '../../../nodepool/managed-fields.ts';
import { asYoungest } from '../../../nodepool/membership/membership.ts';
import { LAST_APPLIED, lastApplied, withAnnotation } from '../../../nodepool/spec/annotations.ts';
import { type SpecChange, specChanges } from '../../../nodepool/spec/edits.ts';
import type { NodePool } from '../../../nodepool/types.ts';

/** A valid pool from a file. */
export interface DeclaredPool {
  /** Without server-set fields. */
  pool: NodePool;
  /** Location in messages: `pools.yaml:12`. */
  source: string;
}

export interface AppliedPool {
  pool: NodePool;
  source: string;
  isNew: boolean;
  /** Changes of the pool's own labels and annotations, and of its spec. */
  changes: SpecChange[];
  /** Spec paths that are missing in the file and that an apply would not remove. */
  kept: string[];
}

/** @param live the current pool of that name, with its managedFields */
export function appliedPool({ pool: declared, source }: DeclaredPool, live: NodePool | undefined): AppliedPool {
  const file = { ...declared, metadata: withoutLastApplied(declared.metadata) };
  if (live === undefined) {
    return {
      pool: asYoungest(file),
      source,
      isNew: true,
      changes: changesOf({ metadata: {}, spec: {} }, file),
      kept: [],
    };
  }
  const merge = mergeOf(live, file);
  const { unreadable = [], dropped: _dropped, ...readable } = live;
  // Unreadable fields that the file sets are replaced.
  const left = unreadable.filter(({ field }) => !Object.hasOwn(file.spec, field.split(/[.[]/)[1] ?? ''));
  const spec = merge(live.spec, file.spec, ['spec']);
  // kubectl adds an annotation to each file, so the map stays, whatever earlier files contained.
  const parts = partsOf(merge(partsOf(live.metadata), { annotations: {}, ...partsOf(file.metadata) }, ['metadata']));
  const { labels: _labels, annotations: _annotations, ...rest } = live.metadata;
  const metadata = { ...rest, ...parts };
  const pool: NodePool = { ...readable, metadata, spec, ...(left.length === 0 ? {} : { unreadable: left }) };
  const kept = specChanges(file.spec, spec).flatMap(({ path, from }) => (from === undefined ? path : []));
  return { pool, source, isNew: false, changes: changesOf(live, pool), kept };
}

function withoutLastApplied(metadata: NodePool['metadata']): NodePool['metadata'] {
  const { annotations, ...rest } = metadata;
  return annotations === undefined
    ? rest
    : { ...rest, annotations: withAnnotation(annotations, LAST_APPLIED, undefined) };
}

type Labelled = Pick<NodePool['metadata'], 'labels' | 'annotations'>;

/** Without empty maps. */
function partsOf({ labels = {}, annotations = {} }: Labelled): Labelled {
  const isEmpty = (map: object) => Object.keys(map).length === 0;
  return { ...(isEmpty(labels) ? {} : { labels }), ...(isEmpty(annotations) ? {} : { annotations }) };
}

type Parts = Pick<NodePool, 'spec'> & { metadata: Labelled };

function changesOf(before: Parts, after: Parts): SpecChange[] {
  const ofMetadata = specChanges(partsOf(before.metadata), partsOf(after.metadata));
  return [
    ...ofMetadata.map(change => ({ ...change, path: change.path.replace(/^spec/, 'metadata') })),
    ...specChanges(before.spec, after.spec),
  ];
}

type Merge = <T extends object>(live: T, file: object, path: string[]) => T;

/** The merge of an apply, based on what earlier applies set. @param declared the file */
function mergeOf(live: NodePool, declared: Parts): Merge {
  const last = lastApplied(live.metadata);
  const { managedFields } = live.metadata as { managedFields?: unknown };
  const entries = readManagedFields(managedFields).filter(({ subresource }) => subresource === undefined);
  const owners = entries.filter(({ operation }) => operation === 'Apply');
  const appliers = appliersOf(declared, live, owners, last);
  /** A server-side apply removes what no other manager owns. */
  const isOnlyTheirs = (those: readonly ManagedFields[]) =>
    those.length > 0 && those.every(each => each.manager === those[0]?.manager && appliers.has(each));
  const isOwned = (path: string[]) => isOnlyTheirs(entries.filter(entry => managedAt(entry, path) !== undefined));
  const isOwnedItem = (path: string[], item: unknown) =>
    isOnlyTheirs(entries.filter(entry => hasItem(entry, path, item)));
  const merge = (before: Record<string, unknown>, file: Record<string, unknown>, path: string[]) => {
    const after: Record<string, unknown> = {};
    for (const [key, value] of Object.entries(before)) {
      const at = [...path, key];
      const wanted = ownValue(file, key);
      if (wanted !== undefined && !isObject(value) && !Array.isArray(value)) continue;
      if (wanted === undefined && valueAt(last, at) !== undefined) continue;
      if (isObject(value) && (wanted === undefined || isObject(wanted))) {
        const rest = merge(value, wanted ?? {}, at);
        if (wanted !== undefined || Object.keys(rest).length > 0) setOwn(after, key, rest);
      } else if (Array.isArray(value)) {
        const items = Array.isArray(wanted) ? wanted : [];
        // Client-side apply replaces the whole list, server-side apply keeps the taints of others.
        const isMerged = wanted === undefined || (last === undefined && owners.length > 0);
        const others = isMerged ? value.filter(item => !isOwnedItem(at, item)) : [];
        const left = others.filter(item => !items.some(each => isSameItem(each, item)));
        if (wanted !== undefined || left.length > 0) setOwn(after, key, [...items, ...left]);
      } else if (wanted === undefined && !isOwned(at)) setOwn(after, key, value);
    }
    for (const [key, value] of Object.entries(file)) if (!Object.hasOwn(after, key)) setOwn(after, key, value);
    return after;
  };
  return merge as Merge;
}

/** The managers that apply this file: several may apply parts of a pool. Empty if others set all of it. */
function appliersOf(
  { metadata: { labels = {}, annotations = {} }, spec }: Parts,
  live: NodePool,
  owners: readonly ManagedFields[],
  last: unknown,
): ReadonlySet<ManagedFields> {
  const fields = [...fieldsOf({ labels, annotations }, ['metadata']), ...fieldsOf(spec, ['spec'])];
  const counts = owners.map(owner => {
    const own = owners.filter(({ manager }) => manager === owner.manager);
    return fields.filter(({ path, item }) =>
      own.some(each => (item === undefined ? managedAt(each, path) !== undefined : hasItem(each, path, item))),
    ).length;
  });
  const inLast = fields.filter(({ path }) => valueAt(last, path) !== undefined).length;
  const most = Math.max(inLast, ...counts);
  if (most === 0 && fields.some(({ path }) => valueAt(live, path) !== undefined)) return new Set();
  return new Set(owners.filter((_, at) => counts[at] === most));
}

/** Each value with its path, and each item of a list. */
function fieldsOf(value: unknown, path: string[]): { path: string[]; item?: unknown }[] {
  if (Array.isArray(value)) return value.map(item => ({ path, item }));
  if (!isObject(value)) return [{ path }];
  return Object.entries(value).flatMap(([name, each]) => fieldsOf(each, [...path, name]));
}

function hasItem(owner: ManagedFields, path: readonly string[], item: unknown): boolean {
  const list = managedAt(owner, path);
  const keys = isObject(list) ? Object.keys(list).filter(key => key.startsWith('k:')) : [];
  // A list without item keys is one value.
  return list !== undefined && (keys.length === 0 || keys.some(key => isItem(key.slice(2), item)));
}

/** @param key of a list item, from managedFields: `{"effect":"NoSchedule","key":"dedicated"}` */
function isItem(key: string, item: unknown): boolean {
  const fields = parsedJson(key);
  return isObject(fields) && isObject(item) && Object.entries(fields).every(([name, value]) => item[name] === value);
}

function isSameItem(a: unknown, b: unknown): boolean {
  return isObject(a) && isObject(b) && a.key === b.key && a.effect === b.effect;
}

function valueAt(object: unknown, path: readonly string[]): unknown {
  return path.reduce<unknown>((at, name) => (isObject(at) ? ownValue(at, name) : undefined), object);
}
