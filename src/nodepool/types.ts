/** The objects the domain speaks of, cut down to the fields that are used. Shapes follow the Kubernetes API. */

import type { FieldError } from './field-error.ts';

export const GROUP = 'nodes.lailin.xyz';
export const VERSION = 'v1';
export const API_VERSION = `${GROUP}/${VERSION}`;
/** The finalizer of the operator that this product follows: its pools are released too. */
export const FINALIZER = 'node.finalizers.node-pool.lailin.xyz';
/** Who reports: the name of this product's controller in events, metrics and the log. */
export const CONTROLLER = 'nodepool-controller';
/** The lease of `reconcile --watch --leader-elect`, and the namespace where it is unless told otherwise. */
export const LEASE = 'kubectl-nodepool';
export const LEASE_NAMESPACE = 'kube-system';
/** The annotation on a node that says what its pool applied there (see record.ts). */
export const RECORD_ANNOTATION = 'nodes.lailin.xyz/applied';

/** The annotation on a pool of the earlier operator that says how far it is taken over (see membership.ts). */
export const TAKEOVER_ANNOTATION = 'nodes.lailin.xyz/takeover';

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** Identity is key + effect, as on the API server. An absent value equals "". */
export interface Taint {
  key: string;
  value?: string;
  effect: TaintEffect;
  timeAdded?: string;
}

export interface ObjectMeta {
  name: string;
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

export interface OwnerReference {
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
  /** ResourcesOmitted is there only while it is True. */
  type: 'Ready' | 'Applied' | 'Conflict' | 'ResourcesOmitted';
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** Resource name to quantity string, as in the API. */
export type ResourceList = Record<string, string>;

export interface NodePoolStatus {
  /** 200 = normal; 409 conflict, 422 invalid spec, 500 writes failing or quantities that no API server takes, 503 no member is Ready. */
  status: number;
  nodeCount: number;
  readyNodeCount?: number;
  unschedulableNodeCount?: number;
  /** Pods on the members that have not ended. Only where they are counted. */
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
  /** What of the spec had another type than the API's, and was left out when it was read (see coerce.ts). Never sent. */
  unreadable?: FieldError[];
  /** Fields of the spec that the CRD which is installed drops (see dropped-fields.ts). Never sent. */
  dropped?: string[];
}

/** What is kept of a v1 Node: never the 11 kB object. */
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
  /** What is read of it (see node-resources.ts). */
  allocatable: ResourceList;
  omittedResources?: OmittedResources;
}

/** Resources of a node that are not read. */
export interface OmittedResources {
  /** How many have no qualified name. */
  unqualified: number;
  /** One of these names, cut; empty when there is none. */
  example: string;
  /** How many have a quantity of more characters or digits than are read. */
  oversized: number;
  /** One of these with its quantity, cut; empty when there is none. */
  oversizedExample: string;
  /** How many there are beyond the most that are read. */
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
