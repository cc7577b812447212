/** The fields of a v1 Pod that affect where it can be scheduled, as in the API. */

import type { NodeTerm } from '../../nodepool/drain/placement.ts';
import type { LabelQuery } from '../../nodepool/membership/label-query.ts';
import type { Container, DemandingPod, ResourceRequirements } from '../../nodepool/quantity/pod-resources.ts';
import type { ResourceList, Toleration } from '../../nodepool/types.ts';

export interface RawPod {
  metadata?: {
    name?: string;
    namespace?: string;
    uid?: string;
    labels?: Record<string, string>;
    deletionTimestamp?: unknown;
    ownerReferences?: { apiVersion?: string; kind?: string; name?: string; controller?: boolean }[];
  };
  spec?: RawPodSpec;
  status?: DemandingPod['status'] & { nominatedNodeName?: string };
}

export interface RawPodSpec {
  containers?: RawContainer[];
  initContainers?: RawContainer[];
  overhead?: ResourceList;
  resources?: ResourceRequirements;
  resourceClaims?: { name?: string }[];
  nodeName?: string;
  nodeSelector?: Record<string, string>;
  hostNetwork?: boolean;
  hostUsers?: boolean;
  runtimeClassName?: string;
  priorityClassName?: string;
  priority?: number;
  activeDeadlineSeconds?: number;
  schedulerName?: string;
  schedulingGates?: { name?: string }[];
  schedulingGroup?: object;
  affinity?: {
    nodeAffinity?: {
      requiredDuringSchedulingIgnoredDuringExecution?: { nodeSelectorTerms?: NodeTerm[] };
      preferredDuringSchedulingIgnoredDuringExecution?: { preference?: NodeTerm }[];
    };
    podAffinity?: RawPodAffinity;
    podAntiAffinity?: RawPodAffinity;
  };
  tolerations?: Toleration[];
  topologySpreadConstraints?: RawSpreadConstraint[];
  volumes?: RawVolume[];
}

export interface RawPodAffinity {
  requiredDuringSchedulingIgnoredDuringExecution?: RawPodTerm[];
  preferredDuringSchedulingIgnoredDuringExecution?: { podAffinityTerm?: RawPodTerm }[];
}

export interface RawContainer extends Container {
  restartPolicyRules?: { action?: string }[];
  ports?: { containerPort?: number; hostPort?: number; hostIP?: string; protocol?: string }[];
}

export interface RawPodTerm {
  labelSelector?: LabelQuery;
  namespaces?: string[];
  namespaceSelector?: LabelQuery;
  topologyKey?: string;
  matchLabelKeys?: string[];
  mismatchLabelKeys?: string[];
}

export interface RawSpreadConstraint {
  maxSkew?: number;
  topologyKey?: string;
  whenUnsatisfiable?: string;
  labelSelector?: LabelQuery;
  minDomains?: number;
  nodeAffinityPolicy?: string;
  nodeTaintsPolicy?: string;
  matchLabelKeys?: string[];
}

export interface RawVolume {
  name?: string;
  persistentVolumeClaim?: { claimName?: string };
  ephemeral?: { volumeClaimTemplate?: { metadata?: object; spec?: RawClaimSpec } };
  csi?: object;
  gcePersistentDisk?: { pdName?: string; readOnly?: boolean };
  awsElasticBlockStore?: { volumeID?: string };
  iscsi?: { iqn?: string; readOnly?: boolean };
  rbd?: { monitors?: string[]; pool?: string; image?: string; readOnly?: boolean };
}

/** The spec of a v1 PersistentVolumeClaim. */
export interface RawClaimSpec {
  accessModes?: string[];
  selector?: LabelQuery;
  resources?: { requests?: ResourceList };
  volumeName?: string;
  storageClassName?: string;
  volumeMode?: string;
  volumeAttributesClassName?: string;
}
