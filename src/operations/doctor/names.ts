/** Whether `nodepools` means ours alone: Karpenter and HyperShift have a resource of the same name. */
import { type Finding, named, ok, warning } from './check.ts';

/** What to write where another API group serves nodepools. */
export const USE_FULL_NAME = 'with kubectl, write `npool` or `nodepools.nodes.lailin.xyz`';

/** @param others the other API groups that serve nodepools */
export function checkNames(others: readonly string[]): Finding {
  if (others.length === 0) return ok('no other API group serves nodepools');
  return warning(`${named(others)} also serves nodepools: \`kubectl get nodepools\` may show those`, USE_FULL_NAME);
}
