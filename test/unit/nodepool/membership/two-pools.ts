/** A pool by its role, an older one by a label, and who owns a node. */
import { PoolIndex } from '../../../../src/nodepool/membership/membership.ts';
import { type aNode, aPool } from '../fixtures.ts';

export const worker = aPool({}, { name: 'worker', creationTimestamp: '2026-01-02T00:00:00Z' });
export const gpu = aPool({ nodeSelector: { gpu: 'yes' } }, { name: 'gpu', creationTimestamp: '2026-01-01T00:00:00Z' });
export const both = { 'node-role.kubernetes.io/worker': '', gpu: 'yes' };

export function ownership(pools: ReturnType<typeof aPool>[], node: ReturnType<typeof aNode>) {
  const { owner, conflicting } = new PoolIndex(pools).ownership(node);
  return { owner, conflicting };
}
