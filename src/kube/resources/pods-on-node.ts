/** v1 Pods of one node, for a drain. */
import type { V1Pod } from '@kubernetes/client-node';
import type { DrainPod } from '../../nodepool/drain/drain-filters.ts';
import type { Toleration } from '../../nodepool/types.ts';
import type { Api } from '../api/api.ts';
import { PODS, type Resource } from '../api/resource.ts';
import { decodeDrainedPod, MIRROR_ANNOTATION } from '../protobuf/evicted-pod.ts';
import type { Wire } from '../wire.ts';

const DRAINED_PODS: Resource = { ...PODS, decode: decodeDrainedPod };

/** All pods bound to the node, terminated ones too. @param podSelector a label selector */
export function podsOnNode(api: Api, node: string, podSelector: string | undefined): Promise<DrainPod[]> {
  return api.list(DRAINED_PODS, toDrainPod, { fieldSelector: `spec.nodeName=${node}`, labelSelector: podSelector });
}

export function toDrainPod({ metadata = {}, spec, status }: Wire<V1Pod>): DrainPod {
  const owner = metadata.ownerReferences?.find(({ controller }) => controller === true);
  const { deletionTimestamp } = metadata;
  const required = spec?.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  return {
    namespace: metadata.namespace ?? '',
    name: metadata.name ?? '',
    uid: metadata.uid ?? '',
    phase: status?.phase ?? '',
    creationTimestamp: String(metadata.creationTimestamp ?? ''),
    ...(deletionTimestamp === undefined ? {} : { deletionTimestamp }),
    ...(owner === undefined
      ? {}
      : { controller: { apiVersion: owner.apiVersion ?? '', kind: owner.kind ?? '', name: owner.name ?? '' } }),
    isMirror: metadata.annotations?.[MIRROR_ANNOTATION] !== undefined,
    hasEmptyDir: spec?.volumes?.some(({ emptyDir }) => emptyDir !== undefined && emptyDir !== null) ?? false,
    ...claimsOf(spec?.volumes),
    labels: metadata.labels ?? {},
    isReady: status?.conditions?.some(({ type, status }) => type === 'Ready' && status === 'True') ?? false,
    placement: {
      nodeSelector: spec?.nodeSelector ?? {},
      nodeTerms: required?.nodeSelectorTerms,
      tolerations: (spec?.tolerations ?? []) as Toleration[],
    },
  };
}

function claimsOf(volumes: NonNullable<Wire<V1Pod>['spec']>['volumes']): Pick<DrainPod, 'claims'> {
  const claims = volumes?.flatMap(({ persistentVolumeClaim }) => persistentVolumeClaim?.claimName ?? []) ?? [];
  return claims.length === 0 ? {} : { claims };
}
