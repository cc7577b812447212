/** What is asked of a cluster about pods and usage. src/kube implements it. */
import type { NodeLoad } from '../nodepool/capacity.ts';
import type { ResourceList } from '../nodepool/types.ts';

export interface Demand {
  /** By the node's name; a node without pods has none. */
  byNode: ReadonlyMap<string, NodeLoad>;
  /** Pods that are counted and whose amounts cannot be read, each a sentence. */
  problems: string[];
}

/** `absent`: the cluster has no metrics API. `failed`: it has one that gave no answer we could use. */
export type Usage =
  | { kind: 'served'; byNode: ReadonlyMap<string, ResourceList> }
  | { kind: 'absent' }
  | { kind: 'failed'; reason: string };

export interface DemandPort {
  /** Reads every pod that is on a node, and keeps sums. @param nodes those that are wanted; default: all */
  podDemand(nodes?: readonly string[]): Promise<Demand>;
  /** What nodes use by metrics.k8s.io. Never rejects for want of it. @param signal ends the wait */
  nodeUsage(signal: AbortSignal): Promise<Usage>;
}
