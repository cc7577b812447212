/**
 * What a pod asks its node for, as the scheduler counts it: the rules of PodRequests and PodLimits in
 * k8s.io/component-helpers/resource, with resizes in place and resources of whole pods, as of Kubernetes 1.36.
 *
 * Not counted: devices that stand for a node's own resources (DRANodeAllocatableResources, alpha and off in 1.36).
 */
import { type Amounts, addAmounts, type ReadQuantity, raiseAmounts, toAmounts, ZERO } from './amounts.ts';
import { addQuantities } from './quantity.ts';
import type { ResourceList } from './types.ts';

export interface Resources {
  requests?: ResourceList;
  limits?: ResourceList;
}

export interface Container {
  name?: string;
  /** Of an init container: `Always` makes it a sidecar. */
  restartPolicy?: string;
  resources?: Resources;
}

export interface ContainerStatus {
  name?: string;
  /** What the kubelet has set aside. */
  allocatedResources?: ResourceList;
  /** What the container runs with. */
  resources?: Resources;
}

/** A v1 Pod, cut down to what decides its resources. */
export interface DemandingPod {
  spec?: {
    containers?: Container[];
    initContainers?: Container[];
    overhead?: ResourceList;
    /** Of the pod as a whole. */
    resources?: Resources;
  };
  status?: {
    conditions?: { type?: string; reason?: string }[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
    allocatedResources?: ResourceList;
    resources?: Resources;
  };
}

type Kind = 'requests' | 'limits';

/** The pod's requests, its overhead included. @throws QuantityError */
export function podRequests(pod: DemandingPod, read: ReadQuantity): Amounts {
  const total = podAmounts(pod, 'requests', read);
  addAmounts(total, toAmounts(pod.spec?.overhead, read));
  return total;
}

/** The pod's limits; its overhead counts where there is a limit. @throws QuantityError */
export function podLimits(pod: DemandingPod, read: ReadQuantity): Amounts {
  const total = podAmounts(pod, 'limits', read);
  for (const [name, quantity] of toAmounts(pod.spec?.overhead, read)) {
    const limit = total.get(name);
    if (limit !== undefined && limit.unscaled !== 0n) total.set(name, addQuantities(limit, quantity));
  }
  return total;
}

/** Without overhead. What is said for the pod as a whole stands in place of what its containers say. */
function podAmounts(pod: DemandingPod, kind: Kind, read: ReadQuantity): Amounts {
  const infeasible = isResizeInfeasible(pod);
  const total = containerAmounts(pod, kind, infeasible, read);
  const { spec, status } = pod;
  const own = toAmounts(spec?.resources?.[kind], read);
  if (own.size === 0) return total;
  const live = status?.resources === undefined ? own : effective(own, kind, status, infeasible, read);
  for (const name of own.keys()) if (isPodLevel(name)) total.set(name, live.get(name) ?? ZERO);
  return total;
}

/** Containers run together; init containers one after the other, beside the sidecars that started before them. */
function containerAmounts(
  { spec, status }: DemandingPod,
  kind: Kind,
  infeasible: boolean,
  read: ReadQuantity,
): Amounts {
  const amountsOf = ({ name, resources }: Container, statuses: ContainerStatus[] | undefined): Amounts => {
    const amounts = toAmounts(resources?.[kind], read);
    const live = statuses?.find(candidate => candidate.name === name);
    return live?.resources === undefined ? amounts : effective(amounts, kind, live, infeasible, read);
  };
  const total: Amounts = new Map();
  for (const container of spec?.containers ?? []) addAmounts(total, amountsOf(container, status?.containerStatuses));
  if (spec?.initContainers === undefined) return total;
  const sidecars: Amounts = new Map();
  const peak: Amounts = new Map();
  for (const container of spec.initContainers) {
    if (container.restartPolicy === 'Always') {
      const amounts = amountsOf(container, status?.initContainerStatuses);
      addAmounts(total, amounts);
      addAmounts(sidecars, amounts);
    } else {
      // What it was given once it ran does not count: only sidecars can be resized.
      const amounts = amountsOf(container, undefined);
      addAmounts(amounts, sidecars);
      raiseAmounts(peak, amounts);
    }
  }
  raiseAmounts(total, peak);
  return total;
}

/** While a resize is under way the most of what was asked for, set aside and in use; a refused one counts for nothing. */
function effective(
  asked: Amounts,
  kind: Kind,
  { allocatedResources, resources }: Pick<ContainerStatus, 'allocatedResources' | 'resources'>,
  infeasible: boolean,
  read: ReadQuantity,
): Amounts {
  const amounts: Amounts = new Map(infeasible ? [] : asked);
  raiseAmounts(amounts, toAmounts(resources?.[kind], read));
  if (kind === 'requests') raiseAmounts(amounts, toAmounts(allocatedResources, read));
  return amounts;
}

function isResizeInfeasible({ status }: DemandingPod): boolean {
  return status?.conditions?.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible';
}

/** Which resources a pod may state for itself as a whole. */
function isPodLevel(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || resource.startsWith('hugepages-');
}
