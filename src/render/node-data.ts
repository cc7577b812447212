/** `nodes -o json|yaml|name`. */
import type { PoolNode } from '../operations/nodes/nodes.ts';
import { documentOf } from './documents.ts';
import { maintenanceItem } from './maintenance.ts';
import { printValue } from './printers.ts';
import { sanitizeLine } from './sanitize.ts';

/** `node/NAME`, one per line. */
export function printNodeNames(nodes: PoolNode[]): string {
  return nodes.map(({ node }) => `node/${sanitizeLine(node.name)}`).join('\n');
}

/** Without the last newline. */
export function printNodes(nodes: PoolNode[], format: 'json' | 'yaml', now: Date): string {
  return printValue(nodesDocument(nodes, now), format);
}

/** The columns of the table, complete. */
export function nodesDocument(nodes: PoolNode[], now: Date): Record<string, unknown> {
  return documentOf('PoolNodeList', { items: nodes.map(node => nodeItem(node, now)) });
}

export function nodeItem(
  { node, pool, leaving, applied, changes, conflicting }: PoolNode,
  now: Date,
): Record<string, unknown> {
  const { name, labels, creationTimestamp, ready, unschedulable, taints, allocatable } = node;
  return {
    name,
    // For paths as kubectl's users write them.
    metadata: { name, labels, creationTimestamp },
    pool: pool ?? null,
    leaving,
    ready,
    unschedulable,
    maintenance: maintenanceItem(node, now),
    creationTimestamp,
    taints,
    applied,
    changes,
    alsoMatchedBy: conflicting,
    allocatable,
  };
}
