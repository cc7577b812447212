/** What `reconcile` would change, without writing it. Bookkeeping (record, status) alone is no difference. */

import { showNote, showWarning } from '../../../cli/errors.ts';
import type { Connection, Deps } from '../../../cli/factory.ts';
import { type Io, terminalWidth } from '../../../cli/io.ts';
import type { ClusterPort } from '../../../kube/cluster.ts';
import type { WorkloadsPort } from '../../../kube/resources/workloads.ts';
import { NodepoolError, type Warning } from '../../../nodepool/errors.ts';
import { defined } from '../../../nodepool/json.ts';
import { firstFew } from '../../../nodepool/text.ts';
import { isChanging } from '../../../print/question.ts';
import { type ClusterPlan, planCluster, plansToTheEnd } from '../../../reconciler/plan/cluster-plan.ts';
import { type Intent, stateAfter } from '../../../reconciler/plan/intent.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';
import { approver } from '../consent/approve.ts';
import { NO_CHANGE } from '../consent/consent.ts';
import { deletingWarning } from '../consent/membership-warnings.ts';
import { noMatchWarnings } from '../consent/no-match.ts';
import { deletedBy, findRuntimeClassUsers } from '../consent/runtime-class-users.ts';
import { firstStripWarning, joiningWarnings } from '../consent/warnings.ts';
import type { FoundImpact } from '../impact/find-impact.ts';
import { impactFinder, impactPreview, impactText } from '../impact/show-impact.ts';
import { namesUnlessAll, type PoolChoice, showNoPools } from '../pools/choose-pools.ts';
import { loadClusterState, selectPools } from '../pools/load-cluster-state.ts';
import { allPermitted, permitted } from '../refusals.ts';
import { type AppliedPool, appliedPool, type DeclaredPool } from './applied.ts';
import { blockKey } from './blocks.ts';
import { unreadText, withSetters } from './drift-setters.ts';
import { notRecorded } from './not-recorded.ts';

export interface PoolDiff {
  plan: ClusterPlan;
  warnings: Warning[];
  notes: string[];
  /** Pools from files. */
  pools?: AppliedPool[];
  /** Only if requested. */
  impact?: FoundImpact;
  /** Set if the plan has no RuntimeClasses because the user may not list them. */
  forbidden?: NodepoolError;
}

/**
 * @param find finds the impact of the plan
 * @param declared pools from files, which replace the pools of these names
 */
export async function diff(
  names: string[],
  deps: { cluster: ClusterPort; workloads: () => Promise<WorkloadsPort>; now?: () => Date },
  find?: (plan: ClusterPlan, state: ClusterState) => Promise<FoundImpact>,
  declared?: readonly DeclaredPool[],
): Promise<PoolDiff> {
  const listing = deps.cluster.runtimeClasses.list();
  const reading = permitted(listing);
  const loading = loadClusterState(
    deps.cluster,
    reading.then(classes => ('value' in classes ? classes.value : [])),
  );
  // If pools or nodes are forbidden as well, one error names everything.
  const [state] = await loading.then(
    loaded => [loaded] as const,
    () => allPermitted([loading, listing]),
  );
  const classes = await reading;
  const applied = declared?.map(each => appliedPool(each, state.pool(each.pool.metadata.name)));
  const intent: Intent =
    applied === undefined
      ? { pools: selectPools('diff', state, names) }
      : { pools: applied.map(({ pool }) => pool.metadata.name), specs: applied.map(({ pool }) => pool) };
  const { pools } = intent;
  const after = stateAfter(state, intent);
  const warnings: Warning[] = pools.flatMap(pool => firstStripWarning(after, pool, { areShown: true }));
  const plan = planCluster(state, intent, deps.now?.() ?? deps.cluster.nodes.serverTime());
  warnings.push(
    ...joiningWarnings(after, pools, plan),
    ...(applied ?? []).flatMap(each => appliedWarnings(each, state)),
  );
  warnings.push(...(await findRuntimeClassUsers(deletedBy(plan), deps.workloads)).losses);
  const { planned, unread } = await withSetters([...plan.nodes, ...plan.later], deps.cluster.nodes, blockKey);
  const nodes = planned.slice(0, plan.nodes.length);
  const later = planned.slice(plan.nodes.length);
  if (unread > 0) warnings.push(unreadText(unread));
  const notes = pools.flatMap(name => {
    const pool = state.pool(name);
    return pool === undefined || applied !== undefined || !state.isActive(name)
      ? []
      : notRecorded(state, pool).map(text => `pool ${name}: ${text}`);
  });
  const found = await find?.(plan, state);
  if (found !== undefined) warnings.push(...found.warnings);
  const rest = { warnings, notes, ...defined({ impact: found, pools: applied }) };
  if ('value' in classes) return { ...rest, plan: { ...plan, nodes, later } };
  return { ...rest, plan: { ...plan, nodes, later, runtimeClasses: [] }, forbidden: classes.forbidden };
}

