/** The clients that the use cases take beside those of the reconciler. src/kube implements them. */
import type { LeasePort } from '../controller/leader-election.ts';
import type { ReviewPort } from '../controller/metrics-readers.ts';
import type { EventSink } from '../controller/recorder.ts';
import type { Watched } from '../controller/source.ts';
import type { NodeAnnotations } from '../nodepool/adopt/adopt-annotations.ts';
import type { DatedNode } from '../nodepool/managed-fields.ts';
import type { Node } from '../nodepool/types.ts';
import type { ClusterPort, NodePoolsClient, NodesClient, RawPool } from './cluster.ts';
import type { DoctorPort } from './ports/doctor.ts';
import type { MaintenancePort } from './ports/maintenance.ts';
import type { SchedulingPort } from './ports/scheduling.ts';
import type { ImpactPort } from './resources/impact.ts';
import type { PodsPort, PodUsage, Usage } from './resources/pods.ts';
import type { WorkloadsPort } from './resources/workloads.ts';

/** Where a write stops: not at all, before it is sent, or at the server's validation (dryRun=All). */
export type DryRun = 'none' | 'client' | 'server';

/** One event of a pool, from events.k8s.io/v1 or core/v1 (the server serves both from one store). */
export interface PoolEventRecord {
  pool: string;
  poolUid: string | undefined;
  type: string;
  reason: string;
  note: string;
  /** RFC 3339. */
  lastSeen: string;
  firstSeen: string;
  count: number;
  reporter: string;
}

/** One event of a node. */
export type NodeEventRecord = Omit<PoolEventRecord, 'pool' | 'poolUid'>;

/** With the node that it is about, of that UID. */
export interface NamedNodeEventRecord extends NodeEventRecord {
  node: string;
  uid: string | undefined;
}

/** With the Event as the server has it. */
export interface PoolEventObject extends PoolEventRecord {
  object: { metadata: { name: string; creationTimestamp?: string } };
}

export interface EventsPort {
  /** All events about NodePools, or about one. Unsorted. */
  list(pool?: string): Promise<PoolEventRecord[]>;
  /** All events about the node, and about earlier ones of its name. Unsorted. */
  listAboutNode(node: string): Promise<NamedNodeEventRecord[]>;
  /** All events about nodes with the reason. Unsorted. */
  listAboutNodes(reason: string): Promise<NamedNodeEventRecord[]>;
  /** As list(). Events of another kind NodePool are transformed to undefined. */
  watch(pool?: string): Watched<PoolEventRecord | undefined>;
  /** As list() and watch(), with the objects. */
  listObjects(pool?: string): Promise<PoolEventObject[]>;
  watchObjects(pool?: string): Watched<PoolEventObject | undefined>;
  /** Where a controller process sends its events. */
  sink(): EventSink;
}

export interface CrdPort {
  /** The installed CRD, raw, or undefined. */
  get(): Promise<Record<string, unknown> | undefined>;
  /** The other API groups that serve nodepools, such as karpenter.sh: kubectl may mean theirs. */
  otherGroups(): Promise<string[]>;
  /** Creates or updates it: server-side apply, field manager kubectl-nodepool. */
  apply(crd: Record<string, unknown>): Promise<'created' | 'configured' | 'unchanged'>;
  /** Resolves when the API serves nodepools (condition Established and the first list answers); throws after the timeout. */
  waitUntilEstablished(timeoutMs: number): Promise<void>;
  /** Guarded by the UID of the CRD that was read; throws NodepoolError when the CRD was recreated since. */
  delete(crd: Record<string, unknown>): Promise<'deleted' | 'gone'>;
  /** Resolves when the CRD is gone, or the signal is aborted; throws after the timeout. */
  waitUntilGone(timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

/** One document of a manifest. */
export type ManifestObject = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; uid?: string; [field: string]: unknown };
  [field: string]: unknown;
};

