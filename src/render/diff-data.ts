/** `diff -o json|yaml`. */

import type { Diff } from './diff.ts';
import { printDocument } from './documents.ts';

/**
 * Without the last newline. Nodes without a change of labels and taints are left out, as in the text.
 * @param diff without RuntimeClasses where they could not be read, which null says
 */
export function printDiff(
  { nodes, runtimeClasses, ...rest }: Omit<Diff, 'runtimeClasses'> & Partial<Pick<Diff, 'runtimeClasses'>>,
  format: 'json' | 'yaml',
): string {
  const { conflicts, invalid, circles, oversized } = rest;
  const changed = nodes.filter(({ changes }) => changes.length > 0);
  return printDocument(
    'Diff',
    {
      nodes: changed.map(({ node, previous, owner, changes }) => {
        return { name: node.name, from: previous ?? null, to: owner ?? null, changes };
      }),
      runtimeClasses: runtimeClasses?.map(({ name, kind }) => ({ name, action: kind })) ?? null,
      conflicts,
      invalid,
      circles,
      oversized,
    },
    format,
  );
}
