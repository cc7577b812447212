/** NodeAccess: nodes by their labels, and the pods on some nodes with their tolerations. */
import type { V1Pod } from '@kubernetes/client-node';
import type { Toleration } from '../nodepool/types.ts';
import type { NodeAccess, PlacedPod } from '../operations/node-access-port.ts';
import type { Api } from './api.ts';
import { toNode } from './nodes.ts';
import { decodeToleratingPod } from './protobuf/tolerating-pod.ts';
import { NODES, PODS, type Resource } from './resource.ts';
import type { Wire } from './wire.ts';

/** Beyond it one list of all pods asks less of the server than one of each node's. */
const MOST_LISTS = 100;

const TOLERATING_PODS: Resource = { ...PODS, decode: decodeToleratingPod };

export function nodeAccess(api: Api): NodeAccess {
  const list = async (fieldSelector: string, meant: ReadonlySet<string>): Promise<PlacedPod[]> => {
    const pods = await api.list(TOLERATING_PODS, (pod: Wire<V1Pod>) => placed(pod, meant), { fieldSelector });
    return pods.filter(pod => pod !== undefined);
  };
  return {
    select: labelSelector => api.list(NODES, toNode, { labelSelector }),
    async podsOn(nodes) {
      const meant = new Set(nodes);
      if (meant.size > MOST_LISTS) return list('spec.nodeName!=', meant);
      return (await Promise.all([...meant].map(node => list(`spec.nodeName=${node}`, meant)))).flat();
    },
  };
}

/** Undefined for what is elsewhere, or is being deleted already. */
function placed({ metadata, spec, status }: Wire<V1Pod>, meant: ReadonlySet<string>): PlacedPod | undefined {
  const node = spec?.nodeName ?? '';
  if (!meant.has(node) || metadata?.deletionTimestamp !== undefined) return undefined;
  return {
    namespace: metadata?.namespace ?? '',
    name: metadata?.name ?? '',
    node,
    tolerations: (spec?.tolerations ?? []) as Toleration[],
    hasEnded: status?.phase === 'Succeeded' || status?.phase === 'Failed',
    controller: metadata?.ownerReferences?.find(({ controller }) => controller)?.kind,
  };
}
