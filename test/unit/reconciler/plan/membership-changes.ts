/** Membership changes of nodes, as the commands plan them. */
import { labelsToJoin, labelsToLeave } from '../../../../src/nodepool/membership/member-labels.ts';
import type { NodePool } from '../../../../src/nodepool/types.ts';
import type { MembershipChange } from '../../../../src/reconciler/plan/membership-change.ts';

export const moveTo = (pool: NodePool, source?: NodePool): MembershipChange => ({
  pool: pool.metadata.name,
  to: pool.metadata.name,
  labels: (node, ownership) => labelsToJoin(node, ownership.record, pool, source),
});
export const outOf = (pool: NodePool): MembershipChange => ({
  pool: pool.metadata.name,
  to: undefined,
  labels: node => labelsToLeave(node, pool, [], true),
});
