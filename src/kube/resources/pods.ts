/** v1 Pods: their nodes. */
import type { V1Pod } from '@kubernetes/client-node';
import type { Watched } from '../../controller/source.ts';
import type { Api } from '../api/api.ts';
import { PODS } from '../api/resource.ts';
import { listWatch } from '../api/watch.ts';
import type { PodPlace } from '../ports/pods.ts';
import type { Query } from '../transport/request.ts';
import type { Transport } from '../transport/transport.ts';
import type { Wire } from '../wire.ts';

export const NOT_ENDED = 'status.phase!=Succeeded,status.phase!=Failed';

/** Pods that count against their node's capacity: scheduled, and neither Succeeded nor Failed. */
export const PLACED: Query = { fieldSelector: `spec.nodeName!=,${NOT_ENDED}` };

export function toPlace({ spec }: Wire<V1Pod>): PodPlace {
  return { node: spec?.nodeName ?? '' };
}

export function watchPods(transport: Transport): Watched<PodPlace> {
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
