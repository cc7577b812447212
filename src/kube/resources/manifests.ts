/** The objects of a controller's manifest. */

import { isDeepStrictEqual } from 'node:util';
import { NodepoolError } from '../../nodepool/errors.ts';
import { resourceOf } from '../../nodepool/text.ts';
import { type Api, JSON_PATCH } from '../api/api.ts';
import { serves } from '../api/discovery.ts';
import type { Resource } from '../api/resource.ts';

export function manifestsPort(api: Api): ManifestsPort {
  const read = (object: ManifestObject) => api.get<ManifestObject>(toResource(object), object.metadata.name);
  return {
    get: read,
    list: ({ apiVersion, kind }, keep) =>
      api.list(toResource({ apiVersion, kind, metadata: { name: '' } }), (item: ManifestObject) =>
        keep(item) ? { ...item, apiVersion, kind } : undefined,
      ),
    isServed: object => serves(api, toResource(object)),
    async apply(object) {
      const before = await read(object);
      const write = await api.apply<ManifestObject>(toResource(object), object.metadata.name, object);
      if (write.kind === 'gone') return 'no namespace';
      if (write.kind === 'conflict') throw changedMeanwhile(object);
      const applied = write.object;
      if (before === undefined || write.created) return { applied: 'created', object: applied };
      const isSame = isDeepStrictEqual(contents(before), contents(applied));
      return { applied: isSame ? 'unchanged' : 'configured', object: applied };
    },
    async replaceSpec(live, spec) {
      const write = await api.patch(toResource(live), live.metadata.name, {
        contentType: JSON_PATCH,
        body: [
          { op: 'replace', path: '/metadata/resourceVersion', value: live.metadata.resourceVersion },
          { op: 'replace', path: '/spec', value: spec },
        ],
        replayable: true,
      });
      if (write.kind !== 'written') throw changedMeanwhile(live);
    },
    async delete(object) {
      const { name, uid } = object.metadata;
      const result = await api.delete(toResource(object), { name, ...(uid === undefined ? {} : { uid }) });
      if (result === 'conflict') {
        const text = `cannot delete ${object.kind} ${name}: the object was replaced meanwhile`;
        throw new NodepoolError('cluster', text, 'run the command again');
      }
      return result === 'gone' ? 'gone' : 'deleted';
    },
  };
}

function changedMeanwhile({ kind, metadata: { name } }: ManifestObject): NodepoolError {
  return new NodepoolError('cluster', `${kind} ${name} changed during the apply`, 'run the command again');
}

function toResource({ apiVersion, kind, metadata: { namespace } }: ManifestObject): Resource {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  return { group, version, plural: resourceOf(kind), kind, ...(namespace === undefined ? {} : { namespace }) };
}

/** Without status, managedFields and resourceVersion, which change without an apply. */
function contents({ metadata, ...rest }: ManifestObject): object {
  return {
    ...rest,
    status: undefined,
    metadata: { ...metadata, managedFields: undefined, resourceVersion: undefined },
  };
}

export type ManifestObject = {
  apiVersion: string;
  kind: string;
  metadata: { name: string; namespace?: string; uid?: string; [field: string]: unknown };
  [field: string]: unknown;
};

/** The objects of the controller in the cluster, of any kind. */
export interface ManifestsPort {
  /** Whether the server serves the object's kind and version, by discovery. */
  isServed(object: ManifestObject): Promise<boolean>;
  /** The object of that kind and name on the server, unchanged. */
  get(object: ManifestObject): Promise<ManifestObject | undefined>;
  /** All objects of the kind that `keep` accepts, in all namespaces. */
  list(
    kind: Pick<ManifestObject, 'apiVersion' | 'kind'>,
    keep: (object: ManifestObject) => boolean,
  ): Promise<ManifestObject[]>;
  /** Creates or updates it: server-side apply. `no namespace`: the object's namespace does not exist. */
  apply(
    object: ManifestObject,
  ): Promise<{ applied: 'created' | 'configured' | 'unchanged'; object: ManifestObject } | 'no namespace'>;
  /** Replaces the whole spec, guarded by the resourceVersion of `live`. */
  replaceSpec(live: ManifestObject, spec: unknown): Promise<void>;
  /** Guarded by the object's UID, if it has one; throws NodepoolError if another object has the name now. */
  delete(object: ManifestObject): Promise<'deleted' | 'gone'>;
}
