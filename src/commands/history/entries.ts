/** Entries of a history: types, those derived from a node itself, and how they are merged, sorted and filtered. */

import { activeMaintenance, maintenanceOf, ownerText } from '../../nodepool/drain/maintenance.ts';
import { ownValue } from '../../nodepool/json.ts';
import {
  creatorOf,
  type DatedNode,
  FIELD_MANAGER,
  lastSetter,
  type ManagedFields,
  managedAt,
} from '../../nodepool/managed-fields.ts';
import { keysOf, membershipSelector } from '../../nodepool/membership/selector.ts';
import { type AppliedRecord, parseRecord } from '../../nodepool/plan/record.ts';
import { taintId } from '../../nodepool/spec/taints.ts';
import { firstFew } from '../../nodepool/text.ts';
import { type Node, type NodePool, RECORD_ANNOTATION } from '../../nodepool/types.ts';
import type { TimelineEntry } from '../shared/describe/print-timeline.ts';
import { oldestFirst } from '../shared/describe/print-timeline.ts';

/** Reasons of Events about node writes. */
export const NODE_WRITES = ['NodeJoined', 'NodeLeft', 'NodesUpdated'];

// Entries from a node itself: its managedFields, its conditions, and how it differs from its record.

/** A value that differs from what the pool set. */
export interface DriftedValue {
  /** `label tier`, `taint dedicated:NoSchedule`. */
  subject: string;
  path: string[];
  /** Undefined: the value is gone. */
  live: string | undefined;
  /** Null: the pool removed the value. */
  applied: string | null;
}

/** Maximum number of keys in one detail. */
const MAX_KEYS = 20;

/** Compares with the record only: a later change of the spec is not drift. */
export function driftedFrom({ labels, taints, annotations }: AppliedRecord, node: Node): DriftedValue[] {
  const liveTaints = Object.fromEntries(node.taints.map(taint => [taintId(taint), taint.value ?? '']));
  const differing = (
    kind: string,
    slots: AppliedRecord['labels'],
    live: Readonly<Record<string, string>>,
    path: (key: string) => string[],
  ): DriftedValue[] =>
    [...slots].flatMap(([key, { value }]) => {
      const now = ownValue(live, key);
      if (now === (value ?? undefined)) return [];
      return [{ subject: `${kind} ${key}`, path: path(key), live: now, applied: value }];
    });
  return [
    ...differing('label', labels, node.labels, key => ['metadata', 'labels', key]),
    ...differing('taint', taints, liveTaints, () => ['spec', 'taints']),
    ...differing('annotation', annotations, node.annotations ?? {}, key => ['metadata', 'annotations', key]),
  ];
}

/** @param pool the node's pool, whose selector labels are looked up */
export function nodeEntries(dated: DatedNode, pool: NodePool | undefined): TimelineEntry[] {
  const record = parseRecord(dated.node.record);
  const membership = pool === undefined ? [] : keysOf(membershipSelector(pool));
  return [
    registered(dated),
    ...applied(dated, record, membership),
    ...membershipLabels(dated, record, membership, pool),
    ...driftEntries(dated, record),
    ...cordoned(dated),
    ...conditionEntries(dated),
  ].map(entry => ({ ...entry, node: dated.node.name }));
}

/** For a member in the history of its pool: its drift and its cordon. */
export function memberEntries(dated: DatedNode): TimelineEntry[] {
  const record = parseRecord(dated.node.record);
  return [...driftEntries(dated, record), ...cordoned(dated)].map(entry => ({ ...entry, node: dated.node.name }));
}

function registered({ node, managedFields }: DatedNode): TimelineEntry {
  const { creationTimestamp } = node;
  const first = creatorOf(managedFields, creationTimestamp);
  const time = creationTimestamp === '' ? undefined : creationTimestamp;
  return { time, what: 'NodeRegistered', who: first?.manager, detail: 'the node was created', sources: ['object'] };
}

function applied({ managedFields }: DatedNode, record: AppliedRecord | undefined, membership: readonly string[]) {
  const fields: [subject: string, path: string[]][] = [
    ...[...new Set([...membership, ...(record?.labels.keys() ?? [])])].map((key): [string, string[]] => [
      `label ${key}`,
      ['metadata', 'labels', key],
    ]),
    ...[RECORD_ANNOTATION, ...(record?.annotations.keys() ?? [])].map((key): [string, string[]] => [
      `annotation ${key}`,
      ['metadata', 'annotations', key],
    ]),
  ];
  const taints = [...(record?.taints.keys() ?? [])].map(id => `taint ${id}`);
  return managedFields
    .filter(({ manager, subresource }) => manager === FIELD_MANAGER && subresource === undefined)
    .flatMap((entry): TimelineEntry[] => {
      const keys = fields.filter(([, path]) => managedAt(entry, path) !== undefined).map(([subject]) => subject);
      if (managedAt(entry, ['spec', 'taints']) !== undefined) keys.push(...taints);
      if (keys.length === 0) return [];
      const detail = `last wrote ${firstKeys(keys)}`;
      return [
        {
          ...{ time: entry.time, what: 'NodeWritten', who: entry.manager, detail },
          ...{ pool: record?.pool, sources: ['managedFields'], sameAs: NODE_WRITES },
        },
      ];
    });
}

