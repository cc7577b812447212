/** The clients of the API server that the reconciler and the use cases take, one for each resource. */

import type { WatchedResource } from '../controller/source.ts';
import type { Budget } from '../nodepool/drain/budgets.ts';
import type { DrainPod } from '../nodepool/drain/drain-filters.ts';
import type { PlanRules } from '../nodepool/plan/merge-slots.ts';
import type { FieldSetter, NodePatch } from '../nodepool/plan/plan.ts';
import type { ControllerRevision, RevisionHead } from '../nodepool/rollout/revisions.ts';
import type { Node, NodePool, NodePoolStatus, RuntimeClass } from '../nodepool/types.ts';

export type { NodePatch };

export type NodeWrite = { kind: 'written'; node: Node } | { kind: 'conflict' } | { kind: 'gone' };
export type PoolWrite<Pool = NodePool> = { kind: 'written'; pool: Pool } | { kind: 'conflict' } | { kind: 'gone' };

/** An events.k8s.io/v1 Event about one pool. */
export interface PoolEvent {
  type: 'Normal' | 'Warning';
  /** CamelCase, at most 128 bytes. */
  reason: string;
  /** What the reporter did, CamelCase: `Reconcile`, `Delete`. */
  action: string;
  /** At most 1,024 bytes. */
  note: string;
}

/** A NodePool exactly as the server sent it, unknown fields included: what is printed and edited. */
export type RawPool = NodePool & Record<string, unknown>;

/** Reads are answered from etcd. Nodes have the annotations of the pools that were read before them. */
export interface NodesClient<Listed extends Node = Node> {
  /** @param labelSelector as the server takes it; without one, every node */
  list(labelSelector?: string): Promise<Listed[]>;
  watch(): WatchedResource<Node>;
  get(name: string): Promise<Node | undefined>;
  /** The clock of the timestamps of nodes: the server's by its last response, the local one before the first. */
  serverTime(): Date;
  /** The field manager other than us that set the field last, as `['metadata', 'labels', 'tier']`; undefined when there is none. */
  fieldManager(name: string, path: readonly string[]): Promise<string | undefined>;
  /** As fieldManager(), of several fields in one read. Undefined when the node does not exist. */
  fieldSetters(name: string, paths: readonly string[][]): Promise<(FieldSetter | undefined)[] | undefined>;
  /** Merge patch, guarded by the resourceVersion in it. @param options `isTrial`: the server checks it and stores nothing */
  patch(name: string, patch: NodePatch, options?: { isTrial?: boolean }): Promise<NodeWrite>;
}

export interface NodePoolsClient {
  list(selectors?: PoolSelectors): Promise<RawPool[]>;
  get(name: string): Promise<RawPool | undefined>;
  /** At most 500 names, from one request; none where it is refused. */
  firstNames(): Promise<string[]>;
  /** Pools that were not selected are transformed to undefined. @param selection names: empty means all */
  watchRaw(selection: { names: readonly string[] } & PoolSelectors): WatchedResource<RawPool | undefined>;
  /** Coerced, as listCoerced(). */
  watch(): WatchedResource<NodePool>;
  /** Fields of wrong types are left out and named. */
  listCoerced(): Promise<NodePool[]>;
  /** As listCoerced(). */
  getCoerced(name: string): Promise<NodePool | undefined>;
  /** As in NodesClient. */
  fieldManager(name: string, path: readonly string[]): Promise<string | undefined>;
  /** Throws where the server does not serve NodePools. */
  assertServed(): Promise<void>;
  /** The body is sent as it is, with fieldValidation=Strict. `exists` when the name is taken. */
  create(pool: RawPool): Promise<{ kind: 'created'; pool: RawPool } | { kind: 'exists' }>;
  /** JSON merge patch, with fieldValidation=Strict. Guarded by the metadata.resourceVersion in it, if any. */
  patch(name: string, patch: Record<string, unknown>): Promise<PoolWrite<RawPool>>;
  /** Replaces the finalizer list, guarded by the pool's resourceVersion. */
  setFinalizers(pool: NodePool, finalizers: string[]): Promise<PoolWrite>;
  /** Sets one annotation, guarded by the pool's resourceVersion. @param value undefined removes it */
  annotate(pool: NodePool, key: string, value: string | undefined): Promise<PoolWrite>;
  /** Replaces the status, guarded by the pool's resourceVersion and fields of its spec. `gone`, too, where no status subresource is served. */
  patchStatus(pool: NodePool, status: NodePoolStatus): Promise<PoolWrite>;
  /** Guarded by the UID. `marked`: the pool has a deletionTimestamp and stays while it has finalizers. */
  delete(pool: RawPool): Promise<'deleted' | 'marked' | 'gone'>;
}

