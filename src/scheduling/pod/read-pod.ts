import type { PodPlacement } from '../../nodepool/drain/placement.ts';
import type { ReadQuantity } from '../../nodepool/quantity/amounts.ts';
import { QuantityError } from '../../nodepool/quantity/quantity.ts';
import type { Toleration } from '../../nodepool/types.ts';
import { hostPortsOf } from '../node/resources.ts';
import { podNotJudged } from '../not-judged.ts';
import { podTermsOf } from '../spread/pod-affinity.ts';
import { spreadOf } from '../spread/spread.ts';
import type { Pod } from '../types.ts';
import { disksOf } from '../volumes/storage.ts';
import { claimsOf } from '../volumes/volumes.ts';
import type { RawPod, RawPodSpec } from './raw-pod.ts';
import { requestsOf } from './requests.ts';

// Shared, because most of 50,000 pods have none.
const NO_LABELS: Record<string, string> = {};
const NO_TOLERATIONS: Toleration[] = [];
const NO_GATES: readonly string[] = [];

/** @param read see quantityReader() @throws QuantityError */
export function readPod({ metadata = {}, spec = {}, status }: RawPod, read: ReadQuantity): Pod {
  const { namespace = '', name = '', labels = NO_LABELS } = metadata;
  const { podAffinity, podAntiAffinity } = spec.affinity ?? {};
  const of = { namespace, labels };
  return {
    ...{ namespace, name, labels },
    nodeName: spec.nodeName === '' ? undefined : spec.nodeName,
    placement: placementOf(spec),
    requests: requestsOf(status === undefined ? { spec } : { spec, status }, read),
    hostPorts: hostPortsOf(spec),
    spread: spreadOf(spec.topologySpreadConstraints, labels),
    affinity: podTermsOf(podAffinity?.requiredDuringSchedulingIgnoredDuringExecution, of),
    antiAffinity: podTermsOf(podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution, of),
    claims: claimsOf(spec.volumes),
    disks: disksOf(spec.volumes),
    gates: spec.schedulingGates?.map(gate => gate.name ?? '') ?? NO_GATES,
    notJudged: podNotJudged(spec),
    isTerminating: metadata.deletionTimestamp !== undefined && metadata.deletionTimestamp !== null,
  };
}

/** Like readPod(); a pod on a node with invalid quantities requests nothing. @param onProblem receives a sentence */
export function readPlacedPod(raw: RawPod, read: ReadQuantity, onProblem: (problem: string) => void): Pod {
  try {
    return readPod(raw, read);
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    const { namespace = '', name = '' } = raw.metadata ?? {};
    onProblem(`pod ${namespace}/${name}: ${error.message}`);
    const {
      containers: _,
      initContainers: _init,
      overhead: _overhead,
      resources: _resources,
      ...spec
    } = raw.spec ?? {};
    return readPod(raw.metadata === undefined ? { spec } : { metadata: raw.metadata, spec }, read);
  }
}

const SCHEDULER = 'default-scheduler';

/** The node where preemption has made room for the pod. The scheduler knows the nominations of its own pods only. */
export function nominatedNode({ spec = {}, status }: RawPod): string | undefined {
  return (spec.schedulerName ?? SCHEDULER) === SCHEDULER ? status?.nominatedNodeName || undefined : undefined;
}

export function placementOf({
  nodeSelector = NO_LABELS,
  affinity,
  tolerations = NO_TOLERATIONS,
}: RawPodSpec): PodPlacement {
  const required = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return { nodeSelector, nodeTerms: required && (required.nodeSelectorTerms ?? []), tolerations };
}
