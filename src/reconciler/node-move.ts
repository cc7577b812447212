import type { Change } from '../nodepool/plan.ts';

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
}
