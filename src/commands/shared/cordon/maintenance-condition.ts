/**
 * Publishes the maintenance of a node as its condition MaintenanceInProgress, a name that Kubernetes reserves from 1.37 on
 * (KEP-5683). The annotation decides: the condition follows the node as it is read for the write, so a run that was killed
 * in between is completed by the next one, and one of somebody else is left alone.
 */

import type { MaintenancePort, NodeCondition, PublishedMaintenance } from '../../../kube/ports/maintenance.ts';
import { activeMaintenance, type Maintenance } from '../../../nodepool/drain/maintenance.ts';
import type { Node } from '../../../nodepool/types.ts';
import { conflictDelay } from '../../../reconciler/limits/conflict-delay.ts';

export const MAINTENANCE_CONDITION = 'MaintenanceInProgress';
/** Tells ours from those of others: Kubernetes defines no owner of the condition. */
export const CONDITION_REASON = 'NodepoolMaintenance';

const FIRST_MINOR = 37;
/** Conflicts in a row: kubelets write the status of their node every few seconds at most. */
const MAX_ATTEMPTS = 20;

interface Deps {
  open: () => Promise<MaintenancePort>;
  serverVersion: () => Promise<string>;
  sleep: (ms: number) => Promise<void>;
}

/** Throws NodepoolError. @param node as it was read or written last */
export async function publishMaintenance(node: Node, { open, serverVersion, sleep }: Deps): Promise<void> {
  const isPublished = node.conditions?.includes(MAINTENANCE_CONDITION) === true;
  if (!isPublished) {
    if (activeMaintenance(node) === undefined || !hasCondition(await serverVersion())) return;
  }
  const port = await open();
  const read = () => port.condition(node.name, MAINTENANCE_CONDITION);
  let current: NodeCondition | undefined = isPublished ? await read() : { ...node, condition: undefined };
  for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
    if (current?.uid !== node.uid) return;
    const wanted = wantedOf(current);
    if (isSettled(current, wanted)) return;
    const { resourceVersion }: NodeCondition = current;
    const target = { name: node.name, resourceVersion };
    const result = await port.publish(target, MAINTENANCE_CONDITION, wanted);
    if (result !== 'conflict') return;
    await sleep(conflictDelay(attempt, Math.random()));
    current = await read();
  }
}

/** Whether the server's version has the name of the condition. @param version as `v1.37.2-eks-1` */
export function hasCondition(version: string): boolean {
  const [, major = '', minor = ''] = /^v?(\d+)\.(\d+)/.exec(version) ?? [];
  return Number(major) > 1 || (Number(major) === 1 && Number(minor) >= FIRST_MINOR);
}

function wantedOf(node: NodeCondition): PublishedMaintenance | undefined {
  const maintenance = activeMaintenance(node);
  return maintenance === undefined ? undefined : { reason: CONDITION_REASON, message: messageOf(maintenance) };
}

function messageOf({ owner, until, reason }: Maintenance): string {
  return `${owner.name}${until === undefined ? '' : ` until ${until}`}${reason === undefined ? '' : `: ${reason}`}`;
}

function isSettled({ condition }: NodeCondition, wanted: PublishedMaintenance | undefined): boolean {
  const isOurs = condition?.reason === CONDITION_REASON;
  if (wanted === undefined) return !isOurs;
  if (condition?.status !== 'True') return false;
  return !isOurs || condition.message === wanted.message;
}
