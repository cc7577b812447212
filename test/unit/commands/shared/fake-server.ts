/** A fake server that stores writes. */

import type { ClusterPort, NodePatch } from '../../../../src/kube/cluster.ts';
import { FINALIZER, type Node, type NodePool, type NodePoolStatus } from '../../../../src/nodepool/types.ts';
import { patchedNode } from '../../../../src/reconciler/plan/node-plan.ts';
import { NO_HISTORY } from '../../../override.ts';
import { aNode, aPool, recordOf } from '../../nodepool/fixtures.ts';

export const role = (name: string) => ({ [`node-role.kubernetes.io/${name}`]: '' });
export const pool = (name: string, labels: Record<string, string>) =>
  aPool({ labels }, { name, uid: `uid-${name}`, resourceVersion: '1', finalizers: [FINALIZER] });
export const member = (name: string, of: string, tier: string): Node =>
  aNode({
    name,
    uid: `uid-${name}`,
    resourceVersion: '1',
    labels: { ...role(of), tier },
    record: recordOf({ pool: of, labels: { tier } }),
  });

/** Lists the writes in order. */
export function server(pools: NodePool[], nodes: Node[]) {
  const live = new Map(nodes.map(node => [node.name, node]));
  const known = new Map(pools.map(each => [each.metadata.name, each]));
  const writes: string[] = [];
  let version = 100;
  const cluster = {
    pools: {
      listCoerced: async () => [...known.values()],
      getCoerced: async (name: string) => known.get(name),
      async patchStatus(before: NodePool, status: NodePoolStatus) {
        const { name } = before.metadata;
        const after = { ...before, status, metadata: { ...before.metadata, resourceVersion: String(version++) } };
        known.set(name, after);
        writes.push(`status ${name} ${status.status} ${status.nodeCount}`);
        return { kind: 'written', pool: after };
      },
      async setFinalizers(before: NodePool, finalizers: string[]) {
        const { name } = before.metadata;
        const after = { ...before, metadata: { ...before.metadata, finalizers, resourceVersion: String(version++) } };
        known.set(name, after);
        writes.push(`finalizers ${name} ${finalizers.length}`);
        return { kind: 'written', pool: after };
      },
    },
    nodes: {
      serverTime: () => new Date(),
      list: async () => [...live.values()],
      get: async (name: string) => live.get(name),
      async patch(name: string, patch: NodePatch) {
        const current = live.get(name);
        if (current === undefined) return { kind: 'gone' };
        if (patch.resourceVersion !== current.resourceVersion) return { kind: 'conflict' };
        const node = { ...patchedNode(current, patch), resourceVersion: String(version++) };
        live.set(name, node);
        writes.push(`node ${name}`);
        return { kind: 'written', node };
      },
    },
    runtimeClasses: {
      list: async () => [],
    },
    revisions: NO_HISTORY,
    async createEvent({ metadata }: NodePool, { reason }: { reason: string }) {
      writes.push(`event ${metadata.name} ${reason}`);
    },
  } as unknown as ClusterPort;
  return { cluster, live, known, writes };
}
