/** The impact of a plan, for `diff --impact`, in dry runs and above the question of other commands. */
import { errorWidth, showWarning } from '../../../cli/errors.ts';
import type { Connection } from '../../../cli/factory.ts';
import { type Io, terminalWidth } from '../../../cli/io.ts';
import type { ImpactPorts } from '../../../kube/resources/impact.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import type { FoundImpact } from './find-impact.ts';

/** Fields of custom resources that every command checks, separated by commas. */
const PATHS_ENV = 'KUBECTL_NODEPOOL_IMPACT_PATHS';

/** @param paths from the command line. Throws NodepoolError for an invalid path. */
export async function impactFinder(
  paths: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
  connection: ImpactPorts,
): Promise<(plan: ClusterPlan, state: ClusterState) => Promise<FoundImpact>> {
  const { findImpact, selectorPathsOfFlag, parseSelectorPaths, WELL_KNOWN } = await import('./find-impact.ts');
  const ofEnv = (env[PATHS_ENV] ?? '').split(',').flatMap(text => text.trim() || []);
  const all = [...WELL_KNOWN, ...parseSelectorPaths(ofEnv, PATHS_ENV), ...selectorPathsOfFlag(paths, '--impact-path')];
  return (plan, state) => findImpact(plan, state, all, connection);
}

export async function impactText(
  found: FoundImpact,
  { color, width }: { color: boolean; width: number | undefined },
): Promise<string> {
  const { renderImpact } = await import('./print-impact.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  return renderImpact(found, makeStyle(color), width);
}

/** `if worth asking`: nothing if the impact is known and harmless. `beside evictions`: without the evicted pods */
export type TellImpact = (
  plan: ClusterPlan,
  which: 'always' | 'if worth asking' | 'beside evictions',
) => Promise<ToldImpact | undefined>;

export interface ToldImpact {
  text: string | undefined;
  /** Texts for the question: the consequences of evictions. */
  losses: string[];
}

/** Prints the impact of a plan to stderr before a question; nothing if no label or taint changes. */
export function impactTeller(io: Io, connection: Connection): TellImpact {
  return async (plan, which) => {
    const found = await impactOrWarning(plan, io, connection);
    if (found === 'none') return undefined;
    const { isWorthAsking } = await import('./find-impact.ts');
    const isWorth = found !== 'unknown' && isWorthAsking(found.impact);
    if (found === 'unknown' || (!found.isKnown && !isWorth)) return { text: 'Impact: unknown', losses: [] };
    if (which === 'if worth asking' && !isWorth) return undefined;
    const shown = { color: io.errorColor, width: errorWidth(io) };
    if (which !== 'beside evictions') return { text: await impactText(found, shown), losses: [] };
    const { besideEvictions, evictionsMean } = await import('./print-impact.ts');
    const rest = besideEvictions(found);
    return { text: rest && (await impactText(rest, shown)), losses: evictionsMean(found) };
  };
}

/** The impact of a plan for stdout in a dry run; no text if no label or taint changes. @param state planned on */
export async function impactPreview(
  plan: ClusterPlan,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<{ text: string | undefined; isKnown: boolean }> {
  const found = await impactOrWarning(plan, io, connection, state);
  if (typeof found === 'string') return { text: undefined, isKnown: found === 'none' };
  return { text: await impactText(found, { color: io.color, width: terminalWidth(io) }), isKnown: found.isKnown };
}

/** Prints the warnings. `none`: no label or taint changes. `unknown`: a warning has the reason. */
async function impactOrWarning(
  plan: ClusterPlan,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<FoundImpact | 'none' | 'unknown'> {
  const { allChanges } = await import('../../../nodepool/plan/plan.ts');
  if (![...plan.nodes, ...plan.later].some(each => allChanges(each).length > 0)) return 'none';
  const { valueOrRefusal } = await import('../refusals.ts');
  const { readOwnership } = await import('./find-impact.ts');
  const find = await impactFinder([], io.env, connection);
  const found = await valueOrRefusal(async () => find(plan, state ?? (await readOwnership(connection.cluster))));
  if ('refusal' in found) {
    showWarning(io, `the impact is unknown: ${found.refusal.oneLine}`);
    return 'unknown';
  }
  for (const warning of found.value.warnings) showWarning(io, warning);
  return found.value;
}
