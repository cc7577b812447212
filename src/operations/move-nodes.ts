/**
 * Puts nodes into a pool, takes them out of one, or moves them: one guarded patch a node, with the labels that decide on
 * membership and all that follows from them. No other node is written.
 */
import type { WriteFailure } from '../reconciler/failure.ts';
import type { PlannedMoves } from './plan-moves.ts';
import { type ReconcileDeps, reconcilerOf, settled } from './reconcile.ts';

export interface MovedNode {
  node: string;
  from: string | undefined;
  /** The pool that has it now. */
  to: string | undefined;
}

export interface MoveResult {
  moved: MovedNode[];
  failures: WriteFailure[];
  warnings: string[];
}

/** Carries it out, and brings status and events of every pool concerned up to date. A node that fails stops no other. */
export async function moveNodes(
  { view, orders, plans }: PlannedMoves,
  options: { concurrency: number; dryRun: boolean },
  deps: Omit<ReconcileDeps, 'warn'>,
): Promise<MoveResult> {
  const reconciler = reconcilerOf(view, options, deps, { orders });
  const nodes = plans.map(({ node }) => node.name);
  const before = new Map(nodes.map(node => [node, view.claim(node)?.owner]));
  const concerned = new Set(nodes.flatMap(node => view.poolsOf(node)));
  const first = await settled(orders.pool, reconciler.reconcile(orders.pool));
  for (const pool of nodes.flatMap(node => view.poolsOf(node))) concerned.add(pool);
  // A pool that is gone or going has a status no more, and lets go of its nodes when it is reconciled.
  const others = [...concerned].filter(
    pool => pool !== orders.pool && view.pool(pool)?.metadata.deletionTimestamp === undefined && view.pool(pool),
  );
  const rest = await Promise.all(others.toSorted().map(pool => settled(pool, reconciler.reconcile(pool))));

  const results = [first, ...rest];
  const written = new Set(first.outcome?.moves.map(move => move.node));
  const moved: MovedNode[] = [];
  const failures: WriteFailure[] = [];
  for (const node of nodes) {
    const [from, to] = [before.get(node), view.claim(node)?.owner];
    const meant = orders.nodes.get(node)?.to;
    if (view.node(node) === undefined || (from === to && !written.has(node))) continue;
    if (meant === undefined || to === meant) moved.push({ node, from, to });
    else failures.push(isNotKept(node, meant));
  }
  for (const { pool, outcome, error } of results) {
    failures.push(...(outcome?.failures ?? []));
    if (error !== undefined) {
      failures.push({ message: `${pool}: ${error.oneLine}`, next: error.next });
    }
  }
  const warnings = results.flatMap(({ pool, outcome }) => (outcome?.warnings ?? []).map(text => `${pool}: ${text}`));
  return { moved, failures, warnings };
}

function isNotKept(node: string, pool: string): WriteFailure {
  return { message: `pool ${pool} let go of node ${node} again: it was deleted or changed meanwhile` };
}
