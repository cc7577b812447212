/** What a plan changes on nodes, and what that does to pods: for dry runs. */

import type { Connection } from '../../../cli/factory.ts';
import type { Io } from '../../../cli/io.ts';
import { NodepoolError } from '../../../nodepool/errors.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { impactPreview } from '../impact/show-impact.ts';

/** Prints to stdout, with an empty line below; nothing without changes. @param state as it was planned */
export async function showPlanned(
  plan: ClusterPlan,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<void> {
  const { renderDiff } = await import('./print-diff.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  const text = renderDiff(plan, makeStyle(io.color), io.now());
  if (text === '') return;
  io.out(`${text}\n`);
  await showImpact(plan, io, connection, state);
}

/** Of a dry run: a person sees it, a script need not be allowed to read what it needs. @param state as it was planned */
export async function showImpactToPerson(
  plan: ClusterPlan | NodepoolError,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<void> {
  if (io.stdoutIsTTY && !(plan instanceof NodepoolError)) await showImpact(plan, io, connection, state);
}

async function showImpact(plan: ClusterPlan, io: Io, connection: Connection, state?: ClusterState): Promise<void> {
  const impact = await impactPreview(plan, io, connection, state);
  if (impact !== undefined) io.out(`${impact}\n`);
}
