/**
 * Reads objects from the server into the cluster state. A server answers 404 to a write also where it does not serve the
 * subresource, so the object is read to find out what such a 404 means (docs/decisions/0029-gone-is-asked-again.md).
 */
import { isOlder } from '../../controller/resource-version.ts';
import type { ClusterPort, NodesClient, PoolWrite } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { membershipSelector, selectorText } from '../../nodepool/membership/selector.ts';
import { deepEqual } from '../../nodepool/merge-patch.ts';
import type { NodePlan } from '../../nodepool/plan/plan.ts';
import { areAnnotationsKnown } from '../../nodepool/spec/annotations.ts';
import { assertWhole } from '../../nodepool/spec/schema.ts';
import type { Node, NodePool } from '../../nodepool/types.ts';
import type { ClusterState } from './cluster-state.ts';

export interface LiveReadDeps {
  cluster: ClusterPort;
  state: ClusterState;
}

/** Undefined when no pool has the name. Throws RestoredError when the server has an older one than is known. @param uid of the one that was known */
export async function readPool(
  name: string,
  uid: string | undefined,
  { cluster, state }: LiveReadDeps,
): Promise<NodePool | undefined> {
  const [known, asked] = [state.pool(name), state.beginRead()];
  const pool = await cluster.pools.getCoerced(name);
  if (pool === undefined) {
    state.removePool(name, uid);
    return undefined;
  }
  assertNotRestored(known, pool);
  state.setPool(pool, asked);
  return pool;
}

/** Whether a pool that was read again is to be reconciled as before. */
export function isSamePool({ metadata, spec }: NodePool, latest: NodePool | undefined): boolean {
  const { uid, deletionTimestamp } = latest?.metadata ?? {};
  return uid === metadata.uid && deletionTimestamp === metadata.deletionTimestamp && deepEqual(latest?.spec, spec);
}

/** Undefined when no node has the name. @param uid of the one that was known */
export async function readNode(name: string, uid: string, { cluster, state }: LiveReadDeps): Promise<Node | undefined> {
  const asked = state.beginRead();
  const node = await cluster.nodes.get(name);
  if (node === undefined) state.removeNode(name, uid);
  else state.setNode(node, asked);
  return node;
}

/** @param cannot the failed write, as `cannot patch Node "a"` */
export function stillExistsError(cannot: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `${cannot}: the server answered that it does not exist, and still has it when it is read`,
    'look for a proxy before the API server that answers in its place; see request and answer with -v 8',
  );
}

/** The pool has another UID than the one that the person was shown. @param action what was to be done with it, as `edited` */
export function recreatedError(pool: string, action: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `nodepool ${pool} was deleted and recreated by somebody else meanwhile; the new one is not changed`,
    `run the command again if that one is to be ${action}, too`,
  );
}

/** The server answers the same as for a pool that does not exist; this pool was found when it was read. */
export function noStatusSubresource(pool: string): NodepoolError {
  return new NodepoolError(
    'cluster',
    `cannot patch the status of NodePool "${pool}": the CRD nodepools.nodes.lailin.xyz serves no status subresource`,
    'run `kubectl nodepool install`',
  );
}

// Notices that the server has an older version of a pool than the cluster state: etcd was restored from a backup. A read is
// answered from etcd, so it is at least as new as what was known when it began.
//
// The cluster state keeps the newer one until the caches notice and all is listed again (controller/history.ts). Whoever planned
// again meanwhile would read the older one again, without a pause: so the reconcile fails, and is retried with backoff.

export class RestoredError extends NodepoolError {
  constructor(message: string, next: string) {
    super('cluster', `${message} (etcd was restored)`, next);
  }
}

/** Throws RestoredError. @param known in the cluster state when the read of `pool` began */
export function assertNotRestored(known: NodePool | undefined, pool: NodePool): void {
  const { name, resourceVersion = '', deletionTimestamp } = pool.metadata;
  if (known === undefined || !isOlder(resourceVersion, known.metadata.resourceVersion ?? '')) return;
  if (known.metadata.deletionTimestamp !== undefined && deletionTimestamp === undefined) throw notDeleted(pool);
  throw new RestoredError(
    `the server has an older version of nodepool ${name} than it had before`,
    `run \`kubectl nodepool reconcile ${name}\``,
  );
}

/** The pool was seen with a deletionTimestamp, which only a restore of etcd removes. */
export function notDeleted({ metadata: { name } }: NodePool): RestoredError {
  return new RestoredError(
    `nodepool ${name} is not being deleted any more: it had a deletionTimestamp, and the server now has it without one`,
    `run \`kubectl nodepool reconcile ${name}\`, or delete it again`,
  );
}

// A guarded write of a pool: the server refuses it where its spec differs from the one that is known here.

/**
 * Returns what the write returns. A write tests fields of the spec (kube/resources/node-pools.ts), and a test that fails is answered
 * like an invalid object: where the spec has been edited since, that is a conflict. Throws DroppedFieldsError where the
 * CRD was replaced.
 */
