/** `rollout history`: the revisions that the reconciles of a pool kept. */

import type { ControllerRevisionsClient, NodePoolsClient, RawPool } from '../../kube/cluster.ts';
import { NodepoolError } from '../../nodepool/errors.ts';
import { type ControllerRevision, ownRevisions } from '../../nodepool/rollout/revisions.ts';
import type { NamesDeps } from '../shared/pools/not-found.ts';
import { existingPool } from './existing-pool.ts';

interface RolloutHistoryDeps {
  cluster: NamesDeps & {
    pools: Pick<NodePoolsClient, 'get'>;
    revisions: Pick<ControllerRevisionsClient, 'list'>;
  };
}

export interface RolloutHistory {
  pool: RawPool;
  /** The oldest first. */
  revisions: ControllerRevision[];
}

/** Throws NodepoolError where the pool does not exist. */
export async function rolloutHistory(name: string, { cluster }: RolloutHistoryDeps): Promise<RolloutHistory> {
  const pool = await existingPool('rollout', name, cluster);
  return { pool, revisions: ownRevisions(pool, await cluster.revisions.list(name)) };
}

/** Throws NodepoolError, with kubectl's words. */
export function revisionOf({ pool, revisions }: RolloutHistory, number: number): ControllerRevision {
  const found = revisions.findLast(({ revision }) => revision === number);
  if (found !== undefined) return found;
  throw new NodepoolError('input', 'unable to find the specified revision', whereToLook(pool, revisions));
}

/** Throws NodepoolError, with kubectl's words, where another revision is rolled out. */
export async function assertLatest(name: string, wanted: number, deps: RolloutHistoryDeps): Promise<void> {
  const found = await rolloutHistory(name, deps);
  const { revision } = found.revisions.at(-1) ?? revisionOf(found, wanted);
  if (revision === wanted) return;
  const message = `desired revision (${wanted}) is different from the running revision (${revision})`;
  throw new NodepoolError('input', message, whereToLook(found.pool, found.revisions));
}

/** What to do for want of a revision. */
export function whereToLook(
  { metadata: { name }, spec }: RawPool,
  revisions: readonly ControllerRevision[],
): string | undefined {
  if (revisions.length > 0) return `choose one of \`kubectl nodepool rollout history ${name}\``;
  if (spec.rollout !== undefined) return `run \`kubectl nodepool reconcile ${name}\`, which keeps the first one`;
  return 'set spec.rollout, an empty one too: from then on each reconcile of a new spec keeps a revision';
}