/** The objects of the controller in the cluster; only their kinds are known. */
export interface ManifestsPort {
  /** Whether the server serves the object's kind in its version, by discovery. */
  isServed(object: ManifestObject): Promise<boolean>;
  /** The one of that name as the server has it, raw. */
  get(object: ManifestObject): Promise<ManifestObject | undefined>;
  /** Those of the kind that `keep` takes, in all namespaces. */
  list(
    kind: Pick<ManifestObject, 'apiVersion' | 'kind'>,
    keep: (object: ManifestObject) => boolean,
  ): Promise<ManifestObject[]>;
  /** Creates or updates it: server-side apply, field manager kubectl-nodepool. `no namespace`: its own does not exist. */
  apply(
    object: ManifestObject,
  ): Promise<{ applied: 'created' | 'configured' | 'unchanged'; object: ManifestObject } | 'no namespace'>;
  /** Replaces the whole spec, guarded by the resourceVersion of `live`. */
  replaceSpec(live: ManifestObject, spec: unknown): Promise<void>;
  /** With its UID as precondition, if it has one; throws NodepoolError when another object has the name by now. */
  delete(object: ManifestObject): Promise<'deleted' | 'gone'>;
}

export type { LeasePort, RawPool };

/** Reads what decides on the members of pools. */
export interface ClusterReader extends Pick<ClusterPort, 'rules'> {
  pools: Pick<NodePoolsClient, 'listCoerced'>;
  nodes: Pick<NodesClient, 'list' | 'serverTime'>;
}

export type RawNode = { metadata: { name: string } } & Record<string, unknown>;

/** What the server says of itself, as far as it does. */
export interface ServerFacts {
  /** As `v1.36.3`. */
  version?: string;
  /** Its clock, to the second. */
  time?: Date;
}

export interface AnnotatedNodes {
  nodes: Node[];
  /** In the same order. */
  annotations: NodeAnnotations[];
}

export type LabelledNode = Pick<Node, 'name' | 'labels'>;

/** All clients of one cluster as one user. */
export interface Connection {
  cluster: ClusterPort;
  events: EventsPort;
  crd: CrdPort;
  manifests: ManifestsPort;
  pods: PodsPort;
  /** The name and labels of each node; reads metadata alone. @param labelSelector as the server takes it; without one, every node */
  nodeLabels(labelSelector?: string): Promise<LabelledNode[]>;
  /** All nodes, and what `adopt` may take over of the annotations of each. */
  annotatedNodes(): Promise<AnnotatedNodes>;
  /** A node exactly as the server sent it. */
  nodeObject(name: string): Promise<RawNode | undefined>;
  /** A node with who set its fields, and when. Undefined if there is none. */
  datedNode(name: string): Promise<DatedNode | undefined>;
  /** What nodes use by metrics.k8s.io. Never rejects for want of it. @param signal ends the wait */
  nodeUsage(signal: AbortSignal): Promise<Usage>;
  /** The same of all pods. */
  podUsage(signal: AbortSignal): Promise<PodUsage>;
  scheduling(): Promise<SchedulingPort>;
  impact(): Promise<ImpactPort>;
  workloads(): Promise<WorkloadsPort>;
  /** A coordination.k8s.io Lease. */
  lease(namespace: string, name: string): LeasePort;
  /** Who may read the metrics. */
  readerReviews(): Promise<ReviewPort>;
  doctor(): Promise<DoctorPort>;
  maintenance(): Promise<MaintenancePort>;
  /** The server's git version, as `v1.36.3`. */
  serverVersion(): Promise<string>;
  serverFacts(): Promise<ServerFacts>;
  /** Of the kubeconfig; undefined with --cluster alone, and inside of a cluster. */
  contextName: string | undefined;
  /** Of the kubeconfig: what people call the cluster. */
  clusterName: string;
  /** Ends the sockets, so that the process can end. */
  close(): void;
}
