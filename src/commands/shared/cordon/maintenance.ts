/** The user's name, and the condition that publishes a maintenance: both are only requested if a node needs them. */

import { conflictDelay } from '../../../controller/backoff.ts';
import type { MaintenancePort, NodeCondition, PublishedMaintenance } from '../../../kube/resources/maintenance.ts';
import {
  activeMaintenance,
  isSameOwner,
  type Maintenance,
  type MaintenanceOwner,
  maintenanceText,
  ownerText,
} from '../../../nodepool/drain/maintenance.ts';
import type { CordonChange } from '../../../nodepool/drain/plan-cordon.ts';
import { NodepoolError, type Warning } from '../../../nodepool/errors.ts';
import { firstFew, noun } from '../../../nodepool/text.ts';
import type { Node } from '../../../nodepool/types.ts';
import { valueOrRefusal } from '../refusals.ts';

export interface MaintenanceClient {
  /** Sends one request and caches the answer. */
  owner(): Promise<MaintenanceOwner>;
  /** Publishes the node's maintenance if the server has a condition for it. @returns why it failed */
  publish(node: Node): Promise<NodepoolError | undefined>;
  /** Creates an Event about a maintenance that ended, which the node no longer has. @returns why it failed */
  record(node: Node, ended: EndedMaintenance): Promise<NodepoolError | undefined>;
}

export interface EndedMaintenance {
  maintenance: Maintenance;
  by: MaintenanceOwner;
  isTakenOver: boolean;
}

export const MAINTENANCE_ENDED = 'MaintenanceEnded';

export function maintenanceClient(
  open: () => Promise<MaintenancePort>,
  sleep: (ms: number) => Promise<void>,
): MaintenanceClient {
  let ownerRead: Promise<MaintenanceOwner> | undefined;
  let version: Promise<string> | undefined;
  const serverVersion = () => {
    version ??= open().then(port => port.serverVersion());
    return version;
  };
  return {
    owner() {
      ownerRead ??= open().then(port => port.owner());
      return ownerRead;
    },
    async publish(node) {
      const done = await valueOrRefusal(() => publishMaintenance(node, { open, serverVersion, sleep }));
      return 'value' in done ? undefined : done.refusal;
    },
    async record(node, ended) {
      const event = { type: 'Normal', reason: MAINTENANCE_ENDED, action: 'Uncordon', note: endedText(ended) } as const;
      const done = await valueOrRefusal(async () => (await open()).record(node, event));
      return 'value' in done ? undefined : done.refusal;
    },
  };
}

/** `alice ended the maintenance by bob since 2026-11-24T15:00:00Z: kernel upgrade` */
function endedText({ maintenance, by, isTakenOver }: EndedMaintenance): string {
  const { owner, since, until, reason } = maintenance;
  const end = until === undefined ? '' : `, planned until ${until}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  const what = `the maintenance by ${ownerText(owner)} since ${since}${end}${why}`;
  return `${ownerText(by)} ${isTakenOver ? 'took over' : 'ended'} ${what}`;
}

/** Why a node is not changed. */
export function maintenanceError(holder: Maintenance, now: Date): NodepoolError {
  const next = `ask ${ownerText(holder.owner)}, or use --takeover`;
  return new NodepoolError('cluster', `the node is under maintenance by ${maintenanceText(holder, now)}`, next);
}

export function unpublishedWarning({ oneLine, next }: NodepoolError): Warning {
  return { message: `the maintenance is not shown in the nodes' conditions: ${oneLine}`, next };
}

export function unrecordedWarning({ oneLine, next }: NodepoolError): Warning {
  return { message: `no Event records the end of the maintenance, so history does not show it: ${oneLine}`, next };
}

/** Maximum number of names in one warning. */
const MAX_NODES = 10;

interface NodeInMaintenance {
  name: string;
  holder: Maintenance;
}

/** The nodes that are under maintenance by another user: they will not be changed. */
export async function nodesInMaintenance(
  nodes: readonly Node[],
  { takeover = false }: Pick<CordonChange, 'takeover'>,
  maintenance: Pick<MaintenanceClient, 'owner'>,
): Promise<NodeInMaintenance[]> {
  const active = nodes.flatMap(node => {
    const holder = activeMaintenance(node);
    return holder === undefined ? [] : [{ name: node.name, holder }];
  });
  if (takeover || active.length === 0) return [];
  const owner = await maintenance.owner();
  return active.filter(({ holder }) => !isSameOwner(holder.owner, owner));
}

export function maintenanceWarnings(others: readonly NodeInMaintenance[], now: () => Date): Warning[] {
  const groups = Map.groupBy(others, ({ holder }) => maintenanceText(holder, now()));
  return [...groups].map(([text, group]) => {
    const names = firstFew(group.map(({ name }) => name).toSorted(), MAX_NODES);
    const are = group.length === 1 ? 'is' : 'are';
    return {
      message: `${noun(group.length, 'node')} ${names} ${are} under maintenance by ${text}; not drained`,
      next: `ask ${group[0] === undefined ? 'the owner' : ownerText(group[0].holder.owner)}, or use --takeover`,
    };
  });
}

// Publishes the maintenance of a node as its condition MaintenanceInProgress, a name that Kubernetes reserves from 1.37
// on (KEP-5683). The annotation is authoritative: the condition follows the node as read for the write, so the next run
// completes a run that was killed in between. The maintenance of another user is not changed.

const MAINTENANCE_CONDITION = 'MaintenanceInProgress';
/** Identifies conditions of this program, because Kubernetes defines no owner of the condition. */
export const CONDITION_REASON = 'NodepoolMaintenance';

const FIRST_MINOR = 37;
/** Consecutive conflicts: kubelets write the status of their node at most every few seconds. */
const MAX_ATTEMPTS = 20;

interface MaintenanceDeps {
  open: () => Promise<MaintenancePort>;
  serverVersion: () => Promise<string>;
  sleep: (ms: number) => Promise<void>;
}

/** Throws NodepoolError. @param node as last read or written */
export async function publishMaintenance(node: Node, { open, serverVersion, sleep }: MaintenanceDeps): Promise<void> {
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
    await sleep(conflictDelay(attempt));
    current = await read();
  }
}

/** Whether this server version defines the condition. @param version such as `v1.37.2-eks-1` */
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
