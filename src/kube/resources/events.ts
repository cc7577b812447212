/** events.k8s.io/v1 Events about pools: those of the reconciler. Reads include core/v1 Events of other reporters. */
import { hostname } from 'node:os';
import type { EventsV1Event } from '@kubernetes/client-node';
import type { EventSink, RecordedEvent, SinkResult } from '../../controller/recorder.ts';
import type { WatchedResource } from '../../controller/source.ts';
import { FIELD_MANAGER } from '../../nodepool/managed-fields.ts';
import { cutBytes } from '../../nodepool/text.ts';
import { API_VERSION, CONTROLLER, GROUP, type Node, type NodePool } from '../../nodepool/types.ts';
import { type Api, MERGE_PATCH } from '../api/api.ts';
import { assertName, EVENTS, NODE_POOLS, NODES } from '../api/resource.ts';
import { missingObject, parseStatus, reasonOf } from '../api/status.ts';
import { listWatch } from '../api/watch.ts';
import type { ClusterPort, PoolEvent } from '../cluster.ts';
import type { Query } from '../transport/request.ts';
import { type ApiResponse, retryAfterMs } from '../transport/response.ts';
import type { Transport } from '../transport/transport.ts';
import type { Wire } from '../wire.ts';
import { microTime } from './leases.ts';

export interface EventSource {
  hostname: string;
  now: () => Date;
  /** Unique among the events of the pool: 16 hexadecimal digits. */
  suffix?: () => string;
}

/** The global crypto, because commands that only read must not load node:crypto. */
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

export function toNodeEvent(
  { name, uid }: Pick<Node, 'name' | 'uid'>,
  event: PoolEvent,
  { hostname, now, suffix = randomSuffix }: EventSource,
): WireEvent {
  const regarding = { apiVersion: NODES.version, kind: NODES.kind, name, uid };
  return eventBody({ ...event, regarding, first: now(), id: suffix() }, commandOn(hostname));
}

/** A command that a person or script runs, including `reconcile --watch` on a laptop. @param hostname `alice@laptop` */
export function commandOn(hostname: string): Reporter {
  return { controller: FIELD_MANAGER, instance: `${FIELD_MANAGER}-${hostname}` };
}

/** The controller in a cluster. @param hostname name of its pod */
export function controllerOn(hostname: string): Reporter {
  return { controller: CONTROLLER, instance: `${CONTROLLER}-${hostname}` };
}

/** Converts an Event of either API: core/v1 has count and times in the deprecated fields. */
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
    // Replayable, because the name is unique.
    await api.create(EVENTS, event, event.metadata?.name ?? '', { replayable: true });
  };
}

/** List items have neither apiVersion nor kind, but kubectl prints both. */
function toObject(event: WireEvent): PoolEventObject {
  const { metadata, ...rest } = event;
  const named = { ...metadata, name: metadata?.name ?? '' };
  return { ...toRecord(event), object: { apiVersion: 'events.k8s.io/v1', kind: 'Event', ...rest, metadata: named } };
}

/** @param reporter for the events that a watch writes */
export function eventsPort(api: Api, transport: Transport, reporter = commandOn(hostname())): EventsPort {
  // Async, so that an invalid name rejects, like a request that the server refuses.
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
    sink: () => eventSink(api, reporter.controller, reporter.instance),
  };
}

/** Selects events about one pool, or about any pool. */
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

export type NodeEventRecord = Omit<PoolEventRecord, 'pool' | 'poolUid'>;

/** Names the node of that UID which it is about. */
interface NamedNodeEventRecord extends NodeEventRecord {
  node: string;
  uid: string | undefined;
}

export interface PoolEventObject extends PoolEventRecord {
  object: { metadata: { name: string; creationTimestamp?: string } };
}

export interface EventsPort {
  /** All events about NodePools, or about one pool. Unsorted. */
  list(pool?: string): Promise<PoolEventRecord[]>;
  /** All events about the node, including earlier nodes of that name. Unsorted. */
  listAboutNode(node: string): Promise<NamedNodeEventRecord[]>;
  /** All events with this reason about nodes. Unsorted. */
  listAboutNodes(reason: string): Promise<NamedNodeEventRecord[]>;
  /** As list(). Events about another kind NodePool become undefined. */
  watch(pool?: string): WatchedResource<PoolEventRecord | undefined>;
  /** As list() and watch(), with the complete objects. */
  listObjects(pool?: string): Promise<PoolEventObject[]>;
  watchObjects(pool?: string): WatchedResource<PoolEventObject | undefined>;
  /** The sink for events of a controller process. */
  sink(): EventSink;
}