export async function writePool(
  pool: NodePool,
  send: () => Promise<PoolWrite>,
  deps: LiveReadDeps,
): Promise<PoolWrite> {
  try {
    return await send();
  } catch (error) {
    if (!(error instanceof NodepoolError) || error.isTransient || error.isGeneral) throw error;
    const { name, uid } = pool.metadata;
    const latest = await readPool(name, uid, deps).catch(() => undefined);
    if (latest === undefined) throw error;
    assertWhole(latest);
    if (latest.metadata.uid === uid && deepEqual(latest.spec, pool.spec)) throw error;
    return { kind: 'conflict' };
  }
}

// Reads a pool from the server before its nodes are released because it is gone: the cluster state may be stale or wrong.
//
// The answer is valid for the nodes as the cluster state had them at the read: if the pool has been recreated and has got such
// a node since, the node has another resourceVersion, and the patch that releases it fails with a conflict.

interface Asked {
  /** The nodes that carried the pool's record at the read. */
  nodes: ReadonlySet<Node>;
  isGone: Promise<boolean>;
}

export class GonePools {
  readonly #deps: LiveReadDeps;
  /** By the pool's name. */
  readonly #asked = new Map<string, Asked>();

  constructor(deps: LiveReadDeps) {
    this.#deps = deps;
  }

  /**
   * Whether the plan may be written: it releases no node, or its pool is gone or has a deletionTimestamp. If not, the
   * cluster state has the pool now, and the caller plans again. Throws NodepoolError when the pool cannot be read.
   */
  async mayRelease({ node, previous, owner }: NodePlan): Promise<boolean> {
    if (previous === undefined || previous === owner || this.#deps.state.isActive(previous)) return true;
    const known = this.#asked.get(previous);
    return known?.nodes.has(node) ? known.isGone : this.ask(previous);
  }

  /** Whether the pool is gone or has a deletionTimestamp. Updates the cluster state. */
  ask(pool: string): Promise<boolean> {
    const asked = { nodes: new Set(this.#deps.state.held(pool)), isGone: this.#isGone(pool) };
    this.#asked.set(pool, asked);
    const forget = () => {
      if (this.#asked.get(pool) === asked) this.#asked.delete(pool);
    };
    asked.isGone.then(isGone => isGone || forget(), forget);
    return asked.isGone;
  }

  /** Called after the nodes of the pool were reconciled: a later release reads the pool again. */
  forget(pool: string): void {
    this.#asked.delete(pool);
  }

  async #isGone(name: string): Promise<boolean> {
    const { cluster, state } = this.#deps;
    const [known, asked] = [state.pool(name), state.beginRead()];
    const pool = await cluster.pools.getCoerced(name);
    if (pool === undefined) {
      state.removePool(name, known?.metadata.uid);
      return true;
    }
    const isKnown = pool.metadata.uid === known?.metadata.uid;
    // A dry run marks it for deletion in the cluster state alone.
    if (cluster.isDryRun && isKnown) return true;
    // The cluster state does not go back to an older resourceVersion: a plan from it would release the nodes.
    assertNotRestored(known, pool);
    state.setPool(pool, asked);
    if (pool.metadata.deletionTimestamp !== undefined) return true;
    if (isKnown && !state.isActive(name)) throw notDeleted(pool);
    return false;
  }
}

// Nodes that were read before their pool, or before it set another annotation, were read without it: only annotations of
// known pools are kept (docs/decisions/0039). NodeWriter reads such a node again before it writes it; here many are read
// at once.

type Lists = Pick<NodesClient, 'list'>;

/** Whether members of a pool were read without annotations that it sets. */
export function hasUnread(state: ClusterState): boolean {
  for (const { metadata } of state.pools()) if (unread(state, metadata.name).length > 0) return true;
  return false;
}

/** Lists the nodes once more into the state if that is so. */
export async function readAnnotations(state: ClusterState, list: Lists['list']): Promise<void> {
  if (hasUnread(state)) await readInto(state, list);
}

/**
 * As readAnnotations(), for the members of one pool. A single one, and those after a refusal, are left to NodeWriter.
 * Undefined when nothing is read.
 */
export function readAnnotationsOf(pool: string, state: ClusterState, nodes: Lists): Promise<void> | undefined {
  const known = state.pool(pool);
  if (known === undefined || unread(state, pool).length < 2) return undefined;
  const selector = selectorText(membershipSelector(known));
  return readInto(state, () => nodes.list(selector)).catch(ignoreRefusal);
}

/** For a display that follows pools and nodes: call it after each change of a pool. Lists once at a time. */
export function annotationReader({ list }: Lists, state: () => ClusterState, onRead: () => void): () => void {
  let isReading = false;
  return () => {
    if (isReading || !hasUnread(state())) return;
    isReading = true;
    const end = () => {
      isReading = false;
    };
    void readInto(state(), list).then(onRead).catch(ignoreRefusal).finally(end);
  };
}

function unread(state: ClusterState, pool: string): string[] {
  const keys = Object.keys(state.pool(pool)?.spec.annotations ?? {});
  if (keys.length === 0) return [];
  return state.members(pool).flatMap(node => {
    const recorded = state.ownership(node.name)?.record?.annotations;
    return areAnnotationsKnown(node, recorded, keys) ? [] : node.name;
  });
}

async function readInto(state: ClusterState, list: Lists['list']): Promise<void> {
  const asked = state.beginRead();
  for (const node of await list()) state.setNode(node, asked);
}

function ignoreRefusal(error: unknown): void {
  if (!(error instanceof NodepoolError)) throw error;
}
