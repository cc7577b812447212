/** v1 Nodes, reduced to the used fields when read: one is 11 kB, and there are thousands. */
import type { V1Node } from '@kubernetes/client-node';
import { readResources } from '../../nodepool/node-resources.ts';
import { keptRecord } from '../../nodepool/record.ts';
import { type Node, RECORD_ANNOTATION, type Taint } from '../../nodepool/types.ts';
import type { RawNode } from '../../operations/ports.ts';
import type { NodePatch, NodesClient } from '../../reconciler/ports.ts';
import type { NamedLabels } from '../protobuf/objects.ts';
import type { Transport } from '../transport/transport.ts';
import type { Wire } from '../wire.ts';
import { type Api, MERGE_PATCH, writeQuery } from './api.ts';
import { managerOf, setterOf } from './field-manager.ts';
import { inJson, NODES, ONLY_METADATA, type Resource } from './resource.ts';
import { listWatch } from './watch.ts';

export type WireNode = Wire<V1Node>;

/** With managedFields of the spec as well, and without the images that make a node large. */
const NODE_METADATA: Resource = {
  ...inJson(NODES),
  accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json',
};

export function toNode({ metadata = {}, spec, status }: WireNode): Node {
  const record = metadata.annotations?.[RECORD_ANNOTATION];
  const { allocatable, omitted } = readResources(status?.allocatable ?? {});
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    creationTimestamp: metadata.creationTimestamp ?? '',
    labels: metadata.labels ?? {},
    taints: (spec?.taints ?? []) as Taint[],
    ...(record === undefined ? {} : { record: keptRecord(record) }),
    ready: status?.conditions?.some(({ type, status: value }) => type === 'Ready' && value === 'True') ?? false,
    unschedulable: spec?.unschedulable ?? false,
    allocatable,
    ...(omitted === undefined ? {} : { omittedResources: omitted }),
  };
}

/** The body of the one merge patch that changes a node. */
export function nodePatchBody(patch: NodePatch): Record<string, unknown> {
  const { resourceVersion, labels, taints, record, unschedulable } = patch;
  const spec = {
    ...(taints === undefined ? {} : { taints }),
    // The server omits false.
    ...(unschedulable === undefined ? {} : { unschedulable: unschedulable || null }),
  };
  return {
    metadata: {
      resourceVersion,
      ...(labels === undefined ? {} : { labels }),
      ...(record === undefined ? {} : { annotations: { [RECORD_ANNOTATION]: record } }),
    },
    ...(Object.keys(spec).length === 0 ? {} : { spec }),
  };
}

export function nodesClient(api: Api, transport: Transport): NodesClient {
  return {
    list: labelSelector => api.list(NODES, toNode, { labelSelector }),
    watch: () => ({ source: listWatch(transport, NODES), transform: raw => toNode(raw as WireNode) }),
    async get(name) {
      const node = await api.get<WireNode>(NODES, name);
      return node && toNode(node);
    },
    async fieldManager(name, path) {
      const node = await api.get<WireNode>(inJson(NODES), name);
      return managerOf(node?.metadata?.managedFields, path);
    },
    async fieldSetters(name, paths) {
      const node = await api.get<WireNode>(NODE_METADATA, name);
      return node && paths.map(path => setterOf(node.metadata?.managedFields, path));
    },
    async patch(name, patch, { dryRun }) {
      const write = await api.patch<WireNode>(NODES, name, {
        contentType: MERGE_PATCH,
        body: nodePatchBody(patch),
        query: writeQuery(dryRun),
        replayable: true,
      });
      return write.kind === 'written' ? { kind: 'written', node: toNode(write.object) } : write;
    },
  };
}

/** A node exactly as the server sends it; undefined if there is none. */
export function nodeObject(api: Api, name: string): Promise<RawNode | undefined> {
  return api.get(inJson(NODES), name);
}

/** The labels of the nodes that match. Of each only the metadata is sent: a tenth of the node. */
export function nodeLabels(api: Api, labelSelector?: string): Promise<Record<string, string>[]> {
  // In JSON, an item has its metadata in a field.
  const labelsOf = (item: NamedLabels & { metadata?: NamedLabels }) => (item.metadata ?? item).labels ?? {};
  return api.list({ ...NODES, ...ONLY_METADATA }, labelsOf, { labelSelector });
}
