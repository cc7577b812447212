/** Requests and allocatable resources as the scheduler's integers (Resource of k8s.io/kube-scheduler framework). */
import { type Amounts, type ReadQuantity, toAmounts } from '../../nodepool/quantity/amounts.ts';
import { NATIVE_RESOURCES } from '../../nodepool/quantity/node-resources.ts';
import { type DemandingPod, podRequests } from '../../nodepool/quantity/pod-resources.ts';
import { type Quantity, QuantityError } from '../../nodepool/quantity/quantity.ts';
import type { ResourceList } from '../../nodepool/types.ts';

/** By resource: cpu in thousandths, others in units. Without resources that the scheduler ignores. */
export type Requests = ReadonlyMap<string, bigint>;

const NO_REQUESTS: Requests = new Map();

/** Leaves out zero requests, because every node satisfies them. @throws QuantityError */
export function requestsOf(pod: DemandingPod, read: ReadQuantity): Requests {
  const requests = toIntegers(podRequests(pod, read));
  for (const [name, amount] of requests) if (amount === 0n) requests.delete(name);
  requests.delete('pods');
  return requests.size === 0 ? NO_REQUESTS : requests;
}

/** An invalid quantity counts as zero. */
export function allocatableOf(list: ResourceList, read: ReadQuantity): Map<string, bigint> {
  try {
    return toIntegers(toAmounts(list, read));
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
  }
  const readable = Object.entries(list).filter(([, text]) => isReadable(text, read));
  return toIntegers(toAmounts(Object.fromEntries(readable), read));
}

function isReadable(text: string, read: ReadQuantity): boolean {
  try {
    read(text);
    return true;
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return false;
  }
}

function toIntegers(amounts: Amounts): Map<string, bigint> {
  const integers = new Map<string, bigint>();
  for (const [name, quantity] of amounts) {
    if (isScheduled(name)) integers.set(name, roundUp(quantity, name === 'cpu' ? 3 : 0));
  }
  return integers;
}

/** In addition to native resources, see IsScalarResourceName: extended resources, huge pages and attachable volumes. */
function isScheduled(name: string): boolean {
  if (NATIVE_RESOURCES.includes(name)) return true;
  if (name.includes('/')) return !name.startsWith('requests.');
  return name.startsWith('hugepages-') || name.startsWith('attachable-volumes-');
}

/** Like Quantity.ScaledValue of apimachinery: rounds away from zero. @param digits 3: in thousandths */
function roundUp({ unscaled, exponent }: Quantity, digits: number): bigint {
  const power = exponent + digits;
  if (power >= 0) return unscaled * 10n ** BigInt(power);
  const divisor = 10n ** BigInt(-power);
  const whole = unscaled / divisor;
  const rest = unscaled % divisor;
  if (rest === 0n) return whole;
  return rest > 0n ? whole + 1n : whole - 1n;
}
