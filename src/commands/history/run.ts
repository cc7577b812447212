/** Collects the past of a pool or a node from Events, managedFields, conditions and ControllerRevisions. */
import type { ControllerRevisionsClient, NodePoolsClient, NodesClient, RawPool } from '../../kube/cluster.ts';
import type { Connection } from '../../kube/connect.ts';
import type { EventsPort, PoolEventRecord } from '../../kube/resources/events.ts';
import { ifRefused, NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { creatorOf, type ManagedFields, managedAt, readManagedFields } from '../../nodepool/managed-fields.ts';
import { parseRecord } from '../../nodepool/plan/record.ts';
import { RecordCache } from '../../nodepool/plan/record-cache.ts';
import { type ControllerRevision, causeOf, poolRevisions, specOf } from '../../nodepool/rollout/revisions.ts';
import { coercePool } from '../../nodepool/spec/coerce.ts';
import { specChanges } from '../../nodepool/spec/edits.ts';
import { firstFew, plural, suggest } from '../../nodepool/text.ts';
import type { Node } from '../../nodepool/types.ts';
import { ClusterState } from '../../reconciler/state/cluster-state.ts';
import { MAX_READ } from '../shared/changes/drift-setters.ts';
import { specChangeText } from '../shared/changes/print-pools.ts';
import { MAINTENANCE_ENDED } from '../shared/cordon/maintenance.ts';
import { eventEntry, type TimelineEntry } from '../shared/describe/print-timeline.ts';
import { fullName } from '../shared/pools/node-names.ts';
import { nodesNotFound, poolNotFound } from '../shared/pools/not-found.ts';
import { isNamedIn } from '../shared/reconcile/earlier-repairs.ts';
import { allPermitted, type Permitted, permitted } from '../shared/refusals.ts';
import {
  driftedFrom,
  firstKeys,
  memberEntries,
  mergeEntries,
  NODE_WRITES,
  nodeEntries,
  sortEntries,
  TOGETHER_MS,
} from './entries.ts';

export interface TimelineSubject {
  /** Undefined: the pool of that name, else the node. */
  kind: 'NodePool' | 'Node' | undefined;
  name: string;
}

export interface Timeline {
  subject: { kind: 'NodePool' | 'Node'; name: string };
  /** Oldest first; those without a time last. */
  entries: TimelineEntry[];
  /** Number of changed or cordoned members that were not read, so that it is unknown who changed them. */
  unread: number;
  /** What was left out because the user may not read it. */
  forbidden: NodepoolError[];
  /** For a pool: a node has the same name. */
  hasNamesake: boolean;
  /** Number of Events left out because they are about an earlier object of the same name. */
  ofEarlier: number;
}

interface TimelineDeps {
  cluster: {
    pools: NodePoolsClient;
    nodes: NodesClient;
    revisions: ControllerRevisionsClient;
  };
  events: EventsPort;
  datedNode: Connection['datedNode'];
}

/** A deleted object only has Events, for a while. Throws NodepoolError if nothing of that name is found. */
export async function readTimeline({ kind, name }: TimelineSubject, deps: TimelineDeps): Promise<Timeline> {
  const pools = await deps.cluster.pools.list();
  const pool = pools.find(({ metadata }) => metadata.name === name);
  if (kind !== 'Node' && pool !== undefined) return ofPool(pool, pools, deps);
  const events = await permitted(deps.events.list());
  const node = kind === 'NodePool' ? undefined : await ofNode(name, pools, events, deps);
  if (node !== undefined) return node;
  const about = kind === 'Node' ? [] : itemsOf(events).filter(event => event.pool === name);
  if (about.length > 0) return timelineOf({ kind: 'NodePool', name }, about.map(ofPoolEvent), { denied: [events] });
  // Last, because the user did not mean a node whose name begins with the name of a deleted pool.
  const short = kind === 'NodePool' ? undefined : await ofShortName(name, pools, events, deps);
  if (short !== undefined) return short;
  if (kind === 'Node') throw nodesNotFound([name]);
  const known = pools.map(({ metadata }) => metadata.name);
  throw kind === undefined ? neither(name, known) : poolNotFound('history', [name], { pools: known });
}

async function ofPool(pool: RawPool, pools: RawPool[], deps: TimelineDeps): Promise<Timeline> {
  const { name, uid } = pool.metadata;
  const [nodes, events, ended, revisions] = await allPermitted([
    deps.cluster.nodes.list(),
    permitted(deps.events.list(name)),
    permitted(deps.events.listAboutNodes(MAINTENANCE_ENDED)),
    permitted(deps.cluster.revisions.list(name)),
  ]);
  const state = new ClusterState(
    pools.map(each => coercePool(each)),
    nodes,
    [],
  );
  const owned = state.managedNodes(name);
  const { read, unread } = await readTouched(owned, deps);
  const isOwn = ({ poolUid = '' }: PoolEventRecord) => poolUid === '' || poolUid === uid;
  const entries = [
    ...registrations(owned),
    ...read,
    ...poolEntries(pool, poolRevisions(pool, itemsOf(revisions))),
    ...itemsOf(events).filter(isOwn).map(ofPoolEvent),
    ...itemsOf(ended)
      .filter(({ node, uid }) => owned.some(each => each.name === node && each.uid === uid))
      .map(event => eventEntry(event, { node: event.node })),
  ];
  const hasNamesake = state.node(name) !== undefined;
  const ofEarlier = itemsOf(events).filter(event => !isOwn(event)).length;
  const rest = { denied: [events, ended, revisions], unread, hasNamesake, ofEarlier };
  return timelineOf({ kind: 'NodePool', name }, entries, rest);
}

/** Of the only node whose name begins with this name and a dot. */
async function ofShortName(
  name: string,
  pools: readonly RawPool[],
  events: Permitted<PoolEventRecord[]>,
  deps: TimelineDeps,
) {
  const nodes = await deps.cluster.nodes.list().catch(ifRefused([]));
  const full = fullName(
    name,
    nodes.map(node => node.name),
  );
  return full === undefined || full === name ? undefined : ofNode(full, pools, events, deps);
}

/** Undefined if neither the node nor an Event about it exists. */
async function ofNode(
  name: string,
  pools: readonly RawPool[],
  ofPools: Permitted<PoolEventRecord[]>,
  deps: TimelineDeps,
): Promise<Timeline | undefined> {
  const [dated, events] = await Promise.all([deps.datedNode(name), permitted(deps.events.listAboutNode(name))]);
  if (dated === undefined && itemsOf(events).length === 0) return undefined;
  const record = parseRecord(dated?.node.record);
  const state = new ClusterState(
    pools.map(pool => coercePool(pool)),
    dated === undefined ? [] : [dated.node],
    [],
  );
  const owner = record?.pool ?? state.ownership(name)?.owner;
  const about = itemsOf(events);
  const named = itemsOf(ofPools).filter(({ note }) => isNamedIn(note, name));
  const isOwn = (event: { lastSeen: string; uid?: string | undefined }) =>
    dated === undefined || !isOfEarlier(event, dated.node);
  const entries = [
    ...(dated === undefined ? [] : nodeEntries(dated, owner === undefined ? undefined : state.pool(owner))),
    ...about.filter(isOwn).map(event => eventEntry(sinceNode(event, dated?.node), { node: name })),
    ...named.filter(isOwn).map(event => eventEntry(sinceNode(event, dated?.node), { node: name, pool: event.pool })),
  ];
  const ofEarlier = [...about, ...named].filter(event => !isOwn(event)).length;
  return timelineOf({ kind: 'Node', name }, entries, { denied: [ofPools, events], ofEarlier });
}

/** Whether it is about an earlier node of that name. Kubelets use the name as UID; pool Events have no UID. */
function isOfEarlier({ uid = '', lastSeen }: { uid?: string | undefined; lastSeen: string }, node: Node): boolean {
  if (uid !== '' && uid !== node.name) return uid !== node.uid;
  return Date.parse(lastSeen) < createdAt(node);
}

/** If the Event began with an earlier node of that name, it is unknown how many occurrences are about this node. */
function sinceNode<T extends { firstSeen: string; count: number }>(event: T, node: Node | undefined): T {
  const isOlder = node !== undefined && Date.parse(event.firstSeen) < createdAt(node);
  return isOlder ? { ...event, count: 1 } : event;
}

/** Reads members that others changed or cordoned; if there are many, only the first. */
async function readTouched(
  owned: readonly Node[],
  deps: TimelineDeps,
): Promise<{ read: TimelineEntry[]; unread: number }> {
  const records = new RecordCache();
  const touched = owned.filter(node => {
    const record = node.record === undefined ? undefined : records.read(node.record);
    return (
      node.unschedulable ||
      node.maintenance !== undefined ||
      (record !== undefined && driftedFrom(record, node).length > 0)
    );
  });
  const read = await Promise.all(
    touched.slice(0, MAX_READ).map(async node => {
      // A user who may list nodes may not be allowed to get one; the differences are known anyway.
      const dated = await permitted(deps.datedNode(node.name));
      const found = 'value' in dated ? dated.value : { node, managedFields: [], conditions: [] };
      return found === undefined ? [] : memberEntries(found);
    }),
  );
  return { read: read.flat(), unread: Math.max(0, touched.length - MAX_READ) };
}

/** Nodes of a pool that registered within a minute of each other share an entry, with the last time. */
function registrations(owned: readonly Node[]): TimelineEntry[] {
  const dated = owned.filter(({ creationTimestamp }) => creationTimestamp !== '');
  const groups: Node[][] = [];
  for (const node of dated.toSorted((a, b) => createdAt(a) - createdAt(b))) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && createdAt(node) - createdAt(last) < TOGETHER_MS) groups.at(-1)?.push(node);
    else groups.push([node]);
  }
  return groups.map(nodes => {
    const names = nodes.map(({ name }) => name).toSorted();
    return {
      ...{ time: nodes.at(-1)?.creationTimestamp, what: 'NodeRegistered', who: undefined, sources: ['object'] },
      detail: `${plural(names.length, 'node')} registered: ${firstFew(names, MAX_NAMED)}`,
    };
  });
}

