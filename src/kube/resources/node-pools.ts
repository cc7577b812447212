/** NodePools as JSON in both directions, so that unknown fields are not lost. */

import { NodepoolError } from '../../nodepool/errors.ts';
import { isObject } from '../../nodepool/json.ts';
import { setterOf } from '../../nodepool/managed-fields.ts';
import { withAnnotation } from '../../nodepool/spec/annotations.ts';
import { coerceConditions, coercePool } from '../../nodepool/spec/coerce.ts';
import { SPEC_FIELDS } from '../../nodepool/spec/schema.ts';
import type { NodePool } from '../../nodepool/types.ts';
import { type Api, JSON_PATCH, MERGE_PATCH, type WriteQuery } from '../api/api.ts';
import { PAGE_SIZE, requestPage, UnreadableError } from '../api/page.ts';
import { NODE_POOLS, ONLY_METADATA } from '../api/resource.ts';
import { listWatch } from '../api/watch.ts';
import type { NodePoolsClient, PoolWrite, RawPool } from '../cluster.ts';
import type { NamedLabels } from '../protobuf/objects.ts';
import type { Transport } from '../transport/transport.ts';
import type { KeptAnnotations } from './kept-annotations.ts';

/** Fields of the spec in every CRD of NodePools, including that of the earlier operator. */
const IN_EVERY_CRD: readonly string[] = ['labels', 'taints', 'handler'];
/** Fields of the spec that earlier CRDs prune. */
const LOSABLE = SPEC_FIELDS.filter(field => !IN_EVERY_CRD.includes(field));

export function nodePoolsClient(api: Api, transport: Transport, kept: KeptAnnotations): NodePoolsClient {
  const get = (name: string) => api.get<RawPool>(NODE_POOLS, name);
  const seen = <T extends NodePool>(pool: T): T => {
    const annotations: unknown = pool.spec?.annotations;
    if (isObject(annotations)) kept.add(Object.keys(annotations));
    return pool;
  };
  const coerced = (pool: NodePool) => coercePool(seen(pool));
  const raw = (pool: RawPool) => withSpec(seen(pool));
  return {
    list: ({ labelSelector, fieldSelector } = {}) => api.list(NODE_POOLS, raw, { labelSelector, fieldSelector }),
    async firstNames() {
      try {
        const { answer, page } = await requestPage(
          transport,
          { ...NODE_POOLS, ...ONLY_METADATA },
          { limit: PAGE_SIZE },
        );
        // Any other response has no list: a server without protobuf only costs the suggestion.
        const items = answer.status === 200 ? ((page?.items ?? []) as NamedLabels[]) : [];
        return items.flatMap(({ name }) => name ?? []);
      } catch (error) {
        if (error instanceof NodepoolError || error instanceof UnreadableError) return [];
        throw error;
      }
    },
    watchRaw({ names, labelSelector, fieldSelector: otherFields }) {
      // With the name as field selector, RBAC permits users who may only read that pool.
      const fieldSelector = names.length === 1 ? `metadata.name=${names[0]}` : otherFields;
      const isNamed = ({ metadata }: RawPool) => names.length === 0 || names.includes(metadata.name);
      return {
        source: listWatch(transport, NODE_POOLS, { fieldSelector, labelSelector }),
        transform: raw => (isNamed(raw as RawPool) ? withSpec(raw as RawPool) : undefined),
      };
    },
    watch: () => ({
      source: listWatch(transport, NODE_POOLS),
      transform: raw => withoutManagedFields(coerced(raw as NodePool)),
    }),
    async get(name) {
      const pool = await get(name);
      return pool && raw(pool);
    },
    listCoerced: () => api.list(NODE_POOLS, coerced),
    async getCoerced(name) {
      const pool = await get(name);
      return pool && coerced(pool);
    },
    async fieldManager(name, path) {
      const pool = await get(name);
      return setterOf((pool?.metadata as { managedFields?: unknown } | undefined)?.managedFields, path)?.manager;
    },
    assertServed: () => api.assertServed(NODE_POOLS),
    async create(pool) {
      const made = await api.create<RawPool>(NODE_POOLS, pool, pool.metadata.name, { query: strictQuery(api) });
      return made.kind === 'created' ? { kind: 'created', pool: withSpec(made.object) } : made;
    },
    async patch(name, patch) {
      const write = await api.patch<RawPool>(NODE_POOLS, name, {
        contentType: MERGE_PATCH,
        body: patch,
        query: strictQuery(api),
        replayable: true,
      });
      return write.kind === 'written' ? { kind: 'written', pool: withSpec(write.object) } : write;
    },
    setFinalizers: (pool, finalizers) =>
      patchGuarded(api, pool, { op: 'add', path: '/metadata/finalizers', value: finalizers }),
    // Sends all annotations: a dry run may have set the first, and the server then has no map to add to.
    annotate: (pool, key, value) => {
      const annotations = withAnnotation(pool.metadata.annotations, key, value);
      return patchGuarded(api, pool, { op: 'add', path: '/metadata/annotations', value: annotations });
    },
    /** Replaces the whole status: a merge patch would keep removed keys of maps. */
    patchStatus: (pool, status) => patchGuarded(api, pool, { op: 'add', path: '/status', value: status }, 'status'),
    async delete({ metadata }) {
      const result = await api.delete(NODE_POOLS, metadata);
      // The UID differs: the requested pool no longer exists.
      return result === 'conflict' ? 'gone' : result;
    },
  };
}

/**
 * A JSON patch that tests the resourceVersion, and the fields of the spec that earlier CRDs prune: such a CRD would
 * store the spec without them. The spec of an unreadable pool differs from the server's, so it is not tested.
 */
async function patchGuarded(
  api: Api,
  { metadata, spec, unreadable }: NodePool,
  change: object,
  subresource?: 'status',
): Promise<PoolWrite> {
  const kept = unreadable === undefined ? LOSABLE.filter(field => spec[field] !== undefined) : [];
  const write = await api.patch<NodePool>(NODE_POOLS, metadata.name, {
    contentType: JSON_PATCH,
    body: [
      { op: 'replace', path: '/metadata/resourceVersion', value: metadata.resourceVersion },
      ...kept.map(field => ({ op: 'test', path: `/spec/${field}`, value: spec[field] })),
      change,
    ],
    ...(subresource === undefined ? {} : { subresource }),
    replayable: true,
  });
  return write.kind === 'written' ? { kind: 'written', pool: coercePool(write.object) } : write;
}

/** A CRD without our defaults permits pools without a spec, and conditions of any type. */
function withSpec<T extends NodePool>(pool: T): T {
  const { status } = pool;
  const spec = pool.spec ?? {};
  const conditions: unknown = isObject(status) ? status.conditions : undefined;
  if (conditions === undefined) return { ...pool, spec };
  const readable = coerceConditions(Array.isArray(conditions) ? conditions : []);
  return { ...pool, spec, status: { ...status, conditions: readable } };
}

/** managedFields are unused, and the larger part of a small object. */
export function withoutManagedFields<T extends { metadata: object }>(object: T): T {
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([key]) => key !== 'managedFields'));
  return { ...object, metadata: metadata as T['metadata'] };
}

function strictQuery(api: Api): WriteQuery {
  return { ...api.writeQuery(), fieldValidation: 'Strict' };
}
