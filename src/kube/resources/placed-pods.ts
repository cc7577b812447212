/** The pods on some nodes, with the fields that decide their eviction by a taint. */
import type { V1Pod } from '@kubernetes/client-node';
import type { Toleration } from '../../nodepool/types.ts';
import type { Api } from '../api/api.ts';
import { PODS, type Resource } from '../api/resource.ts';
import type { PlacedPod } from '../ports/pods.ts';
import { decodeToleratingPod } from '../protobuf/evicted-pod.ts';
import type { Wire } from '../wire.ts';

/**
 * Nodes above which all pods are read by one list, instead of one a node. Not with resourceVersion=0: a person agrees to the
 * evictions that are listed.
 */
const MAX_LISTS = 100;

const TOLERATING_PODS: Resource = { ...PODS, decode: decodeToleratingPod };

export async function podsOn(api: Api, nodes: readonly string[]): Promise<PlacedPod[]> {
  const meant = new Set(nodes);
  const list = (fieldSelector: string): Promise<PlacedPod[]> =>
    api.list(TOLERATING_PODS, (pod: Wire<V1Pod>) => placed(pod, meant), { fieldSelector });
  if (meant.size > MAX_LISTS) return list('spec.nodeName!=');
  return (await Promise.all([...meant].map(node => list(`spec.nodeName=${node}`)))).flat();
}

/** Undefined for pods on other nodes and pods that are being deleted. */
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
