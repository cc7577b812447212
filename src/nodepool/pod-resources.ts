/**
 * What a pod asks its node for, as the scheduler counts it: the rules of PodRequests and PodLimits in
 * k8s.io/component-helpers/resource, with resizes in place and resources of whole pods, as of Kubernetes 1.36.
 *
 * Not counted: devices that stand for a node's own resources (DRANodeAllocatableResources, alpha and off in 1.36).
 */
import {
  type Amounts,
  addAmounts,
  addList,
  type ReadQuantity,
  raiseAmounts,
  raiseToList,
  toAmounts,
  ZERO,
} from './amounts.ts';
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
  addList(total, pod.spec?.overhead, read);
  return total;
}

/** The pod's limits; its overhead counts where there is a limit. @throws QuantityError */
export function podLimits(pod: DemandingPod, read: ReadQuantity): Amounts {
  const total = podAmounts(pod, 'limits', read);
  if (pod.spec?.overhead === undefined) return total;
  for (const [name, quantity] of toAmounts(pod.spec.overhead, read)) {
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
  const asked = spec?.resources?.[kind];
  if (asked === undefined) return total;
  const own =
    status?.resources === undefined ? toAmounts(asked, read) : effective(asked, kind, status, infeasible, read);
  for (const name of Object.keys(asked)) if (isPodLevel(name)) total.set(name, own.get(name) ?? ZERO);
  return total;
}

/** Containers run together; init containers one after the other, beside the sidecars that started before them. */
function containerAmounts(
  { spec, status }: DemandingPod,
  kind: Kind,
  infeasible: boolean,
  read: ReadQuantity,
): Amounts {
  // There are a hundred thousand pods: no Map for a container where its list can be added as it is.
  const add = (sum: Amounts, { name, resources }: Container, statuses: ContainerStatus[] | undefined) => {
    const asked = resources?.[kind];
    const live = statuses?.find(candidate => candidate.name === name);
    if (live?.resources === undefined) addList(sum, asked, read);
    else addAmounts(sum, effective(asked, kind, live, infeasible, read));
  };
  const total: Amounts = new Map();
  for (const container of spec?.containers ?? []) add(total, container, status?.containerStatuses);
  if (spec?.initContainers === undefined) return total;
  const sidecars: Amounts = new Map();
  const peak: Amounts = new Map();
  for (const container of spec.initContainers) {
    if (container.restartPolicy === 'Always') {
      for (const sum of [total, sidecars]) add(sum, container, status?.initContainerStatuses);
    } else {
      // What it was given once it ran does not count: only sidecars can be resized.
      const amounts = toAmounts(container.resources?.[kind], read);
      addAmounts(amounts, sidecars);
      raiseAmounts(peak, amounts);
    }
  }
  raiseAmounts(total, peak);
  return total;
}

/** While a resize is under way the most of what was asked for, set aside and in use; a refused one counts for nothing. */
function effective(
  asked: ResourceList | undefined,
  kind: Kind,
  { allocatedResources, resources }: Pick<ContainerStatus, 'allocatedResources' | 'resources'>,
  infeasible: boolean,
  read: ReadQuantity,
): Amounts {
  const amounts = toAmounts(infeasible ? undefined : asked, read);
  raiseToList(amounts, resources?.[kind], read);
  if (kind === 'requests') raiseToList(amounts, allocatedResources, read);
  return amounts;
}

function isResizeInfeasible({ status }: DemandingPod): boolean {
  return status?.conditions?.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible';
}

/** Which resources a pod may state for itself as a whole. */
function isPodLevel(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || resource.startsWith('hugepages-');
}
