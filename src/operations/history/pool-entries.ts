/** What a pool itself says of its past: by its managedFields, its conditions and its revisions. */
import { isObject } from '../../nodepool/json.ts';
import { creatorOf, type ManagedFields, managedAt, readManagedFields } from '../../nodepool/managed-fields.ts';
import { type ControllerRevision, causeOf, keptSpec } from '../../nodepool/revisions.ts';
import { specChanges } from '../../nodepool/spec-changes.ts';
import type { RawPool } from '../ports.ts';
import { type HistoryEntry, NODE_WRITES } from './entry.ts';
import { listed } from './node-entries.ts';

/** Maps of the spec, whose keys are fields of their own. */
const MAPS = ['annotations', 'labels', 'nodeSelector'];
/** Characters of a value in a detail. */
const MAX_VALUE = 80;
/** Of objects in each other, as in revisions.ts. */
const MAX_DEPTH = 500;

/** In the order in which they are written within a second. @param revisions of this pool, the oldest first */
export function poolEntries(pool: RawPool, revisions: readonly ControllerRevision[]): HistoryEntry[] {
  const fields = readManagedFields((pool.metadata as { managedFields?: unknown }).managedFields);
  return [...lifeEntries(pool, fields), ...revisionEntries(revisions), ...conditionEntries(pool, fields)].map(
    entry => ({ ...entry, pool: pool.metadata.name }),
  );
}

function lifeEntries({ metadata, status }: RawPool, fields: readonly ManagedFields[]): HistoryEntry[] {
  const { creationTimestamp, deletionTimestamp } = metadata;
  const first = creatorOf(fields, creationTimestamp);
  const created: HistoryEntry = {
    ...{ time: creationTimestamp, what: 'PoolCreated', who: first?.manager },
    detail: first === undefined ? 'the pool was created' : `manages ${listed(pathsOf(first))}`,
    sources: first === undefined ? ['object'] : ['object', 'managedFields'],
  };
  const writes = fields
    .filter(entry => entry !== first)
    .flatMap((entry): HistoryEntry[] => {
      const { time, manager: who, subresource } = entry;
      const sources = ['managedFields'] as const;
      if (subresource === 'status') {
        const detail = `status ${status?.status ?? 'unknown'}`;
        return [{ time, what: 'StatusWritten', who, detail, sources, sameAs: NODE_WRITES }];
      }
      const paths = pathsOf(entry);
      if (paths.length === 0) return [];
      const what = paths.some(path => path.startsWith('spec.')) ? 'SpecWritten' : 'MetadataWritten';
      return [{ time, what, who, detail: `manages ${listed(paths)}`, sources }];
    });
  if (deletionTimestamp === undefined) return [created, ...writes];
  const detail = 'the pool is being deleted';
  return [
    created,
    ...writes,
    { time: deletionTimestamp, what: 'DeletionRequested', who: undefined, detail, sources: ['object'] },
  ];
}

/** `spec.labels[tier]`, `spec.taints`, `metadata.labels`. */
function pathsOf(entry: ManagedFields): string[] {
  const fieldsAt = (path: string[]): string[] => {
    const found = managedAt(entry, path);
    const names = isObject(found) ? Object.keys(found).filter(name => name.startsWith('f:')) : [];
    return names.map(name => name.slice(2));
  };
  const spec = fieldsAt(['spec']).flatMap(field => {
    const keys = MAPS.includes(field) ? fieldsAt(['spec', field]) : [];
    return keys.length === 0 ? [`spec.${field}`] : keys.map(key => `spec.${field}[${key}]`);
  });
  return [...spec.toSorted(), ...fieldsAt(['metadata']).map(field => `metadata.${field}`)];
}

function conditionEntries({ status }: RawPool, fields: readonly ManagedFields[]): HistoryEntry[] {
  const who = fields.find(entry => managedAt(entry, ['status', 'conditions']) !== undefined)?.manager;
  return (status?.conditions ?? []).map(({ type, status: value, reason, message, lastTransitionTime: time }) => ({
    ...{ time, what: reason || type, who, detail: [`${type}=${value}`, message].filter(Boolean).join(': ') },
    sources: ['condition'] as const,
    // Of a failed write the Event has another reason.
    sameAs: [reason === 'WriteFailed' ? 'ReconcileFailed' : reason],
    isWarning: (type === 'Applied' && value === 'False') || (type === 'Conflict' && value === 'True'),
  }));
}

/** The first revision has no spec before it, and an undo gives an earlier revision the highest number. */
function revisionEntries(revisions: readonly ControllerRevision[]): HistoryEntry[] {
  return revisions.flatMap((each, at): HistoryEntry[] => {
    const { creationTimestamp } = each.metadata;
    const [writer] = readManagedFields((each.metadata as { managedFields?: unknown }).managedFields);
    const sources = ['ControllerRevision'] as const;
    const who = writer?.manager;
    const cause = causeOf(each);
    const said = `revision ${each.revision}: ${changesText(revisions[at - 1], each)}${cause === undefined ? '' : `; cause: ${cause}`}`;
    if (!isRaised(each, revisions.slice(0, at), writer?.time))
      return [{ time: creationTimestamp, what: 'SpecChanged', who, detail: said, sources }];
    const kept = `the spec of revision ${each.revision} was kept first`;
    return [
      { time: creationTimestamp, what: 'SpecChanged', who, detail: kept, sources },
      { time: writer?.time, what: 'SpecRestored', who, detail: said, sources: [...sources, 'managedFields'] },
    ];
  });
}

/** Whether an undo has given it a higher number. @param lower those with lower numbers @param written when it was written last */
function isRaised(
  { metadata, revision }: ControllerRevision,
  lower: readonly ControllerRevision[],
  written: string | undefined,
): boolean {
  const created = metadata.creationTimestamp;
  if (lower.some(each => isAfter(each.metadata.creationTimestamp, created))) return true;
  // Times have whole seconds. Of one second, it is the one that was written again and left its number free.
  const isTied = lower.some(each => each.metadata.creationTimestamp === created);
  return isTied && isAfter(written, created) && lower.length < revision - 1;
}

function isAfter(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && Date.parse(a) > Date.parse(b);
}

function changesText(before: ControllerRevision | undefined, after: ControllerRevision): string {
  if (before === undefined) return 'the oldest spec that is kept';
  if ([before, after].some(({ data }) => isDeep(data))) return 'too many levels to compare';
  const changes = specChanges(specOf(before), specOf(after)).map(({ path, from, to }) => {
    if (from === undefined) return `+ ${path}: ${textOf(to)}`;
    return to === undefined ? `- ${path}: ${textOf(from)}` : `~ ${path}: ${textOf(from)} -> ${textOf(to)}`;
  });
  return changes.length === 0 ? 'no change' : listed(changes);
}

/** Not by recursion: the server takes thousands of levels in fields that a CRD does not know. */
function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap(each => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}

function specOf({ data }: ControllerRevision): object {
  return isObject(data) && isObject(data.spec) ? keptSpec(data.spec) : {};
}

function textOf(value: unknown): string {
  const text = typeof value === 'string' && value !== '' ? value : (JSON.stringify(value) ?? '');
  return text.length <= MAX_VALUE ? text : `${text.slice(0, MAX_VALUE).replace(/\p{Cs}$/u, '')}…`;
}