/** Who set the labels that match the pool, if that was not this program. */
function membershipLabels(
  { node, managedFields }: DatedNode,
  record: AppliedRecord | undefined,
  membership: readonly string[],
  pool: NodePool | undefined,
): TimelineEntry[] {
  const others = managedFields.filter(({ manager }) => manager !== FIELD_MANAGER);
  return membership
    .filter(key => record?.labels.has(key) !== true)
    .flatMap(key => {
      const value = ownValue(node.labels, key);
      const setter = lastSetter(others, ['metadata', 'labels', key]);
      if (value === undefined || setter === undefined) return [];
      const detail = `label ${key}=${value}, a membership label of pool ${pool?.metadata.name}`;
      const { time, manager: who } = setter;
      return [{ time, what: 'MembershipLabel', who, detail, pool: pool?.metadata.name, sources: ['managedFields'] }];
    });
}

function driftEntries({ node, managedFields }: DatedNode, record: AppliedRecord | undefined): TimelineEntry[] {
  if (record === undefined) return [];
  return driftedFrom(record, node).map(({ subject, path, live, applied }): TimelineEntry => {
    const was = applied === null ? 'removed it' : `had set ${quoted(applied)}`;
    const now = live === undefined ? `${subject} is gone` : `${subject} is ${quoted(live)}`;
    const detail = `${now}; pool ${record.pool} ${was}`;
    const entry = { what: 'Drift', detail, pool: record.pool };
    // Nobody is known for a removed label. Taints are one field, whose last writer is the one who removed one.
    const isKnown = live !== undefined || path[0] === 'spec';
    const setter = isKnown ? lastSetter(managedFields, path) : undefined;
    if (setter === undefined) return { ...entry, time: undefined, who: undefined, sources: ['object'] };
    const of = path[0] === 'spec' ? `${detail}; last writer of the taints: ${setter.manager}` : detail;
    return { ...entry, detail: of, time: setter.time, who: setter.manager, sources: ['object', 'managedFields'] };
  });
}

/** The cordon, and its maintenance. */
function cordoned({ node, managedFields }: DatedNode): TimelineEntry[] {
  const path = ['spec', 'unschedulable'];
  const ours = managedFields.find(entry => entry.manager === FIELD_MANAGER && managedAt(entry, path) !== undefined);
  const maintenance = maintenanceEntries(node, ours !== undefined);
  if (!node.unschedulable) return maintenance;
  const { time, manager: who } = lastSetter(managedFields, path) ?? ours ?? {};
  // The annotation, which the same write set, has more details.
  if (ours !== undefined && who === FIELD_MANAGER && activeMaintenance(node) !== undefined) return maintenance;
  const detail = 'the node is unschedulable';
  const sources = who === undefined ? ['object' as const] : ['managedFields' as const];
  return [...maintenance, { time, what: 'Cordoned', who, detail, sources }];
}

function maintenanceEntries(node: Node, isOurs: boolean): TimelineEntry[] {
  const state = maintenanceOf(node);
  if (state === undefined || state.kind === 'unreadable') return [];
  const { owner, since: time, until, reason } = state.maintenance;
  const stale = state.kind === 'active' ? '' : ` (stale: the node is ${state.why})`;
  const end = until === undefined ? '' : ` until ${until}`;
  const detail = `cordoned by ${ownerText(owner)}${end}${reason === undefined ? '' : `: ${reason}`}${stale}`;
  const sources = isOurs ? (['object', 'managedFields'] as const) : (['object'] as const);
  return [{ time, what: 'Maintenance', who: owner.name, detail, sources }];
}

/** Ready, and all other conditions that are True, each with the time of its last change. */
function conditionEntries({ conditions, managedFields }: DatedNode): TimelineEntry[] {
  return conditions
    .filter(({ type, status }) => type === 'Ready' || status === 'True')
    .map(({ type = '', status, reason = '', message = '', lastTransitionTime: time }): TimelineEntry => {
      const what = type === 'Ready' ? (status === 'True' ? 'NodeReady' : 'NodeNotReady') : type;
      const who = managedFields.find(entry => hasCondition(entry, type))?.manager;
      const detail = [`${type}=${status}`, reason, message].filter(Boolean).join(': ');
      const isWarning = what !== 'NodeReady';
      return { time, what, who, detail, sources: ['condition'], sameAs: [what], isWarning };
    });
}

function hasCondition(entry: ManagedFields, type: string): boolean {
  const owned = managedAt(entry, ['status', 'conditions']);
  const key = `k:${JSON.stringify({ type })}`;
  return typeof owned === 'object' && owned !== null && Object.hasOwn(owned, key);
}

/** `a, b and 3 more`. */
export function firstKeys(keys: readonly string[]): string {
  return firstFew(keys, MAX_KEYS);
}

function quoted(value: string): string {
  return JSON.stringify(value);
}