/** As the server takes them. */
export interface PoolSelectors {
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

export interface RuntimeClassesClient {
  list(): Promise<RuntimeClass[]>;
  watch(): WatchedResource<RuntimeClass>;
  get(name: string): Promise<RuntimeClass | undefined>;
  create(runtimeClass: RuntimeClass): Promise<{ kind: 'created'; runtimeClass: RuntimeClass } | { kind: 'exists' }>;
  /** Replaces `scheduling`, guarded by resourceVersion. The handler is immutable on the server. */
  patch(
    current: RuntimeClass,
    scheduling: NonNullable<RuntimeClass['scheduling']>,
  ): Promise<{ kind: 'written'; runtimeClass: RuntimeClass } | { kind: 'conflict' } | { kind: 'gone' }>;
  /** Guarded by the UID: never deletes another object of that name. `marked`: finalizers of others delay it. */
  delete(current: RuntimeClass): Promise<'deleted' | 'marked' | 'conflict' | 'gone'>;
}

export interface ControllerRevisionsClient {
  /** All with the label of the pool, of any owner. */
  list(pool: string): Promise<ControllerRevision[]>;
  /** As list(), without what they keep. @param pool undefined: of all pools, in one list */
  heads(pool?: string): Promise<RevisionHead[]>;
  get(name: string): Promise<ControllerRevision | undefined>;
  create(revision: ControllerRevision): Promise<{ kind: 'created'; revision: ControllerRevision } | { kind: 'exists' }>;
  /** Guarded by UID and resourceVersion. @param to annotations that are null are removed, others stay */
  update(
    current: Pick<RevisionHead, 'metadata'>,
    to: { revision: number; annotations: Record<string, string | null> },
  ): Promise<{ kind: 'written'; revision: ControllerRevision } | { kind: 'conflict' } | { kind: 'gone' }>;
  /** Guarded by the UID. */
  delete(current: Pick<RevisionHead, 'metadata'>): Promise<'deleted' | 'marked' | 'conflict' | 'gone'>;
}

/** How a client removes pods. */
export interface RemovalOptions {
  /** Undefined: the pod's terminationGracePeriodSeconds. */
  gracePeriodSeconds?: number | undefined;
  /** Deletes pods instead of evicting them: no budget is checked. */
  disableEviction?: boolean;
}

/** The result of an eviction or delete. A permanent refusal is thrown. */
export type RemovalResult =
  /** The pod terminates after its grace period. */
  | { kind: 'accepted' }
  /** No pod of that name and UID is there. */
  | { kind: 'gone' }
  /** A conflict: somebody changed or recreated the pod, or changed its budget, at the same time. */
  | { kind: 'changed' }
  /** A PodDisruptionBudget does not allow the eviction now. */
  | { kind: 'budget'; budget: string | undefined; message: string }
  /** The server is overloaded. @param afterMs its Retry-After, if any */
  | { kind: 'busy'; afterMs: number | undefined; message: string }
  /** Its namespace is being deleted: no eviction is accepted there, and the pod will be deleted. */
  | { kind: 'namespace ends'; message: string }
  /** The server never evicts such a pod. @param budgets their names; empty where they cannot be listed */
  | { kind: 'many budgets'; budgets: readonly string[] };

export interface EvictionsClient {
  /** @param podSelector a label selector, as the server takes it */
  podsOn(node: string, podSelector?: string): Promise<DrainPod[]>;
  /** PodDisruptionBudgets. @param namespace default: of all */
  budgets(namespace?: string): Promise<Budget[]>;
  hasDaemonSet(namespace: string, name: string): Promise<boolean>;
  /** As the PodRemoval says with which the client was opened. Throws NodepoolError when the server refuses it for another reason. */
  evict(pod: DrainPod): Promise<RemovalResult>;
}

/** A client for each resource that is reconciled. src/kube implements them; expected refusals are values, all others are thrown. */
export interface ClusterPort {
  /** The server validates each write and stores none: what a write marked is marked in the cluster state alone. */
  isDryRun: boolean;
  /** Of every plan of this command. */
  rules?: PlanRules;
  nodes: NodesClient;
  pools: NodePoolsClient;
  runtimeClasses: RuntimeClassesClient;
  revisions: ControllerRevisionsClient;
  createEvent(pool: NodePool, event: PoolEvent): Promise<void>;
  evictions(removal?: RemovalOptions): Promise<EvictionsClient>;
}

/** Where a write stops: not at all, before it is sent, or at the server's validation (dryRun=All). */
export type DryRun = 'none' | 'client' | 'server';

/** Reads what decides on the members of pools. */
export interface ClusterReader extends Pick<ClusterPort, 'rules'> {
  pools: Pick<NodePoolsClient, 'listCoerced'>;
  nodes: Pick<NodesClient, 'list' | 'serverTime'>;
}
