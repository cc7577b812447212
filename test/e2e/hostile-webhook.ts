/** An admission webhook that refuses some writes with a hostile message. */
import type { ControlPlane } from '../cluster/control-plane.ts';
import { raw } from '../cluster/raw.ts';
import { serveWebhook } from './webhook.ts';

/** Refuses to create pools, change nodes and evict pods with this name prefix. Resolves with its end once it is in force. */
export async function refuseWith(cluster: ControlPlane, message: string, prefix: string): Promise<() => Promise<void>> {
  const probe = { apiVersion: 'nodes.lailin.xyz/v1', kind: 'NodePool', metadata: { name: `${prefix}probe` }, spec: {} };
  return serveWebhook(cluster, {
    name: 'hostile.example.com',
    rules: [
      { apiGroups: [''], apiVersions: ['v1'], operations: ['UPDATE'], resources: ['nodes'] },
      { apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['pods/eviction'] },
      { apiGroups: ['nodes.lailin.xyz'], apiVersions: ['v1'], operations: ['CREATE'], resources: ['nodepools'] },
    ],
    refusal: ({ name }) => (name.startsWith(prefix) ? message : undefined),
    isInForce: async () =>
      (await raw(cluster).request('POST', '/apis/nodes.lailin.xyz/v1/nodepools?dryRun=All', probe)).status === 403,
  });
}
