/** node.k8s.io/v1 RuntimeClasses. */
import type { RuntimeClass } from '../../nodepool/types.ts';
import { type Api, JSON_PATCH } from '../api/api.ts';
import { RUNTIME_CLASSES } from '../api/resource.ts';
import { listWatch } from '../api/watch.ts';
import type { RuntimeClassesClient } from '../cluster.ts';
import type { Transport } from '../transport/transport.ts';
import { withoutManagedFields } from './node-pools.ts';

export function runtimeClassesClient(api: Api, transport: Transport): RuntimeClassesClient {
  return {
    list: () => api.list(RUNTIME_CLASSES, (runtimeClass: RuntimeClass) => runtimeClass),
    watch: () => ({
      source: listWatch(transport, RUNTIME_CLASSES),
      transform: raw => withoutManagedFields(raw as RuntimeClass),
    }),
    get: name => api.get(RUNTIME_CLASSES, name),

    /** A retry may return `exists` for its own object: the caller then reads it and checks its owner. */
    async create(runtimeClass) {
      const body = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', ...runtimeClass };
      const { name } = runtimeClass.metadata;
      const made = await api.create<RuntimeClass>(RUNTIME_CLASSES, body, name, { replayable: true });
      return made.kind === 'created' ? { kind: 'created', runtimeClass: made.object } : made;
    },

    /** A JSON patch replaces whole maps; if it replaces the resourceVersion, the server compares it. */
    async patch({ metadata }, scheduling) {
      const write = await api.patch<RuntimeClass>(RUNTIME_CLASSES, metadata.name, {
        contentType: JSON_PATCH,
        body: [
          { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
          { op: 'add', path: '/scheduling', value: scheduling },
        ],
        replayable: true,
      });
      return write.kind === 'written' ? { kind: 'written', runtimeClass: write.object } : write;
    },

    delete: ({ metadata }) => api.delete(RUNTIME_CLASSES, metadata),
  };
}
