/** What the verbs about nodes ask of a cluster beyond what the reconciler does. src/kube implements it. */
import type { Node, Toleration } from '../nodepool/types.ts';

/** A pod that has a node and is not on its way out. */
export interface PlacedPod {
  namespace: string;
  name: string;
  uid: string;
  node: string;
  tolerations: Toleration[];
  /** It has run to its end, well or badly, and is still there. */
  hasEnded: boolean;
  /** What would make it anew, as a ReplicaSet or DaemonSet of its namespace; undefined when there is none. */
  controller: { kind: string; name: string } | undefined;
}

export interface NodeAccess {
  /** Nodes by a label selector, as the server takes it, by name; all of them when it is undefined. */
  select(labelSelector: string | undefined): Promise<Node[]>;
  /** The pods on these nodes. */
  podsOn(nodes: readonly string[]): Promise<PlacedPod[]>;
}
