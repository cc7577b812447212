/** `nodes -o json|yaml|name`. */
import type { PoolNode } from '../operations/nodes.ts';
import { printDocument } from './documents.ts';
import { sanitizeLine } from './sanitize.ts';

/** `node/NAME`, one per line. */
export function printNodeNames(nodes: PoolNode[]): string {
  return nodes.map(({ node }) => `node/${sanitizeLine(node.name)}`).join('\n');
}

/** `{"items": […]}` with the columns of the table, complete. */
export function printNodes(nodes: PoolNode[], format: 'json' | 'yaml'): string {
  const items = nodes.map(({ node, pool, leaving, applied, changes, conflicting }) => ({
    name: node.name,
    pool: pool ?? null,
    leaving,
    ready: node.ready,
    unschedulable: node.unschedulable,
    creationTimestamp: node.creationTimestamp,
    taints: node.taints,
    applied,
    changes,
    alsoMatchedBy: conflicting,
    allocatable: node.allocatable,
  }));
  return printDocument('PoolNodeList', { items }, format);
}
