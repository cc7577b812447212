/** Changes the membership of nodes and shows the result: for `add`, `remove` and `move`. */
import * as Flags from '@oclif/core/flags';
import { EXIT, showNote, showWarning, warnOnce } from '../../../cli/errors.ts';
import type { Deps } from '../../../cli/factory.ts';
import { concurrencyFlag, dryRunFlag, dryRunSuffix, yesFlag } from '../../../cli/flags.ts';
import { interruptible } from '../../../cli/signals.ts';
import type { DryRun } from '../../../kube/cluster.ts';
import { type Warning, warningAbout } from '../../../nodepool/errors.ts';
import { isControlPlane, isControlPlaneRole } from '../../../nodepool/membership/selector.ts';
import type { Taint } from '../../../nodepool/types.ts';
import { nodesText, shortNames } from '../../../print/names.ts';
import type { WriteFailure } from '../../../reconciler/outcome.ts';
import type { ClusterPlan } from '../../../reconciler/plan/cluster-plan.ts';
import { seesAll, showPlanned } from '../changes/diff.ts';
import { approver } from '../consent/approve.ts';
import { agree, type Question } from '../consent/consent.ts';
import { impactTeller } from '../impact/show-impact.ts';
import { type ApplyOptions, apply, movesOf, type PoolResult } from '../reconcile/apply.ts';
import { isInterrupted, showInterruption } from '../reconcile/interrupted.ts';
import { reconcileDeps, showFailures } from '../reconcile/reconcile-deps.ts';
import { type MoveOptions, type PlannedMoves, planMoves } from './plan-moves.ts';
import { type PoolMove, takenOff } from './print-moves.ts';

/** The flags of all three commands. */
export const moveFlags = {
  selector: Flags.string({
    char: 'l',
    summary: 'Select nodes by their labels: a=b,c!=d,e.',
    helpValue: 'SELECTOR',
  }),
  'dry-run': dryRunFlag(),
  concurrency: concurrencyFlag,
  yes: yesFlag(),
};

export interface MoveFlags {
  selector?: string | undefined;
  'dry-run': DryRun;
  concurrency: number;
  yes: boolean;
}

/** Prints a line for each node to stdout, failures to stderr; returns the exit code. */
export async function showMoves(
  what: Pick<MoveOptions, 'kind' | 'pool' | 'nodes' | 'from'>,
  { selector, 'dry-run': dryRun, concurrency, yes }: MoveFlags,
  deps: Deps,
): Promise<number> {
  const { io, connect } = deps;
  const connection = await connect({ concurrency, dryRun: dryRun !== 'none' });
  const warn = warnOnce(io);
  const said = new Set<string>();
  const propose = async () => {
    const planned = await planMoves({ ...what, selector }, connection);
    warn(planned.warnings);
    if (planned.plan.nodes.length + planned.unchanged.length === 0) io.err('No nodes found.');
    if (dryRun !== 'none' && planned.plan.nodes.length > 0) {
      await showPlanned(planned.plan, io, connection, planned.state);
    }
    const lost = what.kind === 'move' && dryRun === 'none' ? takenOff(planned.plan, io.stderrIsTTY) : undefined;
    if (lost !== undefined && !said.has(lost)) showNote(io, lost);
    if (lost !== undefined) said.add(lost);
    const action = actionOf(what, planned.plan);
    return { ...planned, action, asksImpactOf: planned.plan, question: controlPlaneQuestion(what, planned.plan) };
  };
  const showsImpact = dryRun !== 'none' && seesAll(io);
  const approve = approver(
    { yes, dryRun: dryRun !== 'none', showsImpact },
    io,
    connection,
    impactTeller(io, connection),
  );
  const agreed = await agree(propose, approve);
  if (agreed === undefined) {
    io.err('nothing was changed');
    return EXIT.error;
  }
  const { proposal: planned, consent } = agreed;
  const { renderMoved, renderUnmoved } = await import('./print-moves.ts');
  const suffix = dryRunSuffix(dryRun);
  for (const node of planned.unchanged) io.out(renderUnmoved(what, node));
  if (dryRun === 'client') {
    const owners = planned.plan.nodes.map(({ node, owner, changes }) => {
      return { node: node.name, from: planned.state.ownership(node.name)?.owner, to: owner, changes };
    });
    for (const moved of owners) io.out(renderMoved(what, moved) + suffix);
    return EXIT.done;
  }
  if (planned.plan.nodes.length === 0) return EXIT.done;
  const work = await reconcileDeps(deps, connection, WORDS[what.kind], { concurrency });
  const { moved, failures, warnings, results } = await interruptible(io, signal =>
    moveNodes(planned, { ...work, consent, signal }).finally(work.stop),
  );
  const changes = new Map(planned.plan.nodes.map(plan => [plan.node.name, plan.changes]));
  for (const one of moved) io.out(renderMoved(what, { ...one, changes: changes.get(one.node) }) + suffix);
  for (const warning of warnings) showWarning(io, warning);
  showFailures(io, failures);
  if (isInterrupted(results)) return showInterruption(io, results);
  return failures.length > 0 ? EXIT.error : EXIT.done;
}

