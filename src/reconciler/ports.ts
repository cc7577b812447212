/** What the reconciler asks of a cluster, resource by resource. */
import type { NodePatch } from '../nodepool/plan.ts';
import type { Node, NodePool, NodePoolStatus, RuntimeClass } from '../nodepool/types.ts';

export type { NodePatch };

export type NodeWrite = { kind: 'written'; node: Node } | { kind: 'conflict' } | { kind: 'gone' };
export type PoolWrite = { kind: 'written'; pool: NodePool } | { kind: 'conflict' } | { kind: 'gone' };

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

export interface NodesPort {
  /**
   * Nodes as the server has them now, by name; never from a possibly stale cache.
   * @param labelSelector as the server takes it; without one, every node
   */
  listNodes(labelSelector?: string): Promise<Node[]>;
  getNode(name: string): Promise<Node | undefined>;
  /** The field manager other than us that set the field last, as `['metadata', 'labels', 'tier']`; undefined when there is none. */
  nodeFieldManager(name: string, path: readonly string[]): Promise<string | undefined>;
  /** @param options `dryRun`: the server checks it and keeps nothing, also where other writes are kept */
  patchNode(name: string, patch: NodePatch, options?: { dryRun: true }): Promise<NodeWrite>;
}

export interface NodePoolsPort {
  listPools(): Promise<NodePool[]>;
  getPool(name: string): Promise<NodePool | undefined>;
  /** As nodeFieldManager(). */
  poolFieldManager(name: string, path: readonly string[]): Promise<string | undefined>;
  /** Replaces the finalizer list, guarded by the pool's resourceVersion. */
  setFinalizers(pool: NodePool, finalizers: string[]): Promise<PoolWrite>;
  /** Sets one annotation, guarded by the pool's resourceVersion. */
  annotatePool(pool: NodePool, key: string, value: string): Promise<PoolWrite>;
  /** Replaces the status, guarded by the pool's resourceVersion and fields of its spec. `gone`, too, where no status subresource is served. */
  patchStatus(pool: NodePool, status: NodePoolStatus): Promise<PoolWrite>;
}

export interface RuntimeClassesPort {
  /** Every RuntimeClass. */
  listRuntimeClasses(): Promise<RuntimeClass[]>;
  getRuntimeClass(name: string): Promise<RuntimeClass | undefined>;
  createRuntimeClass(
    runtimeClass: RuntimeClass,
  ): Promise<{ kind: 'created'; runtimeClass: RuntimeClass } | { kind: 'exists' }>;
  /** Replaces `scheduling`, guarded by resourceVersion. The handler is immutable on the server. */
  patchRuntimeClass(
    current: RuntimeClass,
    scheduling: NonNullable<RuntimeClass['scheduling']>,
  ): Promise<{ kind: 'written'; runtimeClass: RuntimeClass } | { kind: 'conflict' } | { kind: 'gone' }>;
  /** Guarded by the UID: never deletes another object of that name. `marked`: finalizers of others hold it. */
  deleteRuntimeClass(current: RuntimeClass): Promise<'deleted' | 'marked' | 'conflict' | 'gone'>;
}

/** What the reconciler asks of a cluster. src/kube implements it; expected refusals are values, everything else throws. */
export interface ClusterPort extends NodesPort, NodePoolsPort, RuntimeClassesPort {
  createEvent(pool: NodePool, event: PoolEvent): Promise<void>;
}
