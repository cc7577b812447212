/** v1 Pods: only where they are. */
import type { V1Pod } from '@kubernetes/client-node';
import type { PodPlace } from '../operations/ports.ts';
import type { Api } from './api.ts';
import type { Query } from './request.ts';
import { PODS } from './resource.ts';
import type { Wire } from './wire.ts';

/** Those that take one of their node's places: scheduled, and neither Succeeded nor Failed. */
export const PLACED: Query = { fieldSelector: 'spec.nodeName!=,status.phase!=Succeeded,status.phase!=Failed' };

export function toPlace({ spec }: Wire<V1Pod>): PodPlace {
  return { node: spec?.nodeName ?? '' };
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