/** `Add 2 nodes (a, b) to pool gpu` */
function actionOf({ kind, pool }: PoolMove, { nodes }: ClusterPlan): string {
  const [verb, to] = { add: ['Add', 'to'], remove: ['Remove', 'from'], move: ['Move', 'to'] }[kind];
  return `${verb} ${nodesText(nodes.map(({ node }) => node.name))} ${to} pool ${pool}`;
}

/** The pool's taints and labels affect control-plane components, and usually another node was meant. */
function controlPlaneQuestion({ kind }: PoolMove, { nodes }: ClusterPlan): Question | undefined {
  const found = nodes.filter(({ node }) => isControlPlane(node.labels) || node.taints.some(isOfControlPlane));
  if (kind === 'remove' || found.length === 0) return undefined;
  const names = found.map(({ node }) => node.name);
  const verb = names.length === 1 ? 'runs' : 'run';
  return {
    losses: [
      `${nodesText(names, shortNames(nodes.map(({ node }) => node.name)))} ${verb} the control plane and would get the labels and taints of the pool`,
    ],
    covers: names.map(name => `control-plane node ${name}`),
    needsYes: [],
  };
}

function isOfControlPlane({ key }: Taint): boolean {
  return isControlPlaneRole(key);
}

const WORDS = { add: 'Adding', remove: 'Removing', move: 'Moving' };

// Adds nodes to a pool, removes them from it, or moves them, with one guarded patch per node that has the membership
// labels and everything that follows from them. No other node is written.

interface MovedNode {
  node: string;
  from: string | undefined;
  /** The pool that owns the node now. */
  to: string | undefined;
}

interface MoveResult {
  moved: MovedNode[];
  failures: WriteFailure[];
  warnings: Warning[];
  /** Results of every reconciled pool. */
  results: PoolResult[];
}

/** Writes the nodes, and the status and Events of every pool involved. A failure does not stop the others. */
export async function moveNodes({ state, intent }: PlannedMoves, options: ApplyOptions): Promise<MoveResult> {
  const before = new Map([...intent.changes.keys()].map(node => [node, state.ownership(node)?.owner]));
  const { chosen, others } = await apply(state, intent, options);
  const written = new Set(movesOf(chosen).map(({ node }) => node));
  const results = [...chosen, ...others];
  const moved: MovedNode[] = [];
  const failures: WriteFailure[] = [];
  const known = new Set<string>();
  const unkept: { node: string; pool: string; wanted: string | undefined }[] = [];
  for (const [node, { pool, to: wanted }] of intent.changes) {
    const [from, to] = [before.get(node), state.ownership(node)?.owner];
    if (state.node(node) === undefined || (from === to && !written.has(node))) continue;
    if (wanted === undefined ? to !== pool : to === wanted) moved.push({ node, from, to });
    else unkept.push({ node, pool, wanted });
  }
  for (const { pool, outcome, error } of results) {
    // A node that both of its pools failed to write counts once.
    failures.push(...(outcome?.failures ?? []).filter(({ message }) => !known.has(message)));
    for (const { message } of outcome?.failures ?? []) known.add(message);
    if (error !== undefined) failures.push({ message: `${pool}: ${error.oneLine}`, next: error.next });
  }
  const failed = new Set(failures.map(({ node }) => node));
  for (const { node, pool, wanted } of unkept) {
    const hasRecord = wanted !== undefined && state.ownership(node)?.record?.pool === wanted;
    if (hasRecord) failures.push(isNotReleased(node, pool));
    else if (!failed.has(node)) failures.push(wanted === undefined ? isBack(node, pool) : isNotKept(node, pool));
  }
  const warnings = results.flatMap(({ pool, outcome }) =>
    (outcome?.warnings ?? []).map(warning => warningAbout(pool, warning)),
  );
  return { moved, failures, warnings, results };
}

function isNotKept(node: string, pool: string): WriteFailure {
  return { message: `pool ${pool} has released node ${node} again: the pool was deleted or changed meanwhile` };
}

/** The node lost its membership labels in this write or a later one. */
function isNotReleased(node: string, pool: string): WriteFailure {
  return {
    message: `node ${node} is not a member of pool ${pool} but still has the labels and taints that the pool set`,
    next: `release the node: \`kubectl nodepool reconcile ${pool}\``,
    node,
  };
}

function isBack(node: string, pool: string): WriteFailure {
  return { message: `node ${node} is in pool ${pool} again: its labels were changed meanwhile`, node };
}
