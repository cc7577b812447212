/** Who is asking, and the condition that publishes a maintenance: both asked of the server only where a node needs it. */

import type { MaintenancePort } from '../../../kube/ports/maintenance.ts';
import {
  activeMaintenance,
  isSameOwner,
  type Maintenance,
  maintenanceText,
  type Owner,
  ownerText,
} from '../../../nodepool/drain/maintenance.ts';
import type { CordonChange } from '../../../nodepool/drain/plan-cordon.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import { firstFew, noun } from '../../../nodepool/plural.ts';
import type { Node } from '../../../nodepool/types.ts';
import type { Warning } from '../../../nodepool/warning.ts';
import { attempt } from '../attempt.ts';
import { publishMaintenance } from './maintenance-condition.ts';

export interface MaintenanceClient {
  /** Asks once. */
  owner(): Promise<Owner>;
  /** Publishes what the node says, where the server has a condition for it. @returns why it could not */
  publish(node: Node): Promise<NodepoolError | undefined>;
  /** Creates an Event about a maintenance that is over: the node does not tell of it any more. @returns why it could not */
  record(node: Node, ended: EndedMaintenance): Promise<NodepoolError | undefined>;
}

export interface EndedMaintenance {
  maintenance: Maintenance;
  by: Owner;
  /** That one has it from now on. */
  isTakenOver: boolean;
}

/** The reason of the Event. */
export const MAINTENANCE_ENDED = 'MaintenanceEnded';

export function maintenanceClient(
  open: () => Promise<MaintenancePort>,
  sleep: (ms: number) => Promise<void>,
): MaintenanceClient {
  let asked: Promise<Owner> | undefined;
  let version: Promise<string> | undefined;
  const serverVersion = () => {
    version ??= open().then(port => port.serverVersion());
    return version;
  };
  return {
    owner() {
      asked ??= open().then(port => port.owner());
      return asked;
    },
    async publish(node) {
      const done = await attempt(() => publishMaintenance(node, { open, serverVersion, sleep }));
      return 'value' in done ? undefined : done.refusal;
    },
    async record(node, ended) {
      const event = { type: 'Normal', reason: MAINTENANCE_ENDED, action: 'Uncordon', note: endedText(ended) } as const;
      const done = await attempt(async () => (await open()).record(node, event));
      return 'value' in done ? undefined : done.refusal;
    },
  };
}

/** `alice ended it: maintenance of bob since 2026-11-24T15:00:00Z: kernel upgrade` */
function endedText({ maintenance, by, isTakenOver }: EndedMaintenance): string {
  const { owner, since, until, reason } = maintenance;
  const end = until === undefined ? '' : `, planned until ${until}`;
  const why = reason === undefined ? '' : `: ${reason}`;
  const what = `maintenance of ${ownerText(owner)} since ${since}${end}${why}`;
  return `${ownerText(by)} ${isTakenOver ? 'took it over' : 'ended it'}: ${what}`;
}

/** Why a node is left alone. */
export function heldError(holder: Maintenance, now: Date): NodepoolError {
  const next = `ask ${ownerText(holder.owner)}, or use --takeover`;
  return new NodepoolError('cluster', `it is in maintenance of ${maintenanceText(holder, now)}`, next);
}

/** Of publish(). */
export function unpublishedWarning({ oneLine, next }: NodepoolError): Warning {
  return { message: `the maintenance is not published as a condition of the nodes: ${oneLine}`, next };
}

/** Of record(). */
export function unrecordedWarning({ oneLine, next }: NodepoolError): Warning {
  return { message: `the end of the maintenance is in no Event, and so not in the history: ${oneLine}`, next };
}

/** Names in one warning. */
const MAX_NODES = 10;

interface HeldNode {
  name: string;
  holder: Maintenance;
}

/** Those of the nodes that are in a maintenance of others: they will be left alone. */
export async function heldNodes(
  nodes: readonly Node[],
  { takeover = false }: Pick<CordonChange, 'takeover'>,
  maintenance: Pick<MaintenanceClient, 'owner'>,
): Promise<HeldNode[]> {
  const active = nodes.flatMap(node => {
    const holder = activeMaintenance(node);
    return holder === undefined ? [] : [{ name: node.name, holder }];
  });
  if (takeover || active.length === 0) return [];
  const owner = await maintenance.owner();
  return active.filter(({ holder }) => !isSameOwner(holder.owner, owner));
}

/** A warning for each maintenance. */
export function heldWarnings(others: readonly HeldNode[], now: () => Date): Warning[] {
  const groups = Map.groupBy(others, ({ holder }) => maintenanceText(holder, now()));
  return [...groups].map(([text, held]) => {
    const names = firstFew(held.map(({ name }) => name).toSorted(), MAX_NODES);
    const are = held.length === 1 ? 'is' : 'are';
    return {
      message: `${noun(held.length, 'node')} ${names} ${are} in maintenance of ${text}; not drained`,
      next: `ask ${held[0] === undefined ? 'the owner' : ownerText(held[0].holder.owner)}, or use --takeover`,
    };
  });
}
