/** The lease of a controller that runs for the next hour, for tests of messages about the controller. */
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';

const LEASES = '/apis/coordination.k8s.io/v1/namespaces/kube-system/leases';

/** @param renewed by the clock of its holder, which may be wrong */
export async function holdLease(cluster: ControlPlane, renewed = new Date()): Promise<void> {
  const renewTime = renewed.toISOString().replace('Z', '000Z');
  const spec = { holderIdentity: 'a-controller', leaseDurationSeconds: 3600, renewTime };
  await raw(cluster).expect('POST', LEASES, { metadata: { name: 'kubectl-nodepool' }, spec });
}

export async function dropLease(cluster: ControlPlane): Promise<void> {
  await raw(cluster).request('DELETE', `${LEASES}/kubectl-nodepool`);
}