/** For a pool from a file: what an apply would not remove, and which nodes its new selector matches. */
function appliedWarnings({ pool, source, isNew, kept, changes }: AppliedPool, state: ClusterState): Warning[] {
  const { name } = pool.metadata;
  const deleting = deletingWarning(pool);
  const isSelector = isNew || changes.some(({ path }) => /^spec\.(nodeSelector|matchExpressions)/.test(path));
  return [
    ...(deleting === undefined ? [] : [deleting]),
    ...(kept.length === 0
      ? []
      : [
          {
            message: `${source}: ${firstFew(kept, MAX_NAMED)} of pool ${name} ${kept.length === 1 ? 'is not in the file and stays: no apply set it' : 'are not in the file and stay: no apply set them'}`,
            next: `add ${kept.length === 1 ? 'the field' : 'the fields'} to the file, or remove ${kept.length === 1 ? 'it' : 'them'} with \`kubectl nodepool edit ${name}\``,
          },
        ]),
    ...(isSelector ? noMatchWarnings([pool], [...state.nodes()]) : []),
  ];
}

const MAX_NAMED = 5;

// Shows what a reconcile would change: for `diff`, and before the result of `reconcile --dry-run`.

export interface DiffOptions {
  output?: 'json' | 'yaml' | undefined;
  /** Also finds the impact, on these fields of custom resources in addition to the well-known ones. */
  impactPaths?: readonly string[] | undefined;
  /** Show each node separately, even if others have the same changes. */
  byNode?: boolean;
  /** Pools from files, instead of a choice of pools. */
  declared?: readonly DeclaredPool[];
}

