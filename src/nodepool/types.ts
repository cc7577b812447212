/** The objects of the domain, reduced to the used fields. Field names follow the Kubernetes API. */

import type { Requirement } from './membership/label-query.ts';
import type { FieldError } from './spec/field-error.ts';

export const GROUP = 'nodes.lailin.xyz';
export const VERSION = 'v1';
export const API_VERSION = `${GROUP}/${VERSION}`;
/** The finalizer of the earlier operator; pools that it created are released as well. */
export const FINALIZER = 'node.finalizers.node-pool.lailin.xyz';
/** The controller's name in events, metrics and the log. */
export const CONTROLLER = 'nodepool-controller';
/** The lease of `reconcile --watch --leader-elect`, and its default namespace. */
export const LEASE = 'kubectl-nodepool';
export const LEASE_NAMESPACE = 'kube-system';
/** The namespace of `install --controller`. */
export const CONTROLLER_NAMESPACE = 'nodepool-system';
/** The annotation on a node with what its pool applied to it (see record.ts). */
export const RECORD_ANNOTATION = 'nodes.lailin.xyz/applied';

/**
 * The birth record: an annotation on a node with what manifests/born-in-pool.yaml set at its registration. It has the
 * form of a record, and counts as one until the first write of the node replaces it. Without a pool, it means that the
 * node waits (see birth-record.ts).
 */
export const BORN_ANNOTATION = 'nodes.lailin.xyz/born';

/** The annotation on a node under maintenance: who, why and until when (see maintenance.ts). */
export const MAINTENANCE_ANNOTATION = 'nodes.lailin.xyz/maintenance';

/** The label on members of a pool with matchExpressions: the pool's name, as RuntimeClasses select only by labels. */
export const POOL_LABEL = 'nodes.lailin.xyz/pool';

/** The annotation on a pool: until this time, a rollout accepts nodes that are NotReady (see rollout-step.ts). */
export const RESUMED_ANNOTATION = 'nodes.lailin.xyz/resumed';

/** The annotation on a pool with what others set on its RuntimeClass, during a replacement (runtime-class.ts). */
export const REPLACED_ANNOTATION = 'nodes.lailin.xyz/replaced-runtime-class';

/** The annotation on a pool of the earlier operator with the state of its takeover (see pool-metadata.ts). */
export const TAKEOVER_ANNOTATION = 'nodes.lailin.xyz/takeover';

/** The annotation on a pool with more keys of temporary states, comma-separated (see transient-states.ts). */
export const TRANSIENT_KEYS_ANNOTATION = 'nodes.lailin.xyz/transient-keys';

export type TaintEffect = 'NoSchedule' | 'PreferNoSchedule' | 'NoExecute';

/** Identified by key and effect, as on the API server. A missing value equals "". */
export interface Taint {
  key: string;
  value?: string;
  effect: TaintEffect;
  timeAdded?: string;
}

/** Set once, on a young node that joins the pool. */
export interface StartupTaint extends Omit<Taint, 'timeAdded'> {
  /** The pool removes the taint when the node has this condition with status True. */
  until?: { nodeCondition: string };
  /** Set again when the node boots. */
  again?: 'Boot';
}

export interface ObjectMeta {
  name: string;
  /** Only in input: pools are cluster-scoped. */
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
  /** ANDed with nodeSelector, with the operators of node affinity. */
  matchExpressions?: Requirement[];
  unmanaged?: 'Keep' | 'Remove';
  annotations?: Record<string, string>;
  /** Taints that nodes get when they join, until a condition removes them (startup-taints.ts). */
  startupTaints?: StartupTaint[];
  /** Nothing is written to the nodes of the pool. */
  paused?: boolean;
  /** How a changed spec reaches the members. Without it, all are changed at once. */
  rollout?: RolloutStrategy;
  /** `Drain`: pods that a NoExecute taint would evict are first evicted by the Eviction API (see no-execute.ts). */
  noExecute?: 'Immediate' | 'Drain';
}

