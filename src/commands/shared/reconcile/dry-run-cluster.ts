/** A client dry run: writes succeed in memory, so that a reconcile gives its result without a request. */

import type { ClusterPort } from '../../../kube/cluster.ts';
import { withAnnotation } from '../../../nodepool/spec/annotations.ts';
import { patchedNode } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

/** The cluster as the state has it. Not known: what the server would refuse or alter. @param state follows the writes */
export function dryRunCluster(cluster: ClusterPort, state: ClusterState): ClusterPort {
  return {
    isDryRun: true,
    nodes: {
      ...cluster.nodes,
      get: async name => state.node(name),
      async patch(name, patch) {
        const node = state.node(name);
        return node === undefined ? { kind: 'gone' } : { kind: 'written', node: patchedNode(node, patch) };
      },
    },
    pools: {
      ...cluster.pools,
      getCoerced: async name => state.pool(name),
      async setFinalizers(pool, finalizers) {
        return { kind: 'written', pool: { ...pool, metadata: { ...pool.metadata, finalizers } } };
      },
      async annotate(pool, key, value) {
        const annotations = withAnnotation(pool.metadata.annotations, key, value);
        return { kind: 'written', pool: { ...pool, metadata: { ...pool.metadata, annotations } } };
      },
      patchStatus: async (pool, status) => ({ kind: 'written', pool: { ...pool, status } }),
    },
    runtimeClasses: {
      ...cluster.runtimeClasses,
      get: async name => state.runtimeClass(name),
      create: async runtimeClass => ({ kind: 'created', runtimeClass }),
      patch: async (current, scheduling) => ({ kind: 'written', runtimeClass: { ...current, scheduling } }),
      delete: async ({ metadata: { finalizers = [] } }) => (finalizers.length > 0 ? 'marked' : 'deleted'),
    },
    revisions: {
      ...cluster.revisions,
      // The history is no part of the result.
      list: async () => [],
      create: async revision => ({ kind: 'created', revision }),
    },
    createEvent: async () => {},
    evictions: cluster.evictions,
  };
}
