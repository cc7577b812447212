/** The objects of the domain, reduced to the fields that are used. Field names follow the Kubernetes API. */

import type { FieldError } from './field-error.ts';

export const GROUP = 'nodes.lailin.xyz';
export const VERSION = 'v1';
export const API_VERSION = `${GROUP}/${VERSION}`;
/** The finalizer of the earlier operator; pools that it made are released too. */
export const FINALIZER = 'node.finalizers.node-pool.lailin.xyz';
/** The controller's name in events, metrics and the log. */
export const CONTROLLER = 'nodepool-controller';
/** The lease of `reconcile --watch --leader-elect`, and its default namespace. */
export const LEASE = 'kubectl-nodepool';
export const LEASE_NAMESPACE = 'kube-system';
/** The annotation on a node with what its pool applied there (see record.ts). */
export const RECORD_ANNOTATION = 'nodes.lailin.xyz/applied';

/** The annotation on a pool of the earlier operator with the state of its takeover (see takeover.ts). */
export const TAKEOVER_ANNOTATION = 'nodes.lailin.xyz/takeover';

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** Identified by key and effect, as on the API server. A missing value equals "". */
export interface Taint {
  key: string;
  value?: string;
  effect: TaintEffect;
  timeAdded?: string;
}

export interface ObjectMeta {
  name: string;
  /** In input alone: pools are cluster-scoped. */
  namespace?: string;
  uid?: string;
  resourceVersion?: string;
  generation?: number;
  creationTimestamp?: string;
  deletionTimestamp?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
  finalizers?: string[];
  ownerReferences?: OwnerReference[];
}

interface OwnerReference {
  apiVersion: string;
  kind: string;
  name: string;
  uid: string;
  controller?: boolean;
  blockOwnerDeletion?: boolean;
}

export interface NodePoolSpec {
  labels?: Record<string, string>;
  taints?: Taint[];
  handler?: string;
  nodeSelector?: Record<string, string>;
  unmanaged?: 'Keep' | 'Remove';
}

export interface Condition {
  /** Stalled and ResourcesOmitted are present only while they are True. */
  type: 'Ready' | 'Applied' | 'Conflict' | 'Stalled' | 'ResourcesOmitted';
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** Quantity by resource name, as in the API. */
export type ResourceList = Record<string, string>;

export interface NodePoolStatus {
  /** 200: normal; 409: conflict; 422: invalid spec; 500: failing writes or invalid quantities; 503: none Ready. */
  status: number;
  nodeCount: number;
  readyNodeCount?: number;
  /** Members that carry the labels and taints of the pool; unset while the spec is invalid. */
  updatedNodeCount?: number;
  unschedulableNodeCount?: number;
  /** Pods on the members that have not terminated. Only with --pod-counts. */
  podCount?: number;
  allocatable?: ResourceList;
  observedGeneration?: number;
  conditions?: Condition[];
}

export interface NodePool {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: NodePoolSpec;
  status?: NodePoolStatus;
  /** Spec fields of the wrong type, which were left out when the pool was read (see coerce.ts). Never sent. */
  unreadable?: FieldError[];
  /** Spec fields that the installed CRD drops (see dropped-fields.ts). Never sent. */
  dropped?: string[];
}

/** The fields of a v1 Node that are kept, instead of the 11 kB object. */
export interface Node {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  labels: Record<string, string>;
  taints: Taint[];
  /** The raw value of RECORD_ANNOTATION. */
  record?: string;
  ready: boolean;
  unschedulable: boolean;
  /** Limited as in node-resources.ts. */
  allocatable: ResourceList;
  omittedResources?: OmittedResources;
}

/** Resources of a node that are left out. */
export interface OmittedResources {
  /** Number of resources without a qualified name. */
  unqualified: number;
  /** One of these names, truncated; empty when there is none. */
  example: string;
  /** Number of resources whose quantity exceeds the limits. */
  oversized: number;
  /** One of these with its quantity, truncated; empty when there is none. */
  oversizedExample: string;
  /** Number of resources beyond MAX_RESOURCES. */
  excess: number;
}

export interface Toleration {
  key?: string;
  operator?: string;
  value?: string;
  effect?: string;
  tolerationSeconds?: number;
}

/** node.k8s.io/v1. */
export interface RuntimeClass {
  metadata: ObjectMeta;
  handler: string;
  overhead?: unknown;
  scheduling?: { nodeSelector?: Record<string, string>; tolerations?: Toleration[] };
}
