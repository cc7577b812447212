/** The client for maintenances of nodes. src/kube implements it. */
import type { Owner } from '../../nodepool/drain/maintenance.ts';
import type { Node } from '../../nodepool/types.ts';
import type { PoolEvent } from '../cluster.ts';

/** The condition of a node whose maintenance is published, as this program writes it. */
export interface PublishedMaintenance {
  reason: string;
  message: string;
}

/** What decides on the condition, as it is now. */
export interface NodeCondition extends Pick<Node, 'uid' | 'resourceVersion' | 'unschedulable' | 'maintenance'> {
  /** Of the type; undefined where the node has none. */
  condition: { status: string; reason: string; message: string } | undefined;
}

export interface MaintenancePort {
  /** Who is asking, by the server; where it does not say, by the kubeconfig. Throws where neither has a name. */
  owner(): Promise<Owner>;
  /** The server's git version, as `v1.36.3`. */
  serverVersion(): Promise<string>;
  /** Undefined if the node does not exist. */
  condition(name: string, type: string): Promise<NodeCondition | undefined>;
  /** Sets the condition to True, or removes it; guarded by resourceVersion. Other conditions stay. */
  publish(
    node: Pick<Node, 'name' | 'resourceVersion'>,
    type: string,
    to: PublishedMaintenance | undefined,
  ): Promise<'written' | 'conflict' | 'gone'>;
  /** Creates an Event about the node. */
  record(node: Pick<Node, 'name' | 'uid'>, event: PoolEvent): Promise<void>;
}
