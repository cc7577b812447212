/** events.k8s.io/v1 Events about pools: those of the reconciler, and on reads also core/v1 Events of others. */
import { hostname } from 'node:os';
import type { EventSink } from '../../controller/recorder.ts';
import type { Watched } from '../../controller/source.ts';
import { FIELD_MANAGER } from '../../nodepool/managed-fields.ts';
import { API_VERSION, CONTROLLER, GROUP, type Node, type NodePool } from '../../nodepool/types.ts';
import type { Api } from '../api/api.ts';
import { assertName, EVENTS, NODE_POOLS, NODES } from '../api/resource.ts';
import { listWatch } from '../api/watch.ts';
import type { ClusterPort, PoolEvent } from '../cluster.ts';
import type { Query } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';
import { eventBody, eventSink, type Reporter, type WireEvent } from './event-sink.ts';

export interface EventSource {
  hostname: string;
  now: () => Date;
  /** Unique among the events of the pool: 16 hexadecimal digits. */
  suffix?: () => string;
}

/** The global crypto: reads create no Events, and should not load node:crypto. */
function randomSuffix(): string {
  return Buffer.from(crypto.getRandomValues(new Uint8Array(8))).toString('hex');
}

/** The Event to create about a pool. */
export function toEvent(
  { metadata, apiVersion, kind }: NodePool,
  event: PoolEvent,
  { hostname, now, suffix = randomSuffix }: EventSource,
): WireEvent {
  const { name, uid, resourceVersion } = metadata;
  const regarding = {
    apiVersion: apiVersion || API_VERSION,
    kind: kind || NODE_POOLS.kind,
    name,
    ...(uid === undefined ? {} : { uid }),
    ...(resourceVersion === undefined ? {} : { resourceVersion }),
  };
  return eventBody({ ...event, regarding, first: now(), id: suffix() }, commandOn(hostname));
}

/** The Event to create about a node. */
export function toNodeEvent(
  { name, uid }: Pick<Node, 'name' | 'uid'>,
  event: PoolEvent,
  { hostname, now, suffix = randomSuffix }: EventSource,
): WireEvent {
  const regarding = { apiVersion: NODES.version, kind: NODES.kind, name, uid };
  return eventBody({ ...event, regarding, first: now(), id: suffix() }, commandOn(hostname));
}

/** A command that a person or a script runs; the watch reports as CONTROLLER. */
function commandOn(hostname: string): Reporter {
  return { controller: FIELD_MANAGER, instance: `${FIELD_MANAGER}-${hostname}` };
}

/** Of an Event of either API: core/v1 has count and times in the deprecated fields. */
export function toRecord(event: WireEvent): PoolEventRecord {
  const { regarding, series, metadata } = event;
  const created = event.eventTime || metadata?.creationTimestamp || '';
  const firstSeen = event.deprecatedFirstTimestamp || created;
  return {
    pool: regarding?.name ?? '',
    poolUid: regarding?.uid,
    type: event.type ?? '',
    reason: event.reason ?? '',
    note: event.note ?? '',
    firstSeen,
    lastSeen: series?.lastObservedTime || event.deprecatedLastTimestamp || firstSeen,
    count: series?.count ?? (event.deprecatedCount || 1),
    reporter: event.reportingController || event.deprecatedSource?.component || '',
  };
}

function toNodeRecord(event: WireEvent): NamedNodeEventRecord {
  const { pool: node, poolUid: uid, ...record } = toRecord(event);
  return { ...record, node, uid };
}

export function eventWriter(api: Api, source: EventSource): ClusterPort['createEvent'] {
  return async (pool, recorded) => {
    const event = toEvent(pool, recorded, source);
    // Replayable: the name is unique.
    await api.create(EVENTS, event, event.metadata?.name ?? '', { replayable: true });
  };
}

/** An item of a list has neither apiVersion nor kind; kubectl prints both. */
function toObject(event: WireEvent): PoolEventObject {
  const { metadata, ...rest } = event;
  const named = { ...metadata, name: metadata?.name ?? '' };
  return { ...toRecord(event), object: { apiVersion: 'events.k8s.io/v1', kind: 'Event', ...rest, metadata: named } };
}

