import type { Change, WritePlan } from '../../nodepool/plan/plan.ts';
import { recordProblem } from '../../nodepool/plan/record.ts';
import { formatTaint } from '../../nodepool/spec/syntax.ts';
import type { Taint } from '../../nodepool/types.ts';

/** What was written on one node. */
export interface NodeMove {
  node: string;
  /** The pool that held the node before. */
  from: string | undefined;
  /** The pool that owns it now. */
  to: string | undefined;
  changes: Change[];
  /** What was wrong with the record that was replaced. */
  invalidRecord?: string;
  /** See WritePlan. */
  withheld?: Taint[];
}

/** @param before the earlier write of the node in this call */
export function moveOf(
  { node, patch, previous, owner: to, changes, withheld = [] }: WritePlan,
  before: NodeMove | undefined,
): NodeMove {
  const isReplaced = patch.record !== undefined && node.record !== undefined && node.mark !== 'record';
  const invalidRecord = before?.invalidRecord ?? (isReplaced ? recordProblem(node.record ?? '') : undefined);
  const kept = [...(before?.withheld ?? []), ...withheld];
  return {
    node: node.name,
    from: before ? before.from : previous,
    to,
    changes: [...(before?.changes ?? []), ...changes],
    ...(invalidRecord === undefined ? {} : { invalidRecord }),
    ...(kept.length === 0 ? {} : { withheld: kept }),
  };
}

/** Nodes by the text of a NoExecute taint that was not set again there. */
export function withheldTaints(moves: readonly NodeMove[]): [taint: string, nodes: string[]][] {
  const all = moves.flatMap(({ node, withheld = [] }) => withheld.map(taint => ({ node, text: formatTaint(taint) })));
  return [...Map.groupBy(all, ({ text }) => text)].map(([text, alike]) => [
    text,
    [...new Set(alike.map(({ node }) => node))].toSorted(),
  ]);
}

/** The command that sets the taint. */
export function taintCommand(taint: string, nodes: readonly string[]): string {
  return `kubectl taint nodes ${nodes.length === 1 ? nodes[0] : 'NODE'} ${taint}`;
}
