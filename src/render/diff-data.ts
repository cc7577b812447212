/** `diff -o json|yaml`. */

import type { FoundImpact } from '../operations/impact/find-impact.ts';
import type { Diff } from './diff.ts';
import { printDocument } from './documents.ts';
import { impactData } from './impact-data.ts';

/**
 * Without the last newline. Nodes without a change of labels and taints are left out, as in the text.
 * @param diff without RuntimeClasses where they could not be read, which null says
 */
export function printDiff(
  { nodes, later, runtimeClasses, ...rest }: Omit<Diff, 'runtimeClasses'> & Partial<Pick<Diff, 'runtimeClasses'>>,
  format: 'json' | 'yaml',
  impact?: FoundImpact,
): string {
  const { conflicts, invalid, circles, oversized, rollouts } = rest;
  const changed = nodes.filter(({ changes, drain }) => changes.length > 0 || drain !== undefined);
  return printDocument(
    'Diff',
    {
      nodes: changed.map(nodeOf),
      later: later.map(({ pausedBy, ...plan }) => ({ ...nodeOf(plan), pausedBy: pausedBy ?? null })),
      runtimeClasses: runtimeClasses?.map(({ name, kind }) => ({ name, action: kind })) ?? null,
      rollouts: rollouts.map(({ pool, nodes: members, pending, settling, failed, next }) => {
        return { pool, nodes: members, pending, settling, failed, next };
      }),
      conflicts,
      invalid,
      circles,
      oversized,
      ...(impact === undefined ? {} : { impact: impactData(impact) }),
    },
    format,
  );
}

function nodeOf({ node, previous, owner, changes, drain }: Diff['nodes'][number]) {
  const afterEvictions = drain === undefined ? {} : { afterEvictions: drain.changes };
  return { name: node.name, from: previous ?? null, to: owner ?? null, changes, ...afterEvictions };
}
