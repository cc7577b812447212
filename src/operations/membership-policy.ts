/** Whether manifests/protect-membership.yaml keeps kubelets from the labels by which pools select. */
import { kubeletRisk } from '../nodepool/kubelet-labels.ts';
import type { NodePool } from '../nodepool/types.ts';
import { attempt } from './attempt.ts';
import type { ManifestsPort } from './ports.ts';

/** The policy and its binding, neither of which works alone. */
export const MEMBERSHIP = 'protect-membership.nodes.lailin.xyz';

const BINDING = {
  apiVersion: 'admissionregistration.k8s.io/v1',
  kind: 'ValidatingAdmissionPolicyBinding',
  metadata: { name: MEMBERSHIP },
};

/** One request, and none where no kubelet gains anything by joining or leaving the pools. False where it may not be read. */
export async function isMembershipProtected(
  pools: readonly NodePool[],
  { get }: Pick<ManifestsPort, 'get'>,
): Promise<boolean> {
  if (pools.every(pool => kubeletRisk(pool) === undefined)) return false;
  const found = await attempt(() => get(BINDING));
  const binding =
    'value' in found ? (found.value as { spec?: { validationActions?: unknown } } | undefined) : undefined;
  const actions = binding?.spec?.validationActions;
  return Array.isArray(actions) && actions.includes('Deny');
}
