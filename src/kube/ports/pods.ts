/** The client for pods, and what metrics.k8s.io says of usage. src/kube implements both. */
import type { Watched } from '../../controller/source.ts';
import type { Amounts } from '../../nodepool/quantity/amounts.ts';
import type { NodeLoad } from '../../nodepool/quantity/resource-usage.ts';
import type { ResourceList, Toleration } from '../../nodepool/types.ts';

/** A pod that has a node and no deletionTimestamp. */
export interface PlacedPod {
  namespace: string;
  name: string;
  uid: string;
  node: string;
  tolerations: Toleration[];
  /** It has run to its end, well or badly, and is still there. */
  hasEnded: boolean;
  /** The controller that would recreate it, as a ReplicaSet or DaemonSet of its namespace; undefined when there is none. */
  controller: { kind: string; name: string } | undefined;
}

/** What one pod requests. */
export interface PodLoad {
  namespace: string;
  name: string;
  node: string;
  requests: Amounts;
  limits: Amounts;
}

export interface Demand {
  /** By the node's name; a node without pods has none. */
  byNode: ReadonlyMap<string, NodeLoad>;
  /** Pods that are counted and whose amounts cannot be read, each a sentence. */
  problems: string[];
  /** Only if each pod was asked for. */
  pods?: PodLoad[];
}

/** `absent`: the cluster has no metrics API. `failed`: it has one that gave no answer we could use. */
export type Usage = { kind: 'served'; byNode: ReadonlyMap<string, ResourceList> } | NoUsage;
/** By `namespace/name` of the pod, summed over its containers. */
export type PodUsage = { kind: 'served'; byPod: ReadonlyMap<string, Amounts> } | NoUsage;
export type NoUsage = { kind: 'absent' } | { kind: 'failed'; reason: string };

/** All that is kept of a watched pod. */
export interface PodPlace {
  node: string;
}

export interface PodsPort {
  /** How many pods are on each node and have not ended. Reads every one of them. */
  countByNode(): Promise<ReadonlyMap<string, number>>;
  /** Those that countByNode() counts. */
  watch(): Watched<PodPlace>;
  /** Those on these nodes. */
  placedOn(nodes: readonly string[]): Promise<PlacedPod[]>;
  /**
   * Reads every pod that is on a node, and keeps sums.
   * @param nodes those that are wanted; default: all
   * @param eachPod also keeps what each pod requests
   */
  demand(nodes?: readonly string[], eachPod?: boolean): Promise<Demand>;
}
