/** What is known of the past of a pool or a node, from Events, managedFields, conditions and ControllerRevisions. */
import { collectGarbage } from '../../controller/collect.ts';
import { coercePool } from '../../nodepool/coerce.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { firstFew } from '../../nodepool/plural.ts';
import { parseRecord } from '../../nodepool/record.ts';
import { RecordCache } from '../../nodepool/record-cache.ts';
import { ownRevisions } from '../../nodepool/revisions.ts';
import { suggest } from '../../nodepool/suggest.ts';
import type { Node } from '../../nodepool/types.ts';
import { ClusterState } from '../../reconciler/cluster-state.ts';
import type { ControllerRevisionsClient, NodePoolsClient, NodesClient } from '../../reconciler/ports.ts';
import { MAINTENANCE_ENDED } from '../maintenance.ts';
import { nodesNotFound, poolNotFound } from '../not-found.ts';
import { allPermitted, type Permitted, permitted } from '../permitted.ts';
import type { Connection, EventsPort, PoolEventRecord, RawPool } from '../ports.ts';
import { eventEntry, type HistoryEntry } from './entry.ts';
import { isNamedIn } from './named-in.ts';
import { driftedFrom, memberEntries, nodeEntries } from './node-entries.ts';
import { merged, ordered } from './order.ts';
import { poolEntries } from './pool-entries.ts';

export interface Subject {
  /** Undefined: the pool of that name, or else the node. */
  kind: 'NodePool' | 'Node' | undefined;
  name: string;
}

export interface History {
  subject: { kind: 'NodePool' | 'Node'; name: string };
  /** The oldest first; those without a time last. */
  entries: HistoryEntry[];
  /** Members that differ or are cordoned and were not read: of them it is not said who did that. */
  unread: number;
  /** What the user may not read, and is left out. */
  forbidden: NodepoolError[];
  /** Of a pool: a node has the same name. */
  hasNamesake: boolean;
  /** Events about an earlier pool or node of the same name, which are left out. */
  ofEarlier: number;
}

export interface HistoryDeps {
  cluster: {
    pools: Pick<NodePoolsClient, 'list'>;
    nodes: Pick<NodesClient, 'list'>;
    revisions: Pick<ControllerRevisionsClient, 'list'>;
  };
  events: Pick<EventsPort, 'list' | 'listAboutNode' | 'listAboutNodes'>;
  datedNode: Connection['datedNode'];
}

/** One read a node, as in drift-setters.ts. */
const MAX_READ = 50;

/**
 * Of a deleted pool or node only the Events are left, while the server keeps them.
 * Throws NodepoolError where there is neither an object of that name nor an Event about it.
 */
export async function history({ kind, name }: Subject, deps: HistoryDeps): Promise<History> {
  const pools = await deps.cluster.pools.list();
  const pool = pools.find(({ metadata }) => metadata.name === name);
  if (kind !== 'Node' && pool !== undefined) return ofPool(pool, pools, deps);
  const events = await permitted(deps.events.list());
  if (kind !== 'NodePool') {
    const found = await ofNode(name, pools, events, deps);
    if (found !== undefined) return found;
    if (kind === 'Node') throw nodesNotFound([name]);
  }
  const about = itemsOf(events).filter(event => event.pool === name);
  const known = pools.map(({ metadata }) => metadata.name);
  if (about.length > 0) return historyOf({ kind: 'NodePool', name }, about.map(ofPoolEvent), { denied: [events] });
  throw kind === undefined ? neither(name, known) : poolNotFound('history', [name], { pools: known });
}

async function ofPool(pool: RawPool, pools: RawPool[], deps: HistoryDeps): Promise<History> {
  const { name, uid } = pool.metadata;
  const [nodes, events, ended, revisions] = await allPermitted([
    deps.cluster.nodes.list(),
    permitted(deps.events.list(name)),
    permitted(deps.events.listAboutNodes(MAINTENANCE_ENDED)),
    permitted(deps.cluster.revisions.list(name)),
  ]);
  collectGarbage();
  const state = new ClusterState(
    pools.map(each => coercePool(each)),
    nodes,
    [],
  );
  const held = state.held(name);
  const { read, unread } = await readTouched(held, deps);
  const isOwn = ({ poolUid = '' }: PoolEventRecord) => poolUid === '' || poolUid === uid;
  const entries = [
    ...registrations(held),
    ...read,
    ...poolEntries(pool, ownRevisions(pool, itemsOf(revisions))),
    ...itemsOf(events).filter(isOwn).map(ofPoolEvent),
    ...itemsOf(ended)
      .filter(({ node, uid }) => held.some(each => each.name === node && each.uid === uid))
      .map(event => eventEntry(event, { node: event.node })),
  ];
  const hasNamesake = state.node(name) !== undefined;
  const ofEarlier = itemsOf(events).filter(event => !isOwn(event)).length;
  const rest = { denied: [events, revisions], unread, hasNamesake, ofEarlier };
  return historyOf({ kind: 'NodePool', name }, entries, rest);
}

