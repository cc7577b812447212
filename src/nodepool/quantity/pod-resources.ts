/**
 * The resource requests and limits of a pod, as the scheduler computes them: PodRequests and PodLimits of
 * k8s.io/component-helpers/resource, with in-place resize and pod-level resources, as of Kubernetes 1.36.
 *
 * Not included: devices that represent native resources (DRANodeAllocatableResources, alpha and off in 1.36).
 */

import type { ResourceList } from '../types.ts';
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

export interface ResourceRequirements {
  requests?: ResourceList;
  limits?: ResourceList;
}

export interface Container {
  name?: string;
  /** For an init container, `Always` makes it a sidecar. */
  restartPolicy?: string;
  resources?: ResourceRequirements;
}

interface ContainerStatus {
  name?: string;
  /** Resources that the kubelet has allocated. */
  allocatedResources?: ResourceList;
  /** Resources that the container runs with. */
  resources?: ResourceRequirements;
}

/** The fields of a v1 Pod that determine its resources. */
export interface DemandingPod {
  spec?: {
    containers?: Container[];
    initContainers?: Container[];
    overhead?: ResourceList;
    /** Pod-level resources. */
    resources?: ResourceRequirements;
  };
  status?: {
    conditions?: { type?: string; reason?: string }[];
    containerStatuses?: ContainerStatus[];
    initContainerStatuses?: ContainerStatus[];
    allocatedResources?: ResourceList;
    resources?: ResourceRequirements;
  };
}

type AmountKind = 'requests' | 'limits';

/** The pod's requests, including overhead. @throws QuantityError */
export function podRequests(pod: DemandingPod, read: ReadQuantity): Amounts {
  const total = podAmounts(pod, 'requests', read);
  addList(total, pod.spec?.overhead, read);
  return total;
}

/** The pod's limits. Overhead is added only to resources with a limit. @throws QuantityError */
export function podLimits(pod: DemandingPod, read: ReadQuantity): Amounts {
  const total = podAmounts(pod, 'limits', read);
  if (pod.spec?.overhead === undefined) return total;
  for (const [name, quantity] of toAmounts(pod.spec.overhead, read)) {
    const limit = total.get(name);
    if (limit !== undefined && limit.unscaled !== 0n) total.set(name, addQuantities(limit, quantity));
  }
  return total;
}

/** Without overhead. Pod-level resources replace those of the containers. */
function podAmounts(pod: DemandingPod, kind: AmountKind, read: ReadQuantity): Amounts {
  const infeasible = isResizeInfeasible(pod);
  const total = containerAmounts(pod, kind, infeasible, read);
  const { spec, status } = pod;
  const declared = spec?.resources?.[kind];
  if (declared === undefined) return total;
  const podLevel =
    status?.resources === undefined ? toAmounts(declared, read) : effective(declared, kind, status, infeasible, read);
  for (const name of Object.keys(declared)) if (isPodLevel(name)) total.set(name, podLevel.get(name) ?? ZERO);
  return total;
}

/** Containers and sidecars run together; an init container runs alone with the sidecars started before it. */
function containerAmounts(
  { spec, status }: DemandingPod,
  kind: AmountKind,
  infeasible: boolean,
  read: ReadQuantity,
): Amounts {
  // With 100,000 pods, avoid a Map for each container whose list can be added directly.
  const add = (sum: Amounts, { name, resources }: Container, statuses: ContainerStatus[] | undefined) => {
    const declared = resources?.[kind];
    const live = statuses?.find(candidate => candidate.name === name);
    if (live?.resources === undefined) addList(sum, declared, read);
    else addAmounts(sum, effective(declared, kind, live, infeasible, read));
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
      // The status of a regular init container does not count, because only sidecars can be resized.
      const amounts = toAmounts(container.resources?.[kind], read);
      addAmounts(amounts, sidecars);
      raiseAmounts(peak, amounts);
    }
  }
  raiseAmounts(total, peak);
  return total;
}

/** During a resize, the maximum of requested, allocated and in use. An infeasible resize is ignored. */
function effective(
  declared: ResourceList | undefined,
  kind: AmountKind,
  { allocatedResources, resources }: Pick<ContainerStatus, 'allocatedResources' | 'resources'>,
  infeasible: boolean,
  read: ReadQuantity,
): Amounts {
  const amounts = toAmounts(infeasible ? undefined : declared, read);
  raiseToList(amounts, resources?.[kind], read);
  if (kind === 'requests') raiseToList(amounts, allocatedResources, read);
  return amounts;
}

function isResizeInfeasible({ status }: DemandingPod): boolean {
  return status?.conditions?.find(({ type }) => type === 'PodResizePending')?.reason === 'Infeasible';
}

/** The resources that pod-level resources support. */
function isPodLevel(resource: string): boolean {
  return resource === 'cpu' || resource === 'memory' || resource.startsWith('hugepages-');
}
