/** node.k8s.io/v1 RuntimeClasses. */
import type { RuntimeClass } from '../../nodepool/types.ts';
import type { ClusterPort } from '../../reconciler/ports.ts';
import type { Query } from '../transport/request.ts';
import { type Api, JSON_PATCH } from './api.ts';
import { RUNTIME_CLASSES } from './resource.ts';

export class RuntimeClasses {
  readonly #api: Api;
  readonly #writeQuery: Query;

  constructor(api: Api, writeQuery: Query) {
    this.#api = api;
    this.#writeQuery = writeQuery;
  }

  list(): Promise<RuntimeClass[]> {
    return this.#api.list(RUNTIME_CLASSES, (runtimeClass: RuntimeClass) => runtimeClass);
  }

  get(name: string): Promise<RuntimeClass | undefined> {
    return this.#api.get(RUNTIME_CLASSES, name);
  }

  /** Sent again after a lost answer it may report its own work as `exists`: the caller reads it then and sees its owner. */
  async create(runtimeClass: RuntimeClass): ReturnType<ClusterPort['createRuntimeClass']> {
    const body = { apiVersion: 'node.k8s.io/v1', kind: 'RuntimeClass', ...runtimeClass };
    const { name } = runtimeClass.metadata;
    const made = await this.#api.create<RuntimeClass>(RUNTIME_CLASSES, body, name, this.#writeQuery, true);
    return made.kind === 'created' ? { kind: 'created', runtimeClass: made.object } : made;
  }

  /** A JSON patch replaces the maps in it whole; the changed resourceVersion makes the server compare it. */
  async patch(
    { metadata }: RuntimeClass,
    scheduling: NonNullable<RuntimeClass['scheduling']>,
  ): ReturnType<ClusterPort['patchRuntimeClass']> {
    const write = await this.#api.patch<RuntimeClass>(RUNTIME_CLASSES, metadata.name, {
      contentType: JSON_PATCH,
      body: [
        { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
        { op: 'add', path: '/scheduling', value: scheduling },
      ],
      query: this.#writeQuery,
      replayable: true,
    });
    return write.kind === 'written' ? { kind: 'written', runtimeClass: write.object } : write;
  }

  async delete({ metadata }: RuntimeClass): ReturnType<ClusterPort['deleteRuntimeClass']> {
    return this.#api.delete(RUNTIME_CLASSES, metadata, this.#writeQuery.dryRun !== undefined);
  }
}
