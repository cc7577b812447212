/** The API clients that the reconciler and the use cases need, one for each resource. */

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
  /** What the reporter did, in CamelCase: `Reconcile`, `Delete`. */
  action: string;
  /** At most 1,024 bytes. */
  note: string;
}

/** A NodePool exactly as the server sent it, including unknown fields. It is printed and edited in this form. */
export type RawPool = NodePool & Record<string, unknown>;

/** Reads are answered from etcd. Nodes have the annotations of the pools that were read before them. */
export interface NodesClient<Listed extends Node = Node> {
  /** @param labelSelector in the server's syntax; default: every node */
  list(labelSelector?: string): Promise<Listed[]>;
  watch(): WatchedResource<Node>;
  get(name: string): Promise<Node | undefined>;
  /** The clock for timestamps on nodes: the server's at its last response, the local one before the first. */
  serverTime(): Date;
  /** The last other field manager of a field, as `['metadata', 'labels', 'tier']`; undefined if there is none. */
  fieldManager(name: string, path: readonly string[]): Promise<string | undefined>;
  /** As fieldManager(), for several fields in one read. Undefined if the node does not exist. */
  fieldSetters(name: string, paths: readonly string[][]): Promise<(FieldSetter | undefined)[] | undefined>;
  /** Merge patch, guarded by its resourceVersion. @param options `isTrial`: the server only validates it */
  patch(name: string, patch: NodePatch, options?: { isTrial?: boolean }): Promise<NodeWrite>;
}

export interface NodePoolsClient {
  list(selectors?: PoolSelectors): Promise<RawPool[]>;
  get(name: string): Promise<RawPool | undefined>;
  /** At most 500 names, from one request; empty if the user may not list them. */
  firstNames(): Promise<string[]>;
  /** Pools that were not selected become undefined. @param selection an empty `names` means all */
  watchRaw(selection: { names: readonly string[] } & PoolSelectors): WatchedResource<RawPool | undefined>;
  /** Coerced, as in listCoerced(). */
  watch(): WatchedResource<NodePool>;
  /** Fields of wrong types are left out and reported. */
  listCoerced(): Promise<NodePool[]>;
  /** As listCoerced(). */
  getCoerced(name: string): Promise<NodePool | undefined>;
  /** As in NodesClient. */
  fieldManager(name: string, path: readonly string[]): Promise<string | undefined>;
  /** Throws if the server does not serve NodePools. */
  assertServed(): Promise<void>;
  /** Sends the body unchanged, with fieldValidation=Strict. `exists` if the name is taken. */
  create(pool: RawPool): Promise<{ kind: 'created'; pool: RawPool } | { kind: 'exists' }>;
  /** JSON merge patch with fieldValidation=Strict, guarded by its metadata.resourceVersion, if any. */
  patch(name: string, patch: Record<string, unknown>): Promise<PoolWrite<RawPool>>;
  /** Replaces the finalizer list, guarded by the pool's resourceVersion. */
  setFinalizers(pool: NodePool, finalizers: string[]): Promise<PoolWrite>;
  /** Sets one annotation, guarded by the pool's resourceVersion. @param value undefined removes it */
  annotate(pool: NodePool, key: string, value: string | undefined): Promise<PoolWrite>;
  /** Guarded by the pool's resourceVersion and spec fields. `gone` also if the status subresource is not served. */
  patchStatus(pool: NodePool, status: NodePoolStatus): Promise<PoolWrite>;
  /** Guarded by the UID. `marked`: the pool has a deletionTimestamp and stays while it has finalizers. */
  delete(pool: RawPool): Promise<'deleted' | 'marked' | 'gone'>;
}

/** Selectors in the server's syntax. */
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
  /** Guarded by the UID: never deletes another object of that name. `marked`: finalizers delay the deletion. */
  delete(current: RuntimeClass): Promise<'deleted' | 'marked' | 'conflict' | 'gone'>;
}

