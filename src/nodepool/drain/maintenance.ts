/**
 * The maintenance of a node: who has taken it out of service, why, and until when. One annotation, which the patch
 * writes or removes that cordons or uncordons the node (docs/decisions/0047).
 *
 * Not guaranteed: that it is authentic. Everyone who may write annotations of the node may write it, including its
 * kubelet, so any text is accepted. It is not valid if the node is schedulable, or is another object.
 */
import { isObject, parsedJson } from '../json.ts';
import { MAINTENANCE_ANNOTATION, type Node } from '../types.ts';

export interface MaintenanceOwner {
  name: string;
  /** `kubeconfig`: the user's name in the kubeconfig, if the server did not return one. */
  from: 'server' | 'kubeconfig';
}

export interface Maintenance {
  owner: MaintenanceOwner;
  /** RFC 3339. */
  since: string;
  reason?: string;
  /** RFC 3339; absent: open-ended. */
  until?: string;
  /** UID of the node at the time of writing. */
  uid: string;
  /** The node was unschedulable before the maintenance, and stays unschedulable after it. */
  wasUnschedulable?: true;
}

/** The parsed annotation of a node. */
export type MaintenanceState =
  | { kind: 'active'; maintenance: Maintenance }
  /** No longer valid: others made the node schedulable, or the node was recreated with the old annotation. */
  | { kind: 'stale'; maintenance: Maintenance; why: 'schedulable' | 'recreated' }
  /** Another program wrote it. */
  | { kind: 'unreadable' };

/** Maximum number of characters of a reason. */
export const MAX_REASON_LENGTH = 256;
/** Maximum number of characters of a user's name: names from identity providers contain URLs. */
export const MAX_OWNER_LENGTH = 512;
/** Maximum number of characters to keep: the longest form, with each character escaped in JSON, is shorter. */
export const MAX_MAINTENANCE_LENGTH = 6_000;

const MAX_TIME_LENGTH = 40;
const RFC_3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?(?:Z|[+-]\d\d:\d\d)$/;

/** The part of the annotation that is kept when a node is read. */
export function maintenanceIn(annotations: Readonly<Record<string, string>> = {}): Pick<Node, 'maintenance'> {
  const value = annotations[MAINTENANCE_ANNOTATION];
  if (value === undefined) return {};
  return { maintenance: value.length > MAX_MAINTENANCE_LENGTH ? value.slice(0, MAX_MAINTENANCE_LENGTH) : value };
}

/** Undefined if the node has no such annotation. */
export function maintenanceOf({
  maintenance: raw,
  unschedulable,
  uid,
}: Pick<Node, 'maintenance' | 'unschedulable' | 'uid'>): MaintenanceState | undefined {
  if (raw === undefined) return undefined;
  const maintenance = parseMaintenance(raw);
  if (maintenance === undefined) return { kind: 'unreadable' };
  if (!unschedulable) return { kind: 'stale', maintenance, why: 'schedulable' };
  return maintenance.uid === uid ? { kind: 'active', maintenance } : { kind: 'stale', maintenance, why: 'recreated' };
}

export function activeMaintenance(node: Parameters<typeof maintenanceOf>[0]): Maintenance | undefined {
  const state = maintenanceOf(node);
  return state?.kind === 'active' ? state.maintenance : undefined;
}

/** Accepts any text; undefined if this program did not write it. Fields of later versions are left out. */
export function parseMaintenance(raw: string): Maintenance | undefined {
  const json = parsedJson(raw);
  if (!isObject(json)) return undefined;
  const { owner, ownerFrom = 'server', since, reason, until, uid, wasUnschedulable } = json;
  if (!isText(owner, MAX_OWNER_LENGTH) || (ownerFrom !== 'server' && ownerFrom !== 'kubeconfig')) return undefined;
  if (!isTime(since) || !isText(uid, MAX_OWNER_LENGTH)) return undefined;
  if (reason !== undefined && !isText(reason, MAX_REASON_LENGTH)) return undefined;
  if (until !== undefined && !isTime(until)) return undefined;
  return {
    owner: { name: owner, from: ownerFrom },
    since,
    ...(reason === undefined ? {} : { reason }),
    ...(until === undefined ? {} : { until }),
    uid,
    ...(wasUnschedulable === true ? { wasUnschedulable } : {}),
  };
}

/** The annotation: compact JSON. */
export function formatMaintenance({ owner, since, reason, until, uid, wasUnschedulable }: Maintenance): string {
  const ownerFrom = owner.from === 'server' ? undefined : owner.from;
  return JSON.stringify({ owner: owner.name, ownerFrom, reason, since, until, uid, wasUnschedulable });
}

export function isSameOwner(a: MaintenanceOwner, b: MaintenanceOwner): boolean {
  return a.name === b.name && a.from === b.from;
}

export function isOverdue({ until }: Pick<Maintenance, 'until'>, now: Date): boolean {
  return until !== undefined && Date.parse(until) <= now.getTime();
}

/** `alice`, or `alice (by a kubeconfig)` if the name is not from the server. */
export function ownerText({ name, from }: MaintenanceOwner): string {
  return from === 'server' ? name : `${name} (by a kubeconfig)`;
}

/** `alice since 2026-11-24T15:00:00Z, until 2026-11-24T18:00:00Z (overdue): kernel upgrade`. */
export function maintenanceText(maintenance: Maintenance, now: Date): string {
  const { owner, since, until, reason } = maintenance;
  const end = until === undefined ? '' : `, until ${until}${isOverdue(maintenance, now) ? ' (overdue)' : ''}`;
  return `${ownerText(owner)} since ${since}${end}${reason === undefined ? '' : `: ${reason}`}`;
}

export interface MaintenanceCounts {
  /** Including overdue ones. */
  active: number;
  overdue: number;
}

export function countMaintenance(nodes: Iterable<Parameters<typeof maintenanceOf>[0]>, now: Date): MaintenanceCounts {
  const counts = { active: 0, overdue: 0 };
  for (const node of nodes) {
    const maintenance = activeMaintenance(node);
    if (maintenance === undefined) continue;
    counts.active += 1;
    if (isOverdue(maintenance, now)) counts.overdue += 1;
  }
  return counts;
}

/** Whether the text can be a reason: one line, not empty. */
export function isReason(text: string): boolean {
  return isText(text, MAX_REASON_LENGTH) && !/[\p{Cc}\p{Zl}\p{Zp}]/u.test(text) && text.trim() !== '';
}

/** @param most maximum number of characters, not UTF-16 units */
function isText(value: unknown, most: number): value is string {
  if (typeof value !== 'string' || value === '' || value.length > 2 * most) return false;
  return value.length <= most || [...value].length <= most;
}

function isTime(value: unknown): value is string {
  if (typeof value !== 'string' || value.length > MAX_TIME_LENGTH || !RFC_3339.test(value)) return false;
  return !Number.isNaN(Date.parse(value));
}
