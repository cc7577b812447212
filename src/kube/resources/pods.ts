/** v1 Pods, and the nodes that they are on. */
import type { V1Pod } from '@kubernetes/client-node';
import type { WatchedResource } from '../../controller/source.ts';
import type { Amounts } from '../../nodepool/quantity/amounts.ts';
import type { NodeLoad } from '../../nodepool/quantity/resource-usage.ts';
import type { ResourceList, Toleration } from '../../nodepool/types.ts';
import type { Api } from '../api/api.ts';
import { inJson, PODS, type Resource } from '../api/resource.ts';
import { listWatch } from '../api/watch.ts';
import { decodeToleratingPod } from '../protobuf/evicted-pod.ts';
import type { Query } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';
import type { Wire } from '../wire.ts';
import { type PodStatus, podStatusOf } from './pod-status.ts';

export const NOT_ENDED = 'status.phase!=Succeeded,status.phase!=Failed';

/** Pods that count against their node's capacity: bound to a node, and neither Succeeded nor Failed. */
export const PLACED: Query = { fieldSelector: `spec.nodeName!=,${NOT_ENDED}` };

export function toPlace({ spec }: Wire<V1Pod>): PodPlace {
  return { node: spec?.nodeName ?? '' };
}

export function watchPods(transport: Transport): WatchedResource<PodPlace> {
  return { source: listWatch(transport, PODS, PLACED), transform: toPlace };
}

export async function countPods(api: Api): Promise<ReadonlyMap<string, number>> {
  const counts = new Map<string, number>();
  const count = (pod: Wire<V1Pod>) => {
    const { node } = toPlace(pod);
    counts.set(node, (counts.get(node) ?? 0) + 1);
  };
  await api.list(PODS, count, PLACED, () => counts.clear());
  return counts;
}

// The client for pods, and for their usage from metrics.k8s.io.

/** A pod that has a node and no deletionTimestamp. */
export interface PlacedPod {
  namespace: string;
  name: string;
  uid: string;
  node: string;
  tolerations: Toleration[];
  /** The pod has terminated (Succeeded or Failed), and still exists. */
  hasEnded: boolean;
  /** The controller that would recreate it, such as a ReplicaSet or DaemonSet; undefined if it has none. */
  controller: { kind: string; name: string } | undefined;
}

export interface PodLoad {
  namespace: string;
  name: string;
  node: string;
  requests: Amounts;
  limits: Amounts;
}

export interface PodDemand {
  /** By node name; nodes without pods are missing. */
  byNode: ReadonlyMap<string, NodeLoad>;
  /** Counted pods whose quantities cannot be parsed, one sentence each. */
  problems: string[];
  /** Only if requested by `eachPod`. */
  pods?: PodLoad[];
}

/** `absent`: the cluster has no metrics API. `failed`: its metrics API gave no usable response. */
export type NodeUsage = { kind: 'served'; byNode: ReadonlyMap<string, ResourceList> } | NoUsage;
/** By `namespace/name` of the pod, summed over its containers. */
export type PodUsage = { kind: 'served'; byPod: ReadonlyMap<string, Amounts> } | NoUsage;
export type NoUsage = { kind: 'absent' } | { kind: 'failed'; reason: string };

/** The fields that are kept of a watched pod. */
export interface PodPlace {
  node: string;
}

export interface PodsPort {
  /** Number of pods on each node that have not terminated. Reads every one of them. */
  countByNode(): Promise<ReadonlyMap<string, number>>;
  /** The pods that countByNode() counts. */
  watch(): WatchedResource<PodPlace>;
  /** The pods on these nodes. */
  placedOn(nodes: readonly string[]): Promise<PlacedPod[]>;
  /** Reads every pod on a node, and keeps sums. @param nodes default: all @param eachPod also keeps each pod's */
  demand(nodes?: readonly string[], eachPod?: boolean): Promise<PodDemand>;
  /** Pods on these nodes, including terminated ones. @param nodes default: all @param most reads only the first */
  rows(nodes?: readonly string[], most?: number): Promise<PodRow[]>;
}

/** A row of `kubectl get pods`. */
export interface PodRow extends PodStatus {
  namespace: string;
  name: string;
  node: string;
  creationTimestamp: string | undefined;
}

// The pods on some nodes, with the fields that decide whether a taint evicts them.

/** Above it, lists all pods once. Not with resourceVersion=0: a person agrees to the evictions in the list. */
const MAX_LISTS = 100;

const TOLERATING_PODS: Resource = { ...PODS, decode: decodeToleratingPod };

export async function podsOn(api: Api, nodes: readonly string[]): Promise<PlacedPod[]> {
  const meant = new Set(nodes);
  const list = (fieldSelector: string): Promise<PlacedPod[]> =>
    api.list(TOLERATING_PODS, (pod: Wire<V1Pod>) => placed(pod, meant), { fieldSelector });
  if (meant.size > MAX_LISTS) return list('spec.nodeName!=');
  return (await Promise.all([...meant].map(node => list(`spec.nodeName=${node}`)))).flat();
}

/** Undefined for pods on other nodes, and for pods that are being deleted. */
function placed({ metadata, spec, status }: Wire<V1Pod>, meant: ReadonlySet<string>): PlacedPod | undefined {
  const node = spec?.nodeName ?? '';
  if (!meant.has(node) || metadata?.deletionTimestamp !== undefined) return undefined;
  const owner = metadata?.ownerReferences?.find(({ controller }) => controller);
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    uid: metadata?.uid ?? '',
    node,
    tolerations: (spec?.tolerations ?? []) as Toleration[],
    hasEnded: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    controller: owner && { kind: owner.kind ?? '', name: owner.name ?? '' },
  };
}

// The pods for a list.

/** Sorted by namespace and name. */
export async function podRows(api: Api, nodes?: readonly string[], most?: number): Promise<PodRow[]> {
  const meant = nodes && new Set(nodes);
  const list = (fieldSelector: string): Promise<PodRow[]> =>
    api.list(inJson(PODS), (pod: Wire<V1Pod>) => podRow(pod, meant), { fieldSelector }, undefined, most);
  const isShort = meant !== undefined && meant.size <= MAX_LISTS;
  const lists = isShort ? [...meant].map(node => list(`spec.nodeName=${node}`)) : [list('spec.nodeName!=')];
  const key = ({ namespace, name }: PodRow) => `${namespace}/${name}`;
  const rows = (await Promise.all(lists)).flat().sort((a, b) => (key(a) < key(b) ? -1 : 1));
  return rows.slice(0, most);
}

function podRow(pod: Wire<V1Pod>, meant: ReadonlySet<string> | undefined): PodRow | undefined {
  const { metadata } = pod;
  const { node } = toPlace(pod);
  if (meant !== undefined && !meant.has(node)) return undefined;
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    node,
    ...podStatusOf(pod),
    creationTimestamp: metadata?.creationTimestamp === undefined ? undefined : String(metadata.creationTimestamp),
  };
}
