import type { ManagedFields } from './managed-fields.ts';
import type { Node } from './types.ts';

/** A node with what a reconcile has no use for. */
export interface DatedNode {
  node: Node;
  managedFields: readonly ManagedFields[];
  conditions: readonly DatedCondition[];
}

export interface DatedCondition {
  type?: string;
  status?: string;
  reason?: string;
  message?: string;
  lastTransitionTime?: string;
}
