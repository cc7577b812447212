/** What `kubectl nodepool nodes` prints for programs. */
import type { PoolNode } from '../operations/nodes.ts';
import { printValue } from './printers.ts';
import { sanitizeLine } from './sanitize.ts';

/** `node/NAME`, a line each. */
export function printNodeNames(nodes: PoolNode[]): string {
  return nodes.map(({ node }) => `node/${sanitizeLine(node.name)}`).join('\n');
}

/** `{"items": […]}` with what the table shows of each node, unabridged. */
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
  return printValue({ items }, format);
}
