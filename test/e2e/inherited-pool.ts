import { FINALIZER, type NodePoolSpec } from '../../src/nodepool/types.ts';
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';

/** A pool `p` as the earlier operator leaves it, and somebody has edited since. */
export async function inheritedPool(cluster: ControlPlane, spec: NodePoolSpec): Promise<void> {
  const api = raw(cluster);
  const status = { status: 200, nodeCount: 1 };
  const metadata = { name: 'p', finalizers: [FINALIZER] };
  const path = '/apis/nodes.lailin.xyz/v1/nodepools';
  await api.expect('POST', path, { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata, spec, status });
  // With the status subresource the server drops the status of a POST.
  await api.request('PATCH', `${path}/p/status`, { status });
}