export function eventsPort(api: Api, transport: Transport): EventsPort {
  // Async: a name that is none rejects, as a request that the server refuses.
  const list = async <T>(map: (event: WireEvent) => T, pool: string | undefined) =>
    api.list(EVENTS, (event: WireEvent) => (isOurs(event) ? map(event) : undefined), aboutPools(pool));
  const watch = <T>(map: (event: WireEvent) => T, pool: string | undefined) => ({
    source: listWatch(transport, EVENTS, aboutPools(pool)),
    transform: (raw: unknown) => (isOurs(raw as WireEvent) ? map(raw as WireEvent) : undefined),
  });
  return {
    list: pool => list(toRecord, pool),
    listAboutNodes: async reason => {
      const about = { fieldSelector: `regarding.kind=${NODES.kind},reason=${reason}` };
      return api.list(EVENTS, (event: WireEvent) => (isCore(event) ? toNodeRecord(event) : undefined), about);
    },
    listAboutNode: async node => {
      assertName(NODES.kind, node);
      const about = { fieldSelector: `regarding.kind=${NODES.kind},regarding.name=${node}` };
      return api.list(EVENTS, (event: WireEvent) => (isCore(event) ? toNodeRecord(event) : undefined), about);
    },
    watch: pool => watch(toRecord, pool),
    listObjects: pool => list(toObject, pool),
    watchObjects: pool => watch(toObject, pool),
    sink: () => eventSink(api, CONTROLLER, `${CONTROLLER}-${hostname()}`),
  };
}

/** Selects events about one pool, or about any. */
function aboutPools(pool: string | undefined): Query {
  if (pool !== undefined) assertName(NODE_POOLS.kind, pool);
  const name = pool === undefined ? '' : `,regarding.name=${pool}`;
  return { fieldSelector: `regarding.kind=${NODE_POOLS.kind}${name}` };
}

/** Other products have a kind NodePool as well. */
function isOurs({ regarding }: WireEvent): boolean {
  return !regarding?.apiVersion || regarding.apiVersion.startsWith(`${GROUP}/`);
}

/** Other products have a kind Node as well; kubelets leave out the version. */
function isCore({ regarding }: WireEvent): boolean {
  return !regarding?.apiVersion || regarding.apiVersion === NODES.version;
}

/** One event of a pool, from events.k8s.io/v1 or core/v1 (the server serves both from one store). */
export interface PoolEventRecord {
  pool: string;
  poolUid: string | undefined;
  type: string;
  reason: string;
  note: string;
  /** RFC 3339. */
  lastSeen: string;
  firstSeen: string;
  count: number;
  reporter: string;
}

/** One event of a node. */
export type NodeEventRecord = Omit<PoolEventRecord, 'pool' | 'poolUid'>;

/** With the node that it is about, of that UID. */
export interface NamedNodeEventRecord extends NodeEventRecord {
  node: string;
  uid: string | undefined;
}

/** With the Event as the server has it. */
export interface PoolEventObject extends PoolEventRecord {
  object: { metadata: { name: string; creationTimestamp?: string } };
}

export interface EventsPort {
  /** All events about NodePools, or about one. Unsorted. */
  list(pool?: string): Promise<PoolEventRecord[]>;
  /** All events about the node, and about earlier ones of its name. Unsorted. */
  listAboutNode(node: string): Promise<NamedNodeEventRecord[]>;
  /** All events about nodes with the reason. Unsorted. */
  listAboutNodes(reason: string): Promise<NamedNodeEventRecord[]>;
  /** As list(). Events of another kind NodePool are transformed to undefined. */
  watch(pool?: string): Watched<PoolEventRecord | undefined>;
  /** As list() and watch(), with the objects. */
  listObjects(pool?: string): Promise<PoolEventObject[]>;
  watchObjects(pool?: string): Watched<PoolEventObject | undefined>;
  /** Where a controller process sends its events. */
  sink(): EventSink;
}
