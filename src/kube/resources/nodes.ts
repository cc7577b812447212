/** v1 Nodes, reduced to the used fields when read: one is 11 kB, and there are thousands. */
import { type NodeAnnotations, readNodeAnnotations } from '../../nodepool/adopt/adoptable.ts';
import { maintenanceIn } from '../../nodepool/drain/maintenance.ts';
import { type DatedNode, readManagedFields, setterOf } from '../../nodepool/managed-fields.ts';
import { birthRecordIn, recordIn } from '../../nodepool/membership/birth-record.ts';
import { compactBoot, keptRecord } from '../../nodepool/plan/record.ts';
import { readResources } from '../../nodepool/quantity/node-resources.ts';
import { keyProblem } from '../../nodepool/spec/syntax.ts';
import { parseTime } from '../../nodepool/timestamp.ts';
import {
  BORN_ANNOTATION,
  MAINTENANCE_ANNOTATION,
  type Node,
  RECORD_ANNOTATION,
  type Taint,
} from '../../nodepool/types.ts';
import { type Api, MERGE_PATCH } from '../api/api.ts';
import { inJson, NODES, ONLY_METADATA, type Resource } from '../api/resource.ts';
import { listWatch } from '../api/watch.ts';
import type { NodePatch, NodesClient } from '../cluster.ts';
import { type AnnotatedNode, decodeAnnotated } from '../protobuf/nodes.ts';
import type { NamedLabels } from '../protobuf/objects.ts';
import type { Transport } from '../transport/transport.ts';
import type { KeptAnnotations, WireNode } from './kept-annotations.ts';

export type { WireNode };

/** Metadata with the managedFields of the spec, without the images that make a node large. */
const NODE_METADATA: Resource = {
  ...inJson(NODES),
  accept: 'application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1, application/json',
};

export function toNode(raw: WireNode, kept: KeptAnnotations): Node {
  const { metadata = {}, spec, status } = raw;
  const record = recordIn(metadata.annotations);
  const { allocatable, omitted } = readResources(status?.allocatable ?? {});
  const { bootID = '' } = status?.nodeInfo ?? {};
  return {
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    resourceVersion: metadata.resourceVersion ?? '',
    creationTimestamp: metadata.creationTimestamp ?? '',
    ...(metadata.deletionTimestamp == null ? {} : { deletionTimestamp: metadata.deletionTimestamp }),
    labels: metadata.labels ?? {},
    taints: (spec?.taints ?? []) as Taint[],
    ...(record === undefined ? {} : { record: keptRecord(record) }),
    ...birthRecordIn(metadata.annotations),
    ...maintenanceIn(metadata.annotations),
    ...kept.of(raw),
    ...trueConditions(status?.conditions ?? []),
    ...(bootID === '' ? {} : { boot: compactBoot(bootID) }),
    unschedulable: spec?.unschedulable ?? false,
    allocatable,
    ...(omitted === undefined ? {} : { omittedResources: omitted }),
  };
}

export function nodePatchBody(patch: NodePatch): Record<string, unknown> {
  const { resourceVersion, labels, taints, record, dropsBirthRecord = false, unschedulable, maintenance } = patch;
  const annotations = {
    ...patch.annotations,
    ...(record === undefined ? {} : { [RECORD_ANNOTATION]: record }),
    ...(dropsBirthRecord ? { [BORN_ANNOTATION]: null } : {}),
    ...(maintenance === undefined ? {} : { [MAINTENANCE_ANNOTATION]: maintenance }),
  };
  const spec = {
    ...(taints === undefined ? {} : { taints }),
    // The server omits false.
    ...(unschedulable === undefined ? {} : { unschedulable: unschedulable || null }),
  };
  return {
    metadata: {
      resourceVersion,
      ...(labels === undefined ? {} : { labels }),
      ...(Object.keys(annotations).length === 0 ? {} : { annotations }),
    },
    ...(Object.keys(spec).length === 0 ? {} : { spec }),
  };
}

