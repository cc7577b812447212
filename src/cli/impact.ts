/** The impact of a plan, for `diff --impact` and above the question of other commands. */

import type { FoundImpact } from '../operations/impact/find-impact.ts';
import type { ClusterPlan } from '../reconciler/cluster-plan.ts';
import type { ClusterState } from '../reconciler/cluster-state.ts';
import { showWarning } from './error-line.ts';
import type { Connection } from './factory.ts';
import type { Io } from './io.ts';

/** Fields of custom resources that every command looks at, separated by commas. */
const PATHS_ENV = 'KUBECTL_NODEPOOL_IMPACT_PATHS';

/** @param paths of the command line. Throws NodepoolError for one that is no path. */
export async function impactFinder(
  paths: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  connection: Pick<Connection, 'impact' | 'scheduling'>,
): Promise<(plan: ClusterPlan, state: ClusterState) => Promise<FoundImpact>> {
  const { parseSelectorPaths, WELL_KNOWN } = await import('../operations/impact/selector-paths.ts');
  const { findImpact } = await import('../operations/impact/find-impact.ts');
  const ofEnv = (env[PATHS_ENV] ?? '').split(',').filter(text => text !== '');
  const all = [...WELL_KNOWN, ...parseSelectorPaths(ofEnv, PATHS_ENV), ...parseSelectorPaths(paths, '--impact-path')];
  return (plan, state) => findImpact(plan, state, all, connection);
}

export async function impactText({ impact, poolOf }: FoundImpact, { color }: Pick<Io, 'color'>): Promise<string> {
  const { renderImpact } = await import('../render/impact.ts');
  const { makeStyle } = await import('../render/style.ts');
  return renderImpact(impact, makeStyle(color), poolOf);
}

export type ImpactAccess = Pick<Connection, 'cluster' | 'impact' | 'scheduling'>;

/** Shows the impact of a plan on stderr, before a person is asked about it. Nothing where no label and no taint changes. */
export function impactShower(io: Io, connection: ImpactAccess): (plan: ClusterPlan) => Promise<void> {
  return async plan => {
    const { allChanges } = await import('../nodepool/plan.ts');
    if (![...plan.nodes, ...plan.later].some(each => allChanges(each).length > 0)) return;
    const { attempt } = await import('../operations/attempt.ts');
    const { readOwnership } = await import('../operations/impact/find-impact.ts');
    const find = await impactFinder([], io.env, connection);
    const found = await attempt(async () => find(plan, await readOwnership(connection.cluster)));
    if ('refusal' in found) {
      showWarning(io, `the impact is not known: ${found.refusal.oneLine}`);
      return;
    }
    for (const warning of found.value.warnings) showWarning(io, warning);
    const { sanitizeScreen } = await import('../render/sanitize.ts');
    // io.err() would escape the colour.
    io.stderr.write(`${sanitizeScreen(await impactText(found.value, { color: io.errorColor }))}\n`);
  };
}
