/** What the impact of a change of nodes is computed from, and what it says. */
import type { FitReasons } from '../fit-reasons.ts';
import type { RawPodSpec } from '../raw-pod.ts';
import type { Pod } from '../types.ts';
import type { ChangedKey } from './node-keys.ts';

export interface Owner {
  kind: string;
  name: string;
}

/** A pod that is on a node and has not ended. */
export interface RunningPod {
  pod: Pod;
  node: string;
  /** The controller that recreates it: of a Deployment's pod, the Deployment. */
  owner: Owner | undefined;
}

export interface DaemonSet {
  namespace: string;
  name: string;
  /** spec.template.spec. */
  template: RawPodSpec;
}

/** An object that selects nodes by labels. */
export interface Selecting {
  kind: string;
  /** Empty: cluster-scoped. */
  namespace: string;
  name: string;
  /** Where in the object, by label key: `nodeSelector`, `node affinity`, `topology key`. */
  keys: ReadonlyMap<string, string>;
}

export interface DaemonImpact {
  namespace: string;
  name: string;
  /** Nodes, sorted. */
  starts: string[];
  stops: string[];
}

/** Pods of one owner, or one pod without. */
export interface PodsImpact {
  namespace: string;
  owner: Owner | undefined;
  /** Names, sorted. */
  pods: string[];
}

export interface Evicted extends PodsImpact {
  /** Of those that tolerate the taint for a while, the shortest and the longest time in seconds. */
  later?: { pods: number; min: number; max: number };
  /** Undefined: no controller recreates them. */
  next: Destination | undefined;
}

/** Where the scheduler can put the pods that are recreated. */
export interface Destination {
  /** By node, how many fit. */
  nodes: ReadonlyMap<string, number>;
  /** How many stay Pending. */
  pending: number;
  /** Why; empty where none stays Pending. */
  reasons: FitReasons;
}

/** What the change of one label or taint does, on all nodes where it is the same. */
export interface KeyImpact {
  change: ChangedKey;
  /** Sorted. */
  nodes: string[];
  daemonSets: DaemonImpact[];
  /** Pods that go on running, and that the scheduler would not put on their node again. */
  notAgain: PodsImpact[];
  evicted: PodsImpact[];
  /** In the order of kind, namespace and name. */
  selectedBy: { kind: string; namespace: string; name: string; where: string }[];
}

export interface Impact {
  keys: KeyImpact[];
  /** Each pod counts once, whatever number of keys it concerns. */
  daemonSets: DaemonImpact[];
  notAgain: PodsImpact[];
  evicted: Evicted[];
}
