/** Plans the cordon or uncordon of one node: the write, or the maintenance of another user that prevents it. Pure. */

import type { NodePatch } from '../plan/plan.ts';
import { timestamp } from '../timestamp.ts';
import type { Node } from '../types.ts';
import {
  activeMaintenance,
  formatMaintenance,
  isSameOwner,
  type Maintenance,
  type MaintenanceOwner,
  maintenanceOf,
} from './maintenance.ts';

export interface CordonChange {
  unschedulable: boolean;
  /** Begins a maintenance, or changes the user's own. Undefined: begins none. */
  maintenance?: RequestedMaintenance | undefined;
  /** Also changes nodes under maintenance by another user. Default: such nodes are not changed. */
  takeover?: boolean;
}

export interface RequestedMaintenance {
  reason?: string | undefined;
  /** RFC 3339. */
  until?: string | undefined;
}

/** What happens to the maintenance of a node; `removed`: it was stale or unreadable. */
export type MaintenanceChange =
  | { kind: 'begun' | 'updated' }
  | { kind: 'taken over' | 'ended'; from: MaintenanceOwner }
  | { kind: 'removed'; from: MaintenanceOwner | undefined };

export type CordonPlan =
  | { kind: 'already' }
  | { kind: 'refused'; holder: Maintenance }
  | {
      kind: 'write';
      patch: Pick<NodePatch, 'unschedulable' | 'maintenance'>;
      /** Undefined if there is no maintenance, and if the user ends their own. */
      change: MaintenanceChange | undefined;
      /** The uncordon leaves the node unschedulable, as it was before the maintenance. */
      staysCordoned?: true;
    };

export type CordonedNode = Pick<Node, 'uid' | 'unschedulable' | 'maintenance'>;

/** Whether the plan depends on the current user. */
export function needsOwner(node: CordonedNode, { maintenance }: CordonChange): boolean {
  return maintenance !== undefined || activeMaintenance(node) !== undefined;
}

/** @param owner the current user; undefined only if not needed */
export function planCordon(
  node: CordonedNode,
  change: CordonChange,
  owner: MaintenanceOwner | undefined,
  now: Date,
): CordonPlan {
  const holder = activeMaintenance(node);
  const isMine = holder !== undefined && owner !== undefined && isSameOwner(holder.owner, owner);
  if (holder !== undefined && !isMine && change.takeover !== true) return { kind: 'refused', holder };
  if (!change.unschedulable) return planUncordon(node, isMine ? undefined : holder);
  const requested = change.maintenance;
  if (holder === undefined && requested === undefined) return planWithoutMaintenance(node);
  const next = maintenanceAfter({ node, holder, isMine, owner, requested }, now);
  const isKept = holder !== undefined && formatMaintenance(holder) === next;
  const patch = {
    ...(node.unschedulable ? {} : { unschedulable: true }),
    ...(isKept ? {} : { maintenance: next }),
  };
  if (Object.keys(patch).length === 0) return { kind: 'already' };
  if (holder === undefined) return { kind: 'write', patch, change: { kind: 'begun' } };
  return { kind: 'write', patch, change: isMine ? { kind: 'updated' } : { kind: 'taken over', from: holder.owner } };
}

interface CordonOutcome {
  node: CordonedNode;
  holder: Maintenance | undefined;
  isMine: boolean;
  owner: MaintenanceOwner | undefined;
  requested: CordonChange['maintenance'];
}

/** Fields that the command does not set stay unchanged. A takeover makes the user the owner. */
function maintenanceAfter({ node, holder, isMine, owner, requested = {} }: CordonOutcome, now: Date): string {
  if (owner === undefined) throw new Error('the owner of a maintenance is not known');
  const reason = requested.reason ?? holder?.reason;
  const until = requested.until ?? holder?.until;
  const wasUnschedulable = holder === undefined ? node.unschedulable : holder.wasUnschedulable === true;
  return formatMaintenance({
    owner,
    since: isMine && holder !== undefined ? holder.since : timestamp(now),
    ...(reason === undefined ? {} : { reason }),
    ...(until === undefined ? {} : { until }),
    uid: node.uid,
    ...(wasUnschedulable ? { wasUnschedulable } : {}),
  });
}

/** A cordon without a maintenance must not revive a stale one. */
function planWithoutMaintenance(node: CordonedNode): CordonPlan {
  if (node.unschedulable) return { kind: 'already' };
  if (node.maintenance === undefined) return { kind: 'write', patch: { unschedulable: true }, change: undefined };
  return { kind: 'write', patch: { unschedulable: true, maintenance: null }, change: removalOf(node) };
}

/** @param taken the maintenance of another user, which ends as well */
function planUncordon(node: CordonedNode, taken: Maintenance | undefined): CordonPlan {
  const holder = activeMaintenance(node);
  const staysCordoned = holder?.wasUnschedulable === true;
  const patch = {
    ...(node.unschedulable && !staysCordoned ? { unschedulable: false } : {}),
    ...(node.maintenance === undefined ? {} : { maintenance: null }),
  };
  if (Object.keys(patch).length === 0) return { kind: 'already' };
  const done = { kind: 'write', patch, ...(staysCordoned ? { staysCordoned } : {}) } as const;
  if (node.maintenance === undefined || (holder !== undefined && taken === undefined))
    return { ...done, change: undefined };
  return { ...done, change: taken === undefined ? removalOf(node) : { kind: 'ended', from: taken.owner } };
}

function removalOf(node: CordonedNode): MaintenanceChange {
  const state = maintenanceOf(node);
  return {
    kind: 'removed',
    from: state === undefined || state.kind === 'unreadable' ? undefined : state.maintenance.owner,
  };
}
