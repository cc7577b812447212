/** apps/v1 ControllerRevisions with the history of pools, in the namespace of their Events. */
import { type ControllerRevision, revisionHead } from '../../nodepool/rollout/revisions.ts';
import { POOL_LABEL } from '../../nodepool/types.ts';
import { type Api, MERGE_PATCH } from '../api/api.ts';
import { CONTROLLER_REVISIONS } from '../api/resource.ts';
import type { ControllerRevisionsClient } from '../cluster.ts';

const TYPE = { apiVersion: 'apps/v1', kind: 'ControllerRevision' };

export function controllerRevisionsClient(api: Api): ControllerRevisionsClient {
  return {
    // List items have neither apiVersion nor kind, but kubectl prints both.
    list: pool =>
      api.list(CONTROLLER_REVISIONS, (revision: ControllerRevision) => ({ ...TYPE, ...revision }), {
        labelSelector: `${POOL_LABEL}=${pool}`,
      }),
    heads: pool =>
      api.list(CONTROLLER_REVISIONS, revisionHead, {
        labelSelector: pool === undefined ? POOL_LABEL : `${POOL_LABEL}=${pool}`,
      }),
    get: name => api.get(CONTROLLER_REVISIONS, name),

    /** A retry may return `exists` for its own object: the caller then reads it and checks its owner. */
    async create(revision) {
      const { name } = revision.metadata;
      const body = { ...TYPE, ...revision };
      const made = await api.create<ControllerRevision>(CONTROLLER_REVISIONS, body, name, { replayable: true });
      return made.kind === 'created' ? { kind: 'created', revision: made.object } : made;
    },

    async update({ metadata }, { revision, annotations }) {
      const { name, uid, resourceVersion } = metadata;
      const write = await api.patch<ControllerRevision>(CONTROLLER_REVISIONS, name, {
        contentType: MERGE_PATCH,
        body: { metadata: { uid, resourceVersion, annotations }, revision },
        replayable: true,
      });
      return write.kind === 'written' ? { kind: 'written', revision: write.object } : write;
    },

    delete: ({ metadata }) => api.delete(CONTROLLER_REVISIONS, metadata),
  };
}
