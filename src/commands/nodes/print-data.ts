/** `nodes -o json|yaml|name`. */

import { documentOf } from '../../print/documents.ts';
import { printValue } from '../../print/printers.ts';
import { sanitizeLine } from '../../print/sanitize.ts';
import { maintenanceItem } from '../shared/cordon/print-maintenance.ts';
import type { PoolNode } from '../shared/pools/nodes.ts';

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