const MAX_NAMED = 5;

function createdAt({ creationTimestamp }: Node): number {
  return Date.parse(creationTimestamp);
}

function timelineOf(
  subject: Timeline['subject'],
  entries: readonly TimelineEntry[],
  {
    denied,
    unread = 0,
    hasNamesake = false,
    ofEarlier = 0,
  }: Partial<Timeline> & { denied: readonly Permitted<unknown>[] },
): Timeline {
  const about = subject.kind === 'NodePool' ? { pool: subject.name } : { node: subject.name };
  const whole = entries.flatMap(withStart).map(entry => ({ ...entry, ...about }));
  const forbidden = denied.flatMap(each => ('forbidden' in each ? [each.forbidden] : []));
  // Two requests may lack the same permission.
  const once = new Map(forbidden.map(error => [error.oneLine, error]));
  return {
    ...{ subject, entries: sortEntries(mergeEntries(whole)), unread },
    ...{ forbidden: [...once.values()], hasNamesake, ofEarlier },
  };
}

/** Begin and end of a maintenance, by the text of the Event: see endedText(). */
const MAINTENANCE = /^(.*) the maintenance by (.+?) since (\S+?Z)(?:, planned until (\S+?Z))?(?:: (.*))?$/s;

/** The annotation of an ended maintenance is gone; the Event also says when it began. */
function withStart(entry: TimelineEntry): TimelineEntry[] {
  const [, ended, owner, time, until, reason] =
    MAINTENANCE.exec(entry.what === MAINTENANCE_ENDED ? entry.detail : '') ?? [];
  if (ended === undefined || owner === undefined || time === undefined) return [entry];
  const end = until === undefined ? '' : ` until ${until}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  const detail = `cordoned by ${owner}${end}${why}`;
  const begin: TimelineEntry = { time, what: 'Maintenance', who: owner, detail, sources: entry.sources };
  // Without the start, the nodes of one uncordon share a line.
  return [
    { ...begin, node: entry.node },
    { ...entry, detail: `${ended} the maintenance by ${owner}${why}` },
  ];
}

function ofPoolEvent(event: PoolEventRecord): TimelineEntry {
  return eventEntry(event, { pool: event.pool });
}

function itemsOf<T>(read: Permitted<T[]>): T[] {
  return 'value' in read ? read.value : [];
}

function neither(name: string, pools: readonly string[]): NodepoolError {
  const meant = suggest(name, pools);
  if (meant !== undefined)
    return new NodepoolError('input', `no pool or node is named "${name}"; did you mean "${meant}"?`);
  const next = 'list the pools with `kubectl nodepool get`, and the nodes with `kubectl get nodes`';
  return new NodepoolError('input', `no pool or node is named "${name}"`, next);
}

// Entries from a pool itself: its managedFields, its conditions and its revisions.

/** Maps in the spec; each key is a field of its own. */
const MAPS = ['annotations', 'labels', 'nodeSelector'];
/** Maximum depth of nested objects, as in revisions.ts. */
const MAX_DEPTH = 500;

/** In their order within a second. @param revisions of this pool, oldest first */
export function poolEntries(pool: RawPool, revisions: readonly ControllerRevision[]): TimelineEntry[] {
  const fields = readManagedFields((pool.metadata as { managedFields?: unknown }).managedFields);
  return [...lifeEntries(pool, fields), ...revisionEntries(revisions), ...conditionEntries(pool, fields)].map(
    entry => ({ ...entry, pool: pool.metadata.name }),
  );
}

function lifeEntries({ metadata, status }: RawPool, fields: readonly ManagedFields[]): TimelineEntry[] {
  const { creationTimestamp, deletionTimestamp } = metadata;
  const first = creatorOf(fields, creationTimestamp);
  const created: TimelineEntry = {
    ...{ time: creationTimestamp, what: 'PoolCreated', who: first?.manager },
    detail: first === undefined ? 'the pool was created' : `last wrote ${firstKeys(pathsOf(first))}`,
    sources: first === undefined ? ['object'] : ['object', 'managedFields'],
  };
  const writes = fields
    .filter(entry => entry !== first)
    .flatMap((entry): TimelineEntry[] => {
      const { time, manager: who, subresource } = entry;
      const sources = ['managedFields'] as const;
      if (subresource === 'status') {
        const detail = `status ${status?.status ?? 'unknown'}`;
        return [{ time, what: 'StatusWritten', who, detail, sources, sameAs: NODE_WRITES }];
      }
      const paths = pathsOf(entry);
      if (paths.length === 0) return [];
      const what = paths.some(path => path.startsWith('spec.')) ? 'SpecWritten' : 'MetadataWritten';
      return [{ time, what, who, detail: `last wrote ${firstKeys(paths)}`, sources }];
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

function conditionEntries({ status }: RawPool, fields: readonly ManagedFields[]): TimelineEntry[] {
  const who = fields.find(entry => managedAt(entry, ['status', 'conditions']) !== undefined)?.manager;
  return (status?.conditions ?? []).map(({ type, status: value, reason, message, lastTransitionTime: time }) => ({
    ...{ time, what: reason || type, who, detail: [`${type}=${value}`, message].filter(Boolean).join(': ') },
    sources: ['condition'] as const,
    // The Event of a failed write has another reason.
    sameAs: [reason === 'WriteFailed' ? 'ReconcileFailed' : reason],
    isWarning: (type === 'Applied' && value === 'False') || (type === 'Conflict' && value === 'True'),
  }));
}

/**
 * The first revision has no earlier spec, and an undo gives an earlier revision the highest number. First saves of such
 * revisions come first: entries of the same second keep this order.
 */
function revisionEntries(revisions: readonly ControllerRevision[]): TimelineEntry[] {
  const sources = ['ControllerRevision'] as const;
  const firstSaves: TimelineEntry[] = [];
  const saves = revisions.map((each, at): TimelineEntry => {
    const { creationTimestamp: time } = each.metadata;
    const [writer] = readManagedFields((each.metadata as { managedFields?: unknown }).managedFields);
    const who = writer?.manager;
    const cause = causeOf(each);
    const detail = `revision ${each.revision}: ${changesText(revisions[at - 1], each)}${cause === undefined ? '' : `; cause: ${cause}`}`;
    if (!isRaised(each, revisions.slice(0, at), writer?.time))
      return { time, what: 'SpecChanged', who, detail, sources };
    const kept = `saved the spec that was restored later as revision ${each.revision}`;
    firstSaves.push({ time, what: 'SpecChanged', who, detail: kept, sources });
    return { time: writer?.time, what: 'SpecRestored', who, detail, sources: [...sources, 'managedFields'] };
  });
  return [...firstSaves, ...saves];
}

/** Whether an undo has raised its number. @param lower revisions with lower numbers @param written last write */
function isRaised(
  { metadata, revision }: ControllerRevision,
  lower: readonly ControllerRevision[],
  written: string | undefined,
): boolean {
  const created = metadata.creationTimestamp;
  if (lower.some(each => isAfter(each.metadata.creationTimestamp, created))) return true;
  // Times have whole seconds. Of a tie, it is the one that was written again and left a gap in the numbers.
  const isTied = lower.some(each => each.metadata.creationTimestamp === created);
  return isTied && isAfter(written, created) && lower.length < revision - 1;
}

function isAfter(a: string | undefined, b: string | undefined): boolean {
  return a !== undefined && b !== undefined && Date.parse(a) > Date.parse(b);
}

function changesText(before: ControllerRevision | undefined, after: ControllerRevision): string {
  if (before === undefined) return 'the earliest spec that `rollout undo` can restore';
  if ([before, after].some(({ data }) => isDeep(data))) return 'nested too deeply to compare';
  const changes = specChanges(specOf(before), specOf(after)).map(specChangeText);
  return changes.length === 0 ? 'no change' : firstKeys(changes);
}

/** Iterative: the server accepts thousands of levels in fields that a CRD does not define. */
function isDeep(value: unknown): boolean {
  let level = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) return true;
    level = level.flatMap(each => (typeof each === 'object' && each !== null ? Object.values(each) : []));
  }
  return false;
}