/** A count is a number of members or a percentage of them, such as `5%`. */
export interface RolloutStrategy {
  /** Maximum number of members that are changed and not settled. Default: no limit. */
  maxConcurrent?: number | string;
  /** Number of members to change first; the others wait until these have settled. Default: none. */
  canary?: number | string;
  /** A changed member has settled after it was Ready for this time, or NotReady if it was so before its change. */
  settleSeconds?: number;
  /** Default: true. */
  stopOnNotReady?: boolean;
}

export interface Condition {
  /** Always present: Conflict, Applied and Ready; Progressing if the pool is paused or has spec.rollout. */
  type:
    | 'Ready'
    | 'Applied'
    | 'Conflict'
    | 'Progressing'
    | 'Reconciling'
    | 'Stalled'
    | 'Contested'
    | 'ResourcesOmitted'
    | 'TaintsNotRestored'
    | 'StartupTaintsStuck';
  status: 'True' | 'False' | 'Unknown';
  reason: string;
  message: string;
  lastTransitionTime: string;
  observedGeneration?: number;
}

/** Quantity by resource name, as in the API. */
export type ResourceList = Record<string, string>;

/** A spec whose rollout was stopped by a node that turned NotReady (see rollout.ts). */
export interface StoppedRollout {
  /** rolloutHash() of the spec. */
  rollout: string;
  /** RFC 3339: see RolloutStop. */
  time: string;
  nodes?: string[];
}

export interface NodePoolStatus {
  /** 200: normal; 409: conflict; 422: invalid spec; 500: failing writes or invalid quantities; 503: none Ready. */
  status: number;
  nodeCount: number;
  readyNodeCount?: number;
  /** Members with the labels and taints of the pool; unset while the spec is invalid. */
  updatedNodeCount?: number;
  unschedulableNodeCount?: number;
  /** Pods on the members that have not terminated. Only with --pod-counts. */
  podCount?: number;
  allocatable?: ResourceList;
  observedGeneration?: number;
  stoppedRollouts?: StoppedRollout[];
  conditions?: Condition[];
}

export interface NodePool {
  apiVersion: string;
  kind: string;
  metadata: ObjectMeta;
  spec: NodePoolSpec;
  status?: NodePoolStatus;
  /** Spec fields of the wrong type, left out when the pool was read (see coerce.ts). Never sent. */
  unreadable?: FieldError[];
  /** Spec fields that the installed CRD drops (see spec/schema.ts). Never sent. */
  dropped?: string[];
}

/** The fields of a v1 Node that are kept, instead of the 11 kB object. */
export interface Node {
  name: string;
  uid: string;
  resourceVersion: string;
  creationTimestamp: string;
  /** The node was deleted, and a finalizer keeps it. */
  deletionTimestamp?: string;
  labels: Record<string, string>;
  taints: Taint[];
  /** The raw value of RECORD_ANNOTATION, or else of BORN_ANNOTATION if it names a pool. */
  record?: string;
  /** With BORN_ANNOTATION: whether `record` is its value. If not, the next write of the record removes it. */
  birthRecord?: 'record' | 'unused';
  /** The raw value of MAINTENANCE_ANNOTATION, cut to MAX_MAINTENANCE_LENGTH. */
  maintenance?: string;
  /** Annotations that pools set (see annotations.ts); absent if there are none. */
  annotations?: Record<string, string>;
  /** Annotation keys that were kept when the node was read; for other keys, it is unknown if the node has them. */
  keptAnnotations?: ReadonlySet<string>;
  ready: boolean;
  /** Types of other conditions with status True, sorted; shared by nodes. Absent if there are none. */
  conditions?: readonly string[];
  /** Last change of `ready`, in seconds since 1970. */
  readySince?: number;
  /** Identifies the boot of the node, from status.nodeInfo.bootID: see compactBoot(). */
  boot?: string;
  unschedulable: boolean;
  /** Limited as in node-resources.ts. */
  allocatable: ResourceList;
  omittedResources?: OmittedResources;
}

/** Resources of a node that are left out. */
export interface OmittedResources {
  /** Number of resources without a qualified name. */
  unqualified: number;
  /** One of these names, truncated; empty if there is none. */
  example: string;
  /** Number of resources whose quantity exceeds the limits. */
  oversized: number;
  /** One of these with its quantity, truncated; empty if there is none. */
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
