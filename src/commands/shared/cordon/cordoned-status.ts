/** Keeps `status.unschedulableNodeCount` correct after a cordon: otherwise `get` shows the last reconcile's number. */

import { type ErrorIo, showWarning } from '../../../cli/errors.ts';
import type { ClusterReader, NodePoolsClient } from '../../../kube/cluster.ts';
import { valueOrRefusal } from '../refusals.ts';
import { readMembers } from './cordon.ts';

const MAX_ATTEMPTS = 5;

type CordonedStatusPort = ClusterReader & { pools: Pick<NodePoolsClient, 'patchStatus'> };

/** Writes the number of unschedulable members if it differs, but creates no status. @returns a warning */
export async function recordCordoned(
  names: readonly string[],
  cluster: CordonedStatusPort,
): Promise<string | undefined> {
  const recorded = await valueOrRefusal(async () => {
    let remaining = [...names];
    for (let tries = 0; remaining.length > 0 && tries < MAX_ATTEMPTS; tries++)
      remaining = await record(remaining, cluster);
  });
  if ('value' in recorded) return undefined;
  return `the cordoned nodes in the status are from the last reconcile: ${recorded.refusal.oneLine}`;
}

/** @returns the pools that somebody else changed in the meantime */
async function record(names: readonly string[], cluster: CordonedStatusPort): Promise<string[]> {
  const { members, pools } = await readMembers('cordon', names, cluster);
  const changed: string[] = [];
  for (const pool of pools) {
    const { name } = pool.metadata;
    const { status } = pool;
    const unschedulableNodeCount = members.get(name)?.filter(({ unschedulable }) => unschedulable).length ?? 0;
    // A write would delete fields that the CRD drops or that have a wrong type.
    if (status === undefined || pool.dropped !== undefined) continue;
    if (status.unschedulableNodeCount === unschedulableNodeCount) continue;
    const write = await cluster.pools.patchStatus(pool, { ...status, unschedulableNodeCount });
    if (write.kind === 'conflict') changed.push(name);
  }
  return changed;
}

/** Updates the number of cordoned nodes in the status of pools after a command that cordons or uncordons. */
export async function showCordonedStatus(
  pools: readonly string[],
  cluster: CordonedStatusPort,
  io: ErrorIo,
): Promise<void> {
  const warning = await recordCordoned(pools, cluster);
  if (warning !== undefined) showWarning(io, warning);
}
