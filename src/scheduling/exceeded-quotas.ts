/** ResourceQuotas below their use: after an eviction, the server may refuse the pod that replaces the evicted one. */
import type { ReadQuantity } from '../nodepool/quantity/amounts.ts';
import { compareQuantities, QuantityError, quantityToNumber } from '../nodepool/quantity/quantity.ts';
import type { RawQuota } from './quota.ts';

export interface ExceededQuota {
  namespace: string;
  /** `ResourceQuota default/q (pods: 3 used, 1 allowed)` */
  text: string;
  /** At most so many evicted pods are not created again; Infinity: that depends on what they request. */
  pods: number;
}

/** One for each resource of pods that is exceeded. */
export function exceededQuotas(
  { metadata = {}, status: { hard = {}, used = {} } = {} }: RawQuota & { metadata?: { namespace?: string } },
  read: ReadQuantity,
): ExceededQuota[] {
  const { namespace = '', name = '' } = metadata;
  return Object.entries(hard).flatMap(([resource, allowed]): ExceededQuota[] => {
    const inUse = used[resource] ?? '0';
    const over = OF_PODS.test(resource) ? excess(inUse, allowed, read) : 0;
    if (over <= 0) return [];
    const text = `ResourceQuota ${namespace}/${name} (${resource}: ${inUse} used, ${allowed} allowed)`;
    return [{ namespace, text, pods: resource.endsWith('pods') ? over : Infinity }];
  });
}

/** Volume claims outlive pods, except ephemeral ones. */
const OF_PODS =
  /^((count\/)?pods|(requests\.|limits\.)?(cpu|memory|ephemeral-storage|hugepages-.*)|requests\.[^/]*\/.*)$/;

/** 0 for invalid quantities. */
function excess(used: string, hard: string, read: ReadQuantity): number {
  try {
    const [a, b] = [read(used), read(hard)];
    return compareQuantities(a, b) > 0 ? quantityToNumber(a) - quantityToNumber(b) : 0;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return 0;
  }
}
