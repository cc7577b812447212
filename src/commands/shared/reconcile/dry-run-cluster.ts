/** A client dry run: writes change only memory, reads use the state. Inherits no method of the server. */

import type { ClusterPort } from '../../../kube/cluster.ts';
import { defined } from '../../../nodepool/json.ts';
import { withAnnotation } from '../../../nodepool/spec/annotations.ts';
import { patchedNode } from '../../../reconciler/plan/node-plan.ts';
import type { ClusterState } from '../../../reconciler/state/cluster-state.ts';

/** The cluster according to the state, without the server's refusals or changes. @param state updated by the writes */
export function dryRunCluster({ rules, nodes: { serverTime } }: ClusterPort, state: ClusterState): ClusterPort {
  return {
    isDryRun: true,
    ...defined({ rules }),
    nodes: {
      list: async () => [...state.nodes()],
      get: async name => state.node(name),
      serverTime,
      // The state does not record who set a field.
      fieldManager: async () => undefined,
      fieldSetters: async () => undefined,
      async patch(name, patch) {
        const node = state.node(name);
        return node === undefined ? { kind: 'gone' } : { kind: 'written', node: patchedNode(node, patch) };
      },
      watch: notReconciled,
    },
    pools: {
      async get(name) {
        const pool = state.pool(name);
        return pool && { ...pool };
      },
      getCoerced: async name => state.pool(name),
      fieldManager: async () => undefined,
      async setFinalizers(pool, finalizers) {
        return { kind: 'written', pool: { ...pool, metadata: { ...pool.metadata, finalizers } } };
      },
      async annotate(pool, key, value) {
        const annotations = withAnnotation(pool.metadata.annotations, key, value);
        return { kind: 'written', pool: { ...pool, metadata: { ...pool.metadata, annotations } } };
      },
      patchStatus: async (pool, status) => ({ kind: 'written', pool: { ...pool, status } }),
      list: notReconciled,
      listCoerced: notReconciled,
      firstNames: notReconciled,
      watch: notReconciled,
      watchRaw: notReconciled,
      assertServed: notReconciled,
      create: notReconciled,
      patch: notReconciled,
      delete: notReconciled,
    },
    runtimeClasses: {
      get: async name => state.runtimeClass(name),
      create: async runtimeClass => ({ kind: 'created', runtimeClass }),
      patch: async (current, scheduling) => ({ kind: 'written', runtimeClass: { ...current, scheduling } }),
      delete: async ({ metadata: { finalizers = [] } }) => (finalizers.length > 0 ? 'marked' : 'deleted'),
      list: notReconciled,
      watch: notReconciled,
    },
    // Revisions are not part of the result.
    revisions: {
      list: notReconciled,
      heads: async () => [],
      get: async () => undefined,
      create: async revision => ({ kind: 'created', revision }),
      update: async () => ({ kind: 'gone' }),
      delete: async () => 'gone',
    },
    createEvent: async () => {},
    evictions: notReconciled,
  };
}

function notReconciled(): never {
  throw new Error('no reconcile of a dry run calls it');
}