/** Undefined where there is neither the node nor an Event about it. */
async function ofNode(
  name: string,
  pools: readonly RawPool[],
  ofPools: Permitted<PoolEventRecord[]>,
  deps: HistoryDeps,
): Promise<History | undefined> {
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
  return historyOf({ kind: 'Node', name }, entries, { denied: [ofPools, events], ofEarlier });
}

/**
 * Whether the Event is about a node that had the name before. A kubelet gives the name as UID, and notes of pools have none:
 * these are by their time, of which the clock is their reporter's.
 */
function isOfEarlier({ uid = '', lastSeen }: { uid?: string | undefined; lastSeen: string }, node: Node): boolean {
  if (uid !== '' && uid !== node.name) return uid !== node.uid;
  return Date.parse(lastSeen) < createdAt(node);
}

/** Of an Event that began with an earlier node of the name, nobody knows how many are about this one. */
function sinceNode<T extends { firstSeen: string; count: number }>(event: T, node: Node | undefined): T {
  const isOlder = node !== undefined && Date.parse(event.firstSeen) < createdAt(node);
  return isOlder ? { ...event, count: 1 } : event;
}

/** The members that somebody changed or cordoned; of many the first ones. */
async function readTouched(
  held: readonly Node[],
  deps: HistoryDeps,
): Promise<{ read: HistoryEntry[]; unread: number }> {
  const records = new RecordCache();
  const touched = held.filter(node => {
    const record = node.record === undefined ? undefined : records.read(node.record);
    return (
      node.unschedulable ||
      node.maintenance !== undefined ||
      (record !== undefined && driftedFrom(record, node).length > 0)
    );
  });
  const read = await Promise.all(
    touched.slice(0, MAX_READ).map(async node => {
      // A user who may list nodes may not get one: what differs is known without it.
      const dated = await permitted(deps.datedNode(node.name));
      const found = 'value' in dated ? dated.value : { node, managedFields: [], conditions: [] };
      return found === undefined ? [] : memberEntries(found);
    }),
  );
  return { read: read.flat(), unread: Math.max(0, touched.length - MAX_READ) };
}

/** The nodes of a pool that registered within a minute of each other share an entry, with the time of the last one. */
function registrations(held: readonly Node[]): HistoryEntry[] {
  const dated = held.filter(({ creationTimestamp }) => creationTimestamp !== '');
  const groups: Node[][] = [];
  for (const node of dated.toSorted((a, b) => createdAt(a) - createdAt(b))) {
    const last = groups.at(-1)?.at(-1);
    if (last !== undefined && createdAt(node) - createdAt(last) < TOGETHER_MS) groups.at(-1)?.push(node);
    else groups.push([node]);
  }
  return groups.map(nodes => {
    const names = nodes.map(({ name }) => name).toSorted();
    const what = names.length === 1 ? 'node of the pool was' : 'nodes of the pool were';
    return {
      ...{ time: nodes.at(-1)?.creationTimestamp, what: 'NodeRegistered', who: undefined, sources: ['object'] },
      detail: `${names.length} ${what} created: ${firstFew(names, MAX_NAMED)}`,
    };
  });
}

const TOGETHER_MS = 60_000;
const MAX_NAMED = 5;

function createdAt({ creationTimestamp }: Node): number {
  return Date.parse(creationTimestamp);
}

function historyOf(
  subject: History['subject'],
  entries: readonly HistoryEntry[],
  {
    denied,
    unread = 0,
    hasNamesake = false,
    ofEarlier = 0,
  }: Partial<History> & { denied: readonly Permitted<unknown>[] },
): History {
  const about = subject.kind === 'NodePool' ? { pool: subject.name } : { node: subject.name };
  const whole = entries.map(entry => ({ ...entry, ...about }));
  const forbidden = denied.flatMap(each => ('forbidden' in each ? [each.forbidden] : []));
  return { subject, entries: ordered(merged(whole)), unread, forbidden, hasNamesake, ofEarlier };
}

function ofPoolEvent(event: PoolEventRecord): HistoryEntry {
  return eventEntry(event, { pool: event.pool });
}

function itemsOf<T>(read: Permitted<T[]>): T[] {
  return 'value' in read ? read.value : [];
}

function neither(name: string, pools: readonly string[]): NodepoolError {
  const meant = suggest(name, pools);
  if (meant !== undefined)
    return new NodepoolError('input', `neither a nodepool nor a node is named "${name}"; did you mean "${meant}"?`);
  const next = 'list the pools with `kubectl nodepool get`, and the nodes with `kubectl get nodes`';
  return new NodepoolError('input', `neither a nodepool nor a node is named "${name}"`, next);
}