// events.k8s.io/v1 Events of any reporter.

/** The server's limits, in bytes (events.k8s.io validation). */
const REASON_LIMIT = 128;
const NOTE_LIMIT = 1024;
const INSTANCE_LIMIT = 128;
const NAME_LIMIT = 253;

type WireEvent = Wire<EventsV1Event>;

/** One event. `id` makes the name of its object unique. */
interface EventParts extends Omit<RecordedEvent, 'last' | 'count'> {
  regarding: RecordedEvent['regarding'] & { resourceVersion?: string };
}

interface Reporter {
  /** For example `example.com/nodepool-controller`. */
  controller: string;
  /** The process of the controller. */
  instance: string;
}

/** The Event to create. Strings are truncated to the server's limits. */
export function eventBody(parts: EventParts, { controller, instance }: Reporter): WireEvent {
  const { regarding, type, reason, action, note, first } = parts;
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: eventName(parts), namespace: eventNamespace(parts) },
    eventTime: microTime(first),
    reportingController: controller,
    reportingInstance: cutBytes(instance, INSTANCE_LIMIT),
    action: cutBytes(action, REASON_LIMIT),
    reason: cutBytes(reason, REASON_LIMIT),
    type,
    note: cutBytes(note, NOTE_LIMIT),
    regarding,
  };
}

/** The name of the regarding object, truncated, and the id. */
function eventName({ regarding, id }: Pick<EventParts, 'regarding' | 'id'>): string {
  const prefix = regarding.name.slice(0, NAME_LIMIT - id.length - 1).replace(/[^a-z0-9]+$/, '');
  return `${prefix}.${id}`;
}

/** Events of a cluster-scoped object are in `default`, where `kubectl describe` looks. */
function eventNamespace({ regarding }: Pick<EventParts, 'regarding'>): string {
  return regarding.namespace ?? 'default';
}

// The EventSink of a recorder (controller/recorder.ts): events.k8s.io/v1 Events.

/** @param controller as `example.com/nodepool-controller` @param instance the process of the controller */
export function eventSink(api: Api, controller: string, instance: string): EventSink {
  return {
    async create(event) {
      const body = toWireEvent(event, { controller, instance });
      // Replayable, because the name is unique.
      const answer = await api.write(resourceOf(event), { method: 'POST', body }, { replayable: true });
      const result = toResult(answer);
      // A 404 of a create means that the namespace is missing: the recorder must not create the Event again.
      return result.kind === 'missing' ? { kind: 'refused', message: `no namespace ${eventNamespace(event)}` } : result;
    },

    async patch(event) {
      const [name, body] = [eventName(event), { series: seriesOf(event) }];
      const patch = { method: 'PATCH', name, body, contentType: MERGE_PATCH } as const;
      return toResult(await api.write(resourceOf(event), patch, { replayable: true }));
    },
  };
}

function toWireEvent(event: RecordedEvent, reporter: Reporter): WireEvent {
  return { ...eventBody(event, reporter), ...(event.count > 1 ? { series: seriesOf(event) } : {}) };
}

function seriesOf({ count, last }: RecordedEvent) {
  return { count, lastObservedTime: microTime(last) };
}

function resourceOf(event: RecordedEvent) {
  return { ...EVENTS, namespace: eventNamespace(event) };
}

function toResult(answer: ApiResponse): SinkResult {
  const { status, text, headers } = answer;
  if (status < 300) return { kind: 'written' };
  const said = parseStatus(text);
  // The name is unique: an earlier create succeeded, but its response was lost.
  if (said?.reason === 'AlreadyExists') return { kind: 'written' };
  if (missingObject(answer) !== undefined) return { kind: 'missing' };
  const message = reasonOf(answer, said);
  if (status === 429 || status >= 500) return { kind: 'failed', message, retryAfterMs: retryAfterMs(headers) };
  return { kind: 'refused', message };
}
