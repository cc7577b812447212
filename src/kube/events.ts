/** events.k8s.io/v1 Events about pools: written by the reconciler, read with those that others wrote through core/v1. */
import { randomBytes } from 'node:crypto';
import type { EventsV1Event } from '@kubernetes/client-node';
import { cutBytes } from '../nodepool/cut-bytes.ts';
import { API_VERSION, GROUP, type NodePool } from '../nodepool/types.ts';
import type { EventsPort, PoolEventRecord } from '../operations/ports.ts';
import type { PoolEvent } from '../reconciler/ports.ts';
import type { Api, Query } from './api.ts';
import { EVENTS, NODE_POOLS } from './resource.ts';
import type { Wire } from './wire.ts';

const CONTROLLER = 'nodepool-controller';
/** The server's limits, in bytes (events.k8s.io validation). */
const REASON_LIMIT = 128;
const NOTE_LIMIT = 1024;
const INSTANCE_LIMIT = 128;
/** Of an object's name. */
const NAME_LIMIT = 253;

export type WireEvent = Wire<EventsV1Event>;

export interface EventSource {
  hostname: string;
  now: () => Date;
  /** 16 hexadecimal digits that no other event of the pool has. */
  suffix?: () => string;
}

/** The Event to create. Texts longer than the server takes are cut, never refused. */
export function toEvent(
  { metadata, apiVersion, kind }: NodePool,
  { type, reason, action, note }: PoolEvent,
  { hostname, now, suffix = () => randomBytes(8).toString('hex') }: EventSource,
): WireEvent {
  const { name, uid, resourceVersion } = metadata;
  const prefix = name.slice(0, NAME_LIMIT - 17).replace(/[^a-z0-9]+$/, '');
  return {
    apiVersion: 'events.k8s.io/v1',
    kind: 'Event',
    metadata: { name: `${prefix}.${suffix()}`, namespace: 'default' },
    eventTime: now().toISOString().replace('Z', '000Z'),
    reportingController: CONTROLLER,
    reportingInstance: cutBytes(`${CONTROLLER}-${hostname}`, INSTANCE_LIMIT),
    action: cutBytes(action, REASON_LIMIT),
    reason: cutBytes(reason, REASON_LIMIT),
    type,
    note: cutBytes(note, NOTE_LIMIT),
    regarding: {
      apiVersion: apiVersion || API_VERSION,
      kind: kind || NODE_POOLS.kind,
      name,
      ...(uid === undefined ? {} : { uid }),
      ...(resourceVersion === undefined ? {} : { resourceVersion }),
    },
  };
}

/** One record from either API: core/v1's counts and times arrive in the deprecated fields. */
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

/** Writes one. A name of its own makes a second sending harmless. */
export async function createEvent(api: Api, event: WireEvent, query: Query): Promise<void> {
  await api.create(EVENTS, event, event.metadata?.name ?? '', query, true);
}

export function eventsPort(api: Api): EventsPort {
  return {
    async list(pool) {
      const events = await api.list(EVENTS, (event: WireEvent) => event, aboutPools(pool));
      return events.filter(isOurs).map(toRecord);
    },
  };
}

/** Narrows lists and watches of events to those about one pool, or about any. */
export function aboutPools(pool: string | undefined): Query {
  const name = pool === undefined ? '' : `,regarding.name=${pool}`;
  return { fieldSelector: `regarding.kind=${NODE_POOLS.kind}${name}` };
}

/** Other products have a kind NodePool too. */
export function isOurs({ regarding }: WireEvent): boolean {
  return !regarding?.apiVersion || regarding.apiVersion.startsWith(`${GROUP}/`);
}
