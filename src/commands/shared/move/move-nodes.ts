/**
 * Adds nodes to a pool, removes them from it, or moves them: one guarded patch a node, with the membership labels and
 * everything that follows from them. No other node is written.
 */
import { type Warning, warningAbout } from '../../../nodepool/errors.ts';
import type { WriteFailure } from '../../../reconciler/outcome.ts';
import { type ApplyDeps, type ApplyOptions, apply, movesOf, type PoolResult } from '../reconcile/apply.ts';
import type { PlannedMoves } from './plan-moves.ts';

export interface MovedNode {
  node: string;
  from: string | undefined;
  /** The pool that owns it now. */
  to: string | undefined;
}

export interface MoveResult {
  moved: MovedNode[];
  failures: WriteFailure[];
  warnings: Warning[];
  /** Of every pool that was looked at. */
  results: PoolResult[];
}

/** Writes them, and the status and Events of every pool concerned. A node that fails stops no other. */
export async function moveNodes(
  { state, intent }: PlannedMoves,
  options: ApplyOptions,
  deps: ApplyDeps,
): Promise<MoveResult> {
  const before = new Map([...intent.changes.keys()].map(node => [node, state.ownership(node)?.owner]));
  const { own, others } = await apply(state, intent, options, deps);
  const written = new Set(movesOf(own).map(({ node }) => node));
  const results = [...own, ...others];
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
    // A node that both its pools failed to write failed once.
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
  return { message: `pool ${pool} released node ${node} again: the pool was deleted or changed meanwhile` };
}

/** The write, or a later one, took the labels off by which the node would be a member. */
function isNotReleased(node: string, pool: string): WriteFailure {
  return {
    message: `node ${node} is not a member of pool ${pool}, and has the labels and taints that the pool set`,
    next: `release it: \`kubectl nodepool reconcile ${pool}\``,
    node,
  };
}

function isBack(node: string, pool: string): WriteFailure {
  return { message: `node ${node} is in pool ${pool} again: its labels were changed meanwhile`, node };
}
