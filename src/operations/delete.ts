/** Deletes pools and does the release work itself: it never hangs for want of a controller. */

import { createLimiter, type Limiter } from '../controller/limiter.ts';
import { NodepoolError } from '../nodepool/errors.ts';
import { formatRecord } from '../nodepool/record.ts';
import { membershipSelector } from '../nodepool/selector.ts';
import { soundPool } from '../nodepool/sound.ts';
import { FINALIZER, type Node, type NodePool } from '../nodepool/types.ts';
import { addFinalizer } from '../reconciler/finalizer.ts';
import { stillThere } from '../reconciler/live-reads.ts';
import type { NodeMove } from '../reconciler/node-writer.ts';
import { View } from '../reconciler/view.ts';
import { type Estate, estateOf, settleHeirs } from './heirs.ts';
import { loadView } from './load-view.ts';
import { type LabelChange, patchLabels } from './node-labels.ts';
import { poolNotFound } from './not-found.ts';
import type { PoolsPort, RawPool } from './ports.ts';
import { firstStripWarning, type PoolSummary, type ReconcileDeps, reconcileView, staleWarnings } from './reconcile.ts';

export interface DeleteOptions {
  /** As findPools() gave them: one that was made anew under its name since is not deleted. */
  pools: readonly RawPool[];
  /** Also takes the label `node-role.kubernetes.io/<pool>` off the nodes. */
  detachNodes: boolean;
  concurrency: number;
  dryRun: boolean;
}

export interface FindOptions {
  names: string[];
  /** Names that do not exist are passed over. */
  ignoreNotFound: boolean;
  detachNodes: boolean;
}

export interface DeleteResult {
  pool: string;
  summary: PoolSummary;
  /** Nodes that were written because it let go of them. */
  released: number;
  /** How many of them went to which other pool. */
  heirs: ReadonlyMap<string, number>;
  /** Nodes that lost their membership label. */
  detached: number;
  /** Other finalizers that keep the pool; empty when it is gone. */
  finalizers: string[];
}

type DeleteDeps = ReconcileDeps & { pools: PoolsPort };

/** Throws, and deletes nothing, when a name does not exist or the nodes of a pool cannot be detached. */
export async function findPools(
  { names, ignoreNotFound, detachNodes }: FindOptions,
  pools: PoolsPort,
): Promise<RawPool[]> {
  const unique = [...new Set(names)];
  const answers = await Promise.all(unique.map(name => pools.get(name)));
  const missing = unique.filter((_, index) => answers[index] === undefined);
  if (missing.length > 0 && !ignoreNotFound) throw poolNotFound(missing);
  const found = answers.filter(pool => pool !== undefined);
  const selecting = found.find(pool => pool.spec.nodeSelector !== undefined);
  if (detachNodes && selecting !== undefined) throw notDetachable(selecting);
  return found;
}

/**
 * Killed at any point, the same call finishes the work: the pool stays, marked, until its nodes are released.
 * A pool that cannot be deleted does not stop the others: its summary has the error.
 */
export async function deletePools(options: DeleteOptions, deps: DeleteDeps): Promise<DeleteResult[]> {
  const { pools } = options;
  if (pools.length === 0) return [];
  const limit = createLimiter(options.concurrency);
  const errors = new Map<string, NodepoolError>();
  const go = async (pool: RawPool, work: () => Promise<void>) => {
    try {
      await work();
    } catch (error) {
      if (!(error instanceof NodepoolError)) throw error;
      errors.set(pool.metadata.name, error);
    }
  };
  const able = () => pools.filter(pool => !errors.has(pool.metadata.name));

  await Promise.all(pools.map(pool => go(pool, () => limit(() => mark(pool, options, deps)))));
  const view = await loadView(deps.cluster);
  for (const pool of able()) await go(pool, async () => checkMarked(pool, view, options.dryRun, deps.now()));
  const finalizers = new Map(able().map(({ metadata: { name } }) => [name, foreignFinalizers(view.pool(name))]));
  // Before the labels go: they tell whose the nodes were, and who else wanted them.
  const estate = estateOf(view, namesOf(able()));
  const detached = new Map<string, number>();
  for (const pool of options.detachNodes ? able() : []) {
    const count = () => detach(pool, view, estate, limit, deps);
    await go(pool, async () => void detached.set(pool.metadata.name, await count()));
  }
  deps.warn(estate.heirs.flatMap(heir => firstStripWarning(view, heir, { among: estate.formerPool })));

  const summaries = await reconcileView(view, namesOf(able()), options, deps);
  const released = new Set(summaries.filter(isReleased).map(({ pool }) => pool));
  const inherited = released.size === 0 ? [] : await settleHeirs(view, { ...estate, released }, options, deps);
  const moves = [...summaries, ...inherited].flatMap(({ outcome }) => outcome?.moves ?? []);
  const moved = Map.groupBy(moves, ({ node, from }) => from ?? estate.formerPool.get(node));
  // The deletion is done all the same.
  deps.warn(inherited.flatMap(staleWarnings));
  return pools.map(({ metadata: { name } }) => ({
    pool: name,
    summary: summaries.find(summary => summary.pool === name) ?? refused(name, errors.get(name)),
    released: moved.get(name)?.length ?? 0,
    heirs: heirsOf(moved.get(name) ?? []),
    detached: detached.get(name) ?? 0,
    finalizers: finalizers.get(name) ?? [],
  }));
}