// Merges entries of several sources about one change, and sorts and filters entries.

/** An Event is merged with a write at most this much earlier: the Events of a pool are sent after its last node. */
const SAME_MS = 10_000;
/** managedFields and conditions have whole seconds. */
const SECOND_MS = 1_000;

interface EntryFilter {
  /** Only entries of the last so many milliseconds, and those without a time. */
  sinceMs: number | undefined;
  now: Date;
}

/**
 * Oldest first; those without a time last. Within a second: creation first, the end of a reconcile last. Only Events
 * have fractions of a second: without them, the printed times are in this order too.
 */
export function sortEntries(entries: readonly TimelineEntry[]): TimelineEntry[] {
  const dated = entries.filter(({ time }) => time !== undefined).toSorted(byTime);
  const undated = entries.filter(({ time }) => time === undefined);
  const order = (a: TimelineEntry, b: TimelineEntry) => byTime(a, b) || rankOf(a) - rankOf(b);
  return [...dated.map(toSecond).toSorted(order), ...undated];
}

function toSecond({ time = '', ...entry }: TimelineEntry): TimelineEntry {
  return { ...entry, time: time.replace(/\.\d+/, '') };
}

function rankOf({ what, sources, node }: TimelineEntry): number {
  if (what === 'PoolCreated' || what === 'NodeRegistered') return 0;
  // The status of a pool. Conditions of a node come from its kubelet.
  const isStatus = what === 'StatusWritten' || (node === undefined && sources.join() === 'condition');
  return isStatus ? 2 : 1;
}

/** @param entries from sortEntries() */
export function filterEntries(entries: readonly TimelineEntry[], { sinceMs, now }: EntryFilter): TimelineEntry[] {
  const from = sinceMs === undefined ? Number.NEGATIVE_INFINITY : now.getTime() - sinceMs;
  return entries.filter(({ time }) => time === undefined || !(Date.parse(time) < from));
}

/** @param limit undefined: all */
export function lastEntries(entries: readonly TimelineEntry[], limit: number | undefined): TimelineEntry[] {
  return entries.slice(limit === undefined ? 0 : Math.max(0, entries.length - limit));
}

/** An Event replaces entries of the same object that list its reason in `sameAs` and are at most SAME_MS older. */
export function mergeEntries(entries: readonly TimelineEntry[]): TimelineEntry[] {
  const isEvent = ({ sources }: TimelineEntry) => sources.includes('Event');
  const events = new Map(entries.filter(isEvent).map(event => [event, event]));
  const rest = entries.filter(entry => {
    if (isEvent(entry)) return false;
    const event = [...events.keys()].filter(each => isSame(entry, each)).toSorted(byTime)[0];
    const joined = event && events.get(event);
    if (event === undefined || joined === undefined) return true;
    const sources = [...new Set([...joined.sources, ...entry.sources])];
    events.set(event, { ...joined, who: joined.who ?? entry.who, sources });
    return false;
  });
  return [...rest, ...events.values()];
}

/** Maximum time between two nodes that share a line. */
export const TOGETHER_MS = 60_000;

/** Expects sorted entries. A change of several nodes within a minute of each other becomes one, with the last time. */
export function joinNodes(entries: readonly TimelineEntry[]): TimelineEntry[] {
  const lines: TimelineEntry[][] = [];
  const latest = new Map<string, { entries: TimelineEntry[]; nodes: Set<string | undefined> }>();
  for (const entry of entries.toReversed()) {
    const { time, node, what, who, detail, pool, sources, count } = entry;
    const key = JSON.stringify([what, who, detail, pool, sources, time === undefined]);
    const line = node === undefined || count !== undefined ? undefined : latest.get(key);
    const before = Date.parse(line?.entries.at(-1)?.time ?? '') - Date.parse(time ?? '');
    // A second entry of the same node starts a new line.
    if (line !== undefined && !(before > TOGETHER_MS) && !line.nodes.has(node)) {
      line.entries.push(entry);
      line.nodes.add(node);
      continue;
    }
    const begun = [entry];
    lines.push(begun);
    if (node !== undefined && count === undefined) latest.set(key, { entries: begun, nodes: new Set([node]) });
  }
  return lines.toReversed().flatMap(line => {
    const [last, ...more] = line;
    if (last === undefined || more.length === 0) return line;
    const nodes = line.flatMap(({ node }) => node ?? []).toSorted();
    return { ...last, node: undefined, nodes };
  });
}

function isSame(entry: TimelineEntry, event: TimelineEntry): boolean {
  if (entry.sameAs?.includes(event.what) !== true || entry.time === undefined || event.time === undefined) return false;
  const isOther = entry.node !== undefined && event.node !== undefined && entry.node !== event.node;
  const later = Date.parse(event.time) - Date.parse(entry.time);
  return !isOther && later > -SECOND_MS && later <= SAME_MS;
}

function byTime(a: TimelineEntry, b: TimelineEntry): number {
  return oldestFirst(seen(a), seen(b));
}

function seen({ time = '' }: TimelineEntry): { lastSeen: string } {
  return { lastSeen: time };
}
