/** What the dashboard asks of a cluster beyond what it follows. */
import type { Node } from '../nodepool/types.ts';
import type { NodeWrite } from '../reconciler/ports.ts';

export interface ViewPort {
  /** Of the kubeconfig: what people call the cluster. */
  clusterName: string;
  /** Sets spec.unschedulable by one patch that carries the node's resourceVersion. */
  setUnschedulable(node: Pick<Node, 'name' | 'resourceVersion'>, unschedulable: boolean): Promise<NodeWrite>;
}