function namesOf(pools: readonly RawPool[]): string[] {
  return pools.map(({ metadata }) => metadata.name);
}

function isReleased({ outcome }: PoolSummary): boolean {
  return outcome?.kind === 'released' && outcome.failures.length === 0;
}

/** How many nodes went to which pool. */
function heirsOf(moves: readonly NodeMove[]): Map<string, number> {
  const heirs = new Map<string, number>();
  for (const { to } of moves) if (to !== undefined) heirs.set(to, (heirs.get(to) ?? 0) + 1);
  return heirs;
}

async function mark(pool: RawPool, { dryRun }: DeleteOptions, deps: DeleteDeps): Promise<void> {
  // One that has lost the finalizer would be gone at once, before its RuntimeClass is. On one with fields of wrong types
  // the server refuses it; such a pool has no RuntimeClass, unless it was good once and has the finalizer from then.
  if (soundPool(pool).unreadable === undefined) {
    await addFinalizer(pool, { ...deps, view: new View([pool], [], []) });
  }
  await deps.pools.delete(pool, { dryRun });
}

/** Throws when the name now is another pool's. One that is gone may have left nodes, and those are released. */
function checkMarked(pool: RawPool, view: View, dryRun: boolean, now: Date): void {
  const { name, uid } = pool.metadata;
  const current = view.pool(name);
  if (current === undefined) return;
  if (current.metadata.uid === uid) {
    if (dryRun) view.setPool(marked(current, now));
    if (view.pool(name)?.metadata.deletionTimestamp !== undefined) return;
    throw stillThere(`cannot delete NodePool "${name}"`);
  }
  throw new NodepoolError(
    'cluster',
    `nodepool ${name} was deleted and made anew by somebody else meanwhile; the new one is left as it is`,
    'run the command again if that one is to go, too',
  );
}

/** Before the release, so that a run that was killed in between still finds the pool. Gives the number of nodes. */
async function detach(
  pool: NodePool,
  view: View,
  { formerPool }: Estate,
  limit: Limiter,
  { cluster }: DeleteDeps,
): Promise<number> {
  const { name } = pool.metadata;
  const labels = Object.fromEntries(Object.keys(membershipSelector(pool)).map(key => [key, null]));
  const nodes = view.matching(pool).filter(node => {
    const claim = view.claim(node.name);
    // The pool is marked, so that another one that matches the node is its owner now.
    return claim?.owner === undefined || [claim.owner, claim.record?.pool, formerPool.get(node.name)].includes(name);
  });
  const change = (node: Node): LabelChange => {
    view.setNode(node);
    const record = view.claim(node.name)?.record;
    // What an inherited pool holds is told by the label alone: the record has to take over from it.
    return node.record !== undefined || record === undefined ? { labels } : { labels, record: formatRecord(record) };
  };
  const writes = nodes.map(node =>
    limit(async () => {
      const written = await patchLabels(node, change, cluster);
      if (written === undefined) view.removeNode(node.name, node.uid);
      else view.setNode(written);
    }),
  );
  for (const result of await Promise.allSettled(writes)) if (result.status === 'rejected') throw result.reason;
  return nodes.length;
}

/** Of a pool whose release was not begun. */
function refused(pool: string, error: NodepoolError | undefined): PoolSummary {
  return { pool, outcome: undefined, error, joined: 0, left: 0, updated: 0 };
}

function marked(pool: NodePool, now: Date): NodePool {
  return { ...pool, metadata: { ...pool.metadata, deletionTimestamp: now.toISOString() } };
}

function foreignFinalizers(pool: NodePool | undefined): string[] {
  return (pool?.metadata.finalizers ?? []).filter(finalizer => finalizer !== FINALIZER);
}

/** Labels of a selector may be older than the pool, a cloud's for one: they are not this command's to take. */
function notDetachable({ metadata: { name }, spec }: NodePool): NodepoolError {
  const keys = Object.keys(spec.nodeSelector ?? {});
  return new NodepoolError(
    'input',
    `--detach-nodes: nodepool ${name} finds its nodes by spec.nodeSelector, whose labels others may have set`,
    `leave out --detach-nodes, and unlabel the nodes by hand: \`kubectl label node NODE ${keys.map(key => `${key}-`).join(' ')}\``,
  );
}
