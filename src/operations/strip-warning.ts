/** `unmanaged: Remove` takes labels that clouds, CNIs and GPU operators set; the first plan that does so says it. */
import { plural } from '../nodepool/plural.ts';
import type { AppliedRecord } from '../nodepool/record.ts';
import { planOf } from '../reconciler/node-plan.ts';
import type { View } from '../reconciler/view.ts';

/**
 * @param where the changes are seen, and among which nodes they are made, if not all
 */
export function firstStripWarning(
  view: View,
  name: string,
  {
    where = `\`kubectl nodepool diff ${name}\``,
    among,
  }: { where?: string; among?: Pick<ReadonlyMap<string, unknown>, 'has'> } = {},
): string[] {
  if (view.pool(name)?.spec.unmanaged !== 'Remove') return [];
  const held = view.held(name);
  const before = held.some(node => strips(view.claim(node.name)?.record));
  const written = among === undefined ? held : held.filter(node => among.has(node.name));
  const nodes = written.filter(node => planOf(view, node.name)?.changes.some(change => change.reason === 'unmanaged'));
  if (before || nodes.length === 0) return [];
  return [
    `pool ${name} has unmanaged: Remove: labels and taints of ${plural(nodes.length, 'node')} that the pool does not set are removed, those of cloud, CNI and GPU software too; see ${where}; they come back when the pool lets go`,
  ];
}

/** Whether the pool that wrote the record has stripped something already. */
function strips(record: AppliedRecord | undefined): boolean {
  return [...(record?.labels.values() ?? []), ...(record?.taints.values() ?? [])].some(slot => slot.value === null);
}