/** Prints changes to stdout, warnings to stderr. @returns how many nodes, RuntimeClasses and pools differ */
export async function showDiff(
  choice: PoolChoice,
  { output, impactPaths, byNode = false, declared }: DiffOptions,
  { io }: Pick<Deps, 'io'>,
  connection: Connection,
): Promise<number> {
  const names = await namesUnlessAll(choice, connection.cluster.pools);
  const isNone = names?.length === 0;
  const found: PoolDiff = isNone
    ? { plan: NO_CHANGE, warnings: [], notes: [] }
    : await diff(
        names ?? [],
        connection,
        impactPaths && (await impactFinder(impactPaths, io.env, connection)),
        declared,
      );
  const { plan, warnings, notes, forbidden, impact, pools = [] } = found;
  if (isNone) showNoPools(io);
  for (const warning of warnings) showWarning(io, warning);
  for (const note of notes) showNote(io, `${note}; reconcile updates it`);
  const nodes = [...plan.nodes.filter(isChanging), ...plan.later];
  const { isChanged, renderPools } = await import('./print-pools.ts');
  const changedPools = pools.filter(isChanged).length;
  // Without a difference, "no changes" could be wrong.
  const differing = changedPools + nodes.length + plan.blocked.length;
  if (forbidden !== undefined && differing === 0) throw forbidden;
  if (output !== undefined) {
    const { printDiff } = await import('./print-diff-data.ts');
    const { runtimeClasses, ...others } = plan;
    const printed = forbidden === undefined ? { ...others, runtimeClasses } : others;
    io.out(printDiff({ ...printed, ...(declared === undefined ? {} : { pools }) }, output, impact));
  } else {
    const { makeStyle } = await import('../../../print/style.ts');
    const text = await diffText(plan, io, byNode);
    const noNode = changedPools > 0 && text === '' ? 'No node would change.' : '';
    const sections = [renderPools(pools, makeStyle(io.color)), text, noNode].filter(section => section !== '');
    if (sections.length > 0) io.out(sections.join('\n\n'));
    if (impact !== undefined && nodes.length > 0)
      io.out(`\n${await impactText(impact, { color: io.color, width: terminalWidth(io) })}`);
  }
  // Evictions of all steps of a rollout, as the nodes above.
  const whole = { ...plan, nodes: plansToTheEnd(plan) };
  if (!impact?.isKnown) await approver({ yes: false, dryRun: true }, io, connection)({ plan: whole });
  if (forbidden !== undefined) {
    const { oneLine, next } = forbidden;
    showWarning(io, { message: `RuntimeClasses are not shown: ${oneLine}`, next });
  }
  return differing + plan.runtimeClasses.filter(({ kind }) => kind !== 'foreign').length;
}

/** Prints what a reconcile is about to change, followed by an empty line; nothing without changes. */
export async function printChanges(plan: ClusterPlan, { nodes }: ClusterPort, io: Io, byNode = false): Promise<void> {
  const { planned, unread } = await withSetters(plan.nodes, nodes, blockKey);
  if (unread > 0) showWarning(io, unreadText(unread));
  const text = await diffText({ ...plan, nodes: planned }, io, byNode);
  if (text !== '') io.out(`${text}\n`);
}

/** Empty if there are no changes and no notes. */
async function diffText(plan: ClusterPlan, io: Io, byNode = false): Promise<string> {
  const { renderDiff } = await import('./print-diff.ts');
  const { makeStyle } = await import('../../../print/style.ts');
  return renderDiff(plan, makeStyle(io.color), { now: io.serverNow(), byNode, terminalWidth: terminalWidth(io) });
}

// For dry runs: what a plan changes on nodes, and how that affects pods.

/** Prints to stdout, followed by an empty line; nothing without changes. @param state on which the plan is based */
export async function showPlanned(
  plan: ClusterPlan,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<void> {
  const text = await diffText(plan, io);
  if (text === '') return;
  io.out(`${text}\n`);
  const isKnown = await showImpact(plan, io, connection, state);
  if (!isKnown && seesAll(io)) await approver({ yes: false, dryRun: true }, io, connection)({ plan });
}

/** Whether stdout and stderr are on a terminal: a person need not see the same evictions on both. */
export function seesAll({ stdoutIsTTY, stderrIsTTY }: Io): boolean {
  return stdoutIsTTY && stderrIsTTY;
}

/** For dry runs, only at a terminal: a script may lack the permissions for it. @param state that was planned on */
export async function showImpactToPerson(
  plan: ClusterPlan | NodepoolError,
  io: Io,
  connection: Connection,
  state?: ClusterState,
): Promise<void> {
  if (io.stdoutIsTTY && !(plan instanceof NodepoolError)) await showImpact(plan, io, connection, state);
}

/** @returns whether the impact is completely known */
async function showImpact(plan: ClusterPlan, io: Io, connection: Connection, state?: ClusterState): Promise<boolean> {
  const { text, isKnown } = await impactPreview(plan, io, connection, state);
  if (text !== undefined) io.out(`${text}\n`);
  return isKnown;
}
