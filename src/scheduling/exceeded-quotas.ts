/** ResourceQuotas below their use: after an eviction, the server may refuse the pod that replaces the evicted one. */
import type { ReadQuantity } from '../nodepool/quantity/amounts.ts';
import { compareQuantities, quantityToNumber } from '../nodepool/quantity/quantity.ts';
import { amountIn, type RawQuota } from './quota.ts';

export interface ExceededQuota {
  namespace: string;
  /** `ResourceQuota default/q (pods: 3 used, 1 allowed)` */
  text: string;
  /** At most so many evicted pods are not created again; Infinity: that depends on what they request. */
  pods: number;
  /** Concerns only pods with ephemeral volumes: other claims stay. */
  isOfClaims: boolean;
}

/** One for each exceeded resource of pods and claims. */
export function exceededQuotas(
  { metadata = {}, status: { hard = {}, used = {} } = {} }: RawQuota & { metadata?: { namespace?: string } },
  read: ReadQuantity,
): ExceededQuota[] {
  const { namespace = '', name = '' } = metadata;
  return Object.entries(hard).flatMap(([resource, allowed]): ExceededQuota[] => {
    const [a, b] = [amountIn(used, resource, read), amountIn(hard, resource, read)];
    const isOfClaims = OF_CLAIMS.test(resource);
    if ((!isOfClaims && !OF_PODS.test(resource)) || a === undefined || b === undefined || compareQuantities(a, b) <= 0)
      return [];
    const over = quantityToNumber(a) - quantityToNumber(b);
    const text = `ResourceQuota ${namespace}/${name} (${resource}: ${used[resource]} used, ${allowed} allowed)`;
    return [{ namespace, text, pods: resource.endsWith('pods') ? over : Infinity, isOfClaims }];
  });
}

const OF_CLAIMS = /(^|\/)(persistentvolumeclaims|requests\.storage)$/;
const OF_PODS =
  /^((count\/)?pods|(requests\.|limits\.)?(cpu|memory|ephemeral-storage|hugepages-.*)|requests\.[^/]*\/.*)$/;
