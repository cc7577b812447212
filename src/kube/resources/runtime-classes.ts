/** node.k8s.io/v1 RuntimeClasses. */
import type { RuntimeClass } from '../../nodepool/types.ts';
import type { RuntimeClassesPort } from '../../reconciler/ports.ts';
import type { Query } from '../transport/request.ts';
import { type Api, JSON_PATCH } from './api.ts';
import { RUNTIME_CLASSES } from './resource.ts';

/** @param writeQuery query of every write */
export function runtimeClassesPort(api: Api, writeQuery: Query): RuntimeClassesPort {
  return {
    listRuntimeClasses: () => api.list(RUNTIME_CLASSES, (runtimeClass: RuntimeClass) => runtimeClass),
    getRuntimeClass: name => api.get(RUNTIME_CLASSES, name),

    /** A replay may return `exists` for its own object: the caller then reads it and checks its owner. */
    async createRuntimeClass(runtimeClass) {
      const body = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', ...runtimeClass };
      const { name } = runtimeClass.metadata;
      const made = await api.create<RuntimeClass>(RUNTIME_CLASSES, body, name, writeQuery, true);
      return made.kind === 'created' ? { kind: 'created', runtimeClass: made.object } : made;
    },

    /** A JSON patch replaces whole maps; replacing the resourceVersion makes the server compare it. */
    async patchRuntimeClass({ metadata }, scheduling) {
      const write = await api.patch<RuntimeClass>(RUNTIME_CLASSES, metadata.name, {
        contentType: JSON_PATCH,
        body: [
          { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
          { op: 'add', path: '/scheduling', value: scheduling },
        ],
        query: writeQuery,
        replayable: true,
      });
      return write.kind === 'written' ? { kind: 'written', runtimeClass: write.object } : write;
    },

    deleteRuntimeClass: ({ metadata }) => api.delete(RUNTIME_CLASSES, metadata, writeQuery.dryRun !== undefined),
  };
}