export function nodesClient(api: Api, transport: Transport, kept: KeptAnnotations): NodesClient {
  const nodes: Resource = { ...NODES, decode: kept.decoder() };
  return {
    list: labelSelector => api.list(nodes, (node: WireNode) => toNode(node, kept), { labelSelector }),
    serverTime: () => api.serverTime(),
    watch: () => ({ source: listWatch(transport, nodes), transform: raw => toNode(raw as WireNode, kept) }),
    async get(name) {
      const node = await api.get<WireNode>(nodes, name);
      return node && toNode(node, kept);
    },
    async fieldManager(name, path) {
      const node = await api.get<WireNode>(inJson(NODES), name);
      return setterOf(node?.metadata?.managedFields, path)?.manager;
    },
    async fieldSetters(name, paths) {
      const node = await api.get<WireNode>(NODE_METADATA, name);
      return node && paths.map(path => setterOf(node.metadata?.managedFields, path));
    },
    async patch(name, patch, { isTrial } = {}) {
      // After the write, the record no longer names the annotations of a deleted pool, so they are kept here.
      const answered = kept.with(Object.keys(patch.annotations ?? {}));
      const resource = answered === kept ? nodes : { ...NODES, decode: answered.decoder() };
      const write = await api.patch<WireNode>(resource, name, {
        contentType: MERGE_PATCH,
        body: nodePatchBody(patch),
        query: api.writeQuery(isTrial),
        replayable: true,
      });
      return write.kind === 'written' ? { kind: 'written', node: toNode(write.object, answered) } : write;
    },
  };
}

/** A node exactly as the server sends it; undefined if it does not exist. */
export function nodeObject(api: Api, name: string): Promise<RawNode | undefined> {
  return api.get(inJson(NODES), name);
}

export async function datedNode(api: Api, kept: KeptAnnotations, name: string): Promise<DatedNode | undefined> {
  const node = await api.get<WireNode>(inJson(NODES), name);
  return (
    node && {
      node: toNode(node, kept),
      managedFields: readManagedFields(node.metadata?.managedFields),
      conditions: node.status?.conditions ?? [],
    }
  );
}

/** The names and labels of the matching nodes. Reads only metadata: a tenth of the node. */
export function nodeLabels(api: Api, labelSelector?: string): Promise<LabelledNode[]> {
  // In JSON, the metadata is a field of the item.
  const labelsOf = (item: NamedLabels & { metadata?: NamedLabels }) => {
    const { name = '', labels = {} } = item.metadata ?? item;
    return { name, labels };
  };
  return api.list({ ...NODES, ...ONLY_METADATA }, labelsOf, { labelSelector });
}

/** All nodes with their annotations, for `adopt`. Drops the long annotations of an item before it reads the next. */
export async function annotatedNodes(api: Api, kept: KeptAnnotations): Promise<AnnotatedNodes> {
  const decode = kept.decoder();
  const resource = { ...NODES, decode: (raw: Uint8Array) => ({ ...decodeAnnotated(raw), node: decode(raw) }) };
  // In JSON, the item is the node.
  const read = await api.list(resource, (item: { metadata?: AnnotatedNode; node?: WireNode } & WireNode) => ({
    node: toNode(item.node ?? item, kept),
    annotations: readNodeAnnotations(item.metadata ?? {}),
  }));
  return { nodes: read.map(({ node }) => node), annotations: read.map(({ annotations }) => annotations) };
}

// The conditions of a node with status True. Most nodes have only Ready; equal lists of other conditions are shared.

/** Maximum for one node: its kubelet can report any number. */
const MAX_CONDITIONS = 64;
/** Number of shared lists, and the maximum characters of each; other lists belong to one node. */
const MAX_LISTS = 1_000;
const MAX_SHARED_LENGTH = 1_000;

const lists = new Map<string, readonly string[]>();

interface WireCondition {
  type?: string;
  status?: string;
  /** RFC 3339. */
  lastTransitionTime?: unknown;
}

export function trueConditions(all: readonly WireCondition[]): Pick<Node, 'ready' | 'readySince' | 'conditions'> {
  const since = Math.floor(parseTime(String(all.find(({ type }) => type === 'Ready')?.lastTransitionTime)) / 1000);
  const readySince = Number.isNaN(since) ? {} : { readySince: since };
  let ready = false;
  const others: string[] = [];
  for (const { type = '', status } of all) {
    if (status !== 'True') continue;
    if (type === 'Ready') ready = true;
    // A pool can wait only for valid condition types.
    else if (keyProblem(type) === undefined) others.push(type);
  }
  return { ready, ...readySince, ...(others.length === 0 ? {} : { conditions: shared(others) }) };
}

function shared(types: string[]): readonly string[] {
  const kept = [...new Set(types)].sort().slice(0, MAX_CONDITIONS);
  const text = kept.join();
  const known = lists.get(text);
  if (known !== undefined) return known;
  if (lists.size < MAX_LISTS && text.length <= MAX_SHARED_LENGTH) lists.set(text, kept);
  return kept;
}

export type RawNode = { metadata: { name: string } } & Record<string, unknown>;

export interface AnnotatedNodes {
  nodes: Node[];
  /** In the order of `nodes`. */
  annotations: NodeAnnotations[];
}

export type LabelledNode = Pick<Node, 'name' | 'labels'>;
