/** ViewPort: what the dashboard shows of the connection, and the one thing that it writes. */
import type { ViewPort } from '../operations/view-port.ts';
import { type Api, MERGE_PATCH } from './api.ts';
import { toNode, type WireNode } from './nodes.ts';
import { NODES } from './resource.ts';

export function viewPort(api: Api, clusterName: string): ViewPort {
  return {
    clusterName,
    async setUnschedulable({ name, resourceVersion }, unschedulable) {
      const write = await api.patch<WireNode>(NODES, name, {
        contentType: MERGE_PATCH,
        // null takes the field away, as kubectl uncordon does.
        body: { metadata: { resourceVersion }, spec: { unschedulable: unschedulable || null } },
        query: { fieldManager: 'kubectl-nodepool' },
        replayable: true,
      });
      return write.kind === 'written' ? { kind: 'written', node: toNode(write.object) } : write;
    },
  };
}