export interface ControllerRevisionsClient {
  /** All revisions with the label of the pool, of any owner. */
  list(pool: string): Promise<ControllerRevision[]>;
  /** As list(), without the stored data. @param pool undefined: all pools, in one list */
  heads(pool?: string): Promise<RevisionHead[]>;
  get(name: string): Promise<ControllerRevision | undefined>;
  create(revision: ControllerRevision): Promise<{ kind: 'created'; revision: ControllerRevision } | { kind: 'exists' }>;
  /** Guarded by UID and resourceVersion. @param to a null annotation is removed, others stay */
  update(
    current: Pick<RevisionHead, 'metadata'>,
    to: { revision: number; annotations: Record<string, string | null> },
  ): Promise<{ kind: 'written'; revision: ControllerRevision } | { kind: 'conflict' } | { kind: 'gone' }>;
  /** Guarded by the UID. */
  delete(current: Pick<RevisionHead, 'metadata'>): Promise<'deleted' | 'marked' | 'conflict' | 'gone'>;
}

/** How a client removes pods. */
export interface RemovalOptions {
  /** Default: the pod's terminationGracePeriodSeconds. */
  gracePeriodSeconds?: number | undefined;
  /** Deletes pods instead of evicting them, without checking budgets. */
  disableEviction?: boolean;
}

/** The result of an eviction or delete. A permanent refusal is thrown instead. */
export type RemovalResult =
  /** The pod terminates after its grace period. */
  | { kind: 'accepted' }
  /** No pod of that name and UID exists. */
  | { kind: 'gone' }
  /** A conflict: the pod was changed or recreated, or its budget was changed, at the same time. */
  | { kind: 'changed' }
  /** A PodDisruptionBudget does not allow the eviction now. */
  | { kind: 'budget'; budget: string | undefined; message: string }
  /** The server is overloaded. @param afterMs its Retry-After, if any */
  | { kind: 'busy'; afterMs: number | undefined; message: string }
  /** The namespace is being deleted: it accepts no evictions, and the pod will be deleted. */
  | { kind: 'namespace ends'; message: string }
  /** The server never evicts a pod with several budgets. @param budgets their names; empty if they cannot be listed */
  | { kind: 'many budgets'; budgets: readonly string[] };

export interface EvictionsClient {
  /** @param podSelector a label selector in the server's syntax */
  podsOn(node: string, podSelector?: string): Promise<DrainPod[]>;
  /** PodDisruptionBudgets. @param namespace default: all namespaces */
  budgets(namespace?: string): Promise<Budget[]>;
  hasDaemonSet(namespace: string, name: string): Promise<boolean>;
  /** Evicts or deletes the pod, by the RemovalOptions of this client. Throws NodepoolError for any other refusal. */
  evict(pod: DrainPod): Promise<RemovalResult>;
}

/** A client for each reconciled resource, implemented in src/kube. Expected refusals are values, others are thrown. */
export interface ClusterPort {
  /** The server only validates each write; the cluster state alone shows what a write marked. */
  isDryRun: boolean;
  /** For every plan of this command. */
  rules?: PlanRules;
  nodes: NodesClient;
  pools: NodePoolsClient;
  runtimeClasses: RuntimeClassesClient;
  revisions: ControllerRevisionsClient;
  createEvent(pool: NodePool, event: PoolEvent): Promise<void>;
  evictions(removal?: RemovalOptions): Promise<EvictionsClient>;
}

/** Where a write stops: nowhere, before it is sent, or at the server's validation (dryRun=All). */
export type DryRun = 'none' | 'client' | 'server';

/** Reads everything that determines the members of pools. */
export interface ClusterReader extends Pick<ClusterPort, 'rules'> {
  pools: Pick<NodePoolsClient, 'listCoerced'>;
  nodes: Pick<NodesClient, 'list' | 'serverTime'>;
}
