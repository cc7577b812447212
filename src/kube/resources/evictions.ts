/** Removes pods by policy/v1 Evictions or deletes, with the UID as precondition: a new pod of the same name stays. */

import type { V1Pod } from '@kubernetes/client-node';
import type { Budget } from '../../nodepool/drain/budgets.ts';
import type { DrainPod } from '../../nodepool/drain/drain-filters.ts';
import { ifRefused } from '../../nodepool/errors.ts';
import { defined } from '../../nodepool/json.ts';
import { type LabelQuery, matchesQuery } from '../../nodepool/membership/label-query.ts';
import type { Toleration } from '../../nodepool/types.ts';
import type { Api } from '../api/api.ts';
import { inJson, PODS, type Resource } from '../api/resource.ts';
import { missingObject, parseStatus, reasonOf, type Status } from '../api/status.ts';
import type { EvictionsClient, RemovalOptions, RemovalResult } from '../cluster.ts';
import { decodeDrainedPod, MIRROR_ANNOTATION } from '../protobuf/evicted-pod.ts';
import { type ApiResponse, retryAfterMs } from '../transport/response.ts';
import type { Wire } from '../wire.ts';

const DAEMON_SETS: Resource = { group: 'apps', version: 'v1', plural: 'daemonsets', kind: 'DaemonSet' };
const BUDGETS: Resource = {
  group: 'policy',
  version: 'v1',
  plural: 'poddisruptionbudgets',
  kind: 'PodDisruptionBudget',
};

export function evictionsClient(api: Api, removal: RemovalOptions = {}): EvictionsClient {
  const { gracePeriodSeconds } = removal;
  const deleteOptions = ({ uid }: DrainPod) => ({ ...defined({ gracePeriodSeconds }), preconditions: { uid } });

  async function evict(pod: DrainPod): Promise<RemovalResult> {
    const { namespace, name } = pod;
    const resource = { ...inJson(PODS), namespace };
    const subresource = 'eviction';
    const metadata = { name, namespace };
    const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata, deleteOptions: deleteOptions(pod) };
    const sending = { replayable: true, tooManyIsAnswer: true };
    const answer = await api.write(resource, { method: 'POST', name, subresource, body }, sending);
    const outcome = evictionOf(answer);
    if (outcome === 'many budgets') {
      const budgets = await budgetsOf(api, pod).catch(ifRefused<string[]>([]));
      return { kind: outcome, budgets };
    }
    if (outcome !== undefined) return outcome;
    throw api.refusal({ verb: 'create', resource, name, subresource }, answer);
  }

  async function remove(pod: DrainPod): Promise<RemovalResult> {
    const { namespace, name } = pod;
    const resource = { ...inJson(PODS), namespace };
    const body = { apiVersion: 'v1', kind: 'DeleteOptions', ...deleteOptions(pod) };
    const answer = await api.write(resource, { method: 'DELETE', name, body }, { replayable: true });
    const outcome = commonOutcome(answer, parseStatus(answer.text));
    if (outcome !== undefined) return outcome;
    throw api.refusal({ verb: 'delete', resource, name }, answer);
  }

  return {
    podsOn: (node, podSelector) => podsOnNode(api, node, podSelector),
    hasDaemonSet: async (namespace, name) => (await api.get({ ...DAEMON_SETS, namespace }, name)) !== undefined,
    budgets: namespace => api.list(namespace === undefined ? BUDGETS : { ...BUDGETS, namespace }, toBudget),
    evict: removal.disableEviction ? remove : evict,
  };
}

/** Undefined for a permanent refusal. */
export function evictionOf(answer: ApiResponse): RemovalResult | 'many budgets' | undefined {
  const status = parseStatus(answer.text);
  // The server answers 201 with a Status of 500: the Status is the result.
  if (status?.message.includes('more than one PodDisruptionBudget')) return 'many budgets';
  const outcome = commonOutcome(answer, status);
  if (outcome !== undefined) return outcome;
  const message = reasonOf(answer, status);
  if (status?.causes.some(({ reason }) => reason === 'NamespaceTerminating'))
    return { kind: 'namespace ends', message };
  const byBudget = answer.status === 429 && status !== undefined ? budgetRefusal(status) : undefined;
  if (byBudget !== undefined) return byBudget;
  // Often without a Status: the response comes from API priority and fairness, or a proxy.
  const isBusy = [429, 503, 504].includes(answer.status);
  return isBusy ? { kind: 'busy', afterMs: retryAfterMs(answer.headers), message } : undefined;
}

function commonOutcome(answer: ApiResponse, status: Status | undefined): RemovalResult | undefined {
  if (answer.status < 300 && status?.failure === undefined) return { kind: 'accepted' };
  // The 404 is about a budget that was deleted during the eviction, not about the pod.
  const missing = missingObject(answer)?.resource;
  if (missing === BUDGETS.plural) return { kind: 'changed' };
  if (missing === PODS.plural) return { kind: 'gone' };
  return answer.status === 409 ? { kind: 'changed' } : undefined;
}

/** The name of the budget is only in the message. */
function budgetRefusal({ causes, message }: Status): RemovalResult | undefined {
  const cause = causes.find(({ reason }) => reason === 'DisruptionBudget');
  if (cause === undefined && !message.includes('disruption budget')) return undefined;
  const [, budget, what] = /^The disruption budget (\S+) (.+)$/s.exec(cause?.message ?? '') ?? [];
  // Follows a colon: `still being processed by the server`.
  const why = what?.replace(/^is /, '').replace(/\.$/, '');
  return { kind: 'budget', budget, message: why ?? (cause?.message || message) };
}

interface WireBudget {
  metadata: { name: string; namespace?: string; generation?: number };
  spec?: {
    selector?: LabelQuery;
    minAvailable?: number | string;
    maxUnavailable?: number | string;
    unhealthyPodEvictionPolicy?: string;
  };
  status?: {
    observedGeneration?: number;
    disruptionsAllowed?: number;
    currentHealthy?: number;
    desiredHealthy?: number;
    expectedPods?: number;
    conditions?: { type: string; reason?: string; message?: string }[];
  };
}

export function toBudget({ metadata, spec = {}, status = {} }: WireBudget): Budget {
  const { observedGeneration = 0, disruptionsAllowed = 0, currentHealthy = 0 } = status;
  const { desiredHealthy = 0, expectedPods = 0 } = status;
  const { namespace = '', name, generation = 0 } = metadata;
  // The disruption controller sets the condition without updating the counts.
  const unsynced = status.conditions?.find(
    ({ type, reason }) => type === 'DisruptionAllowed' && reason === 'SyncFailed',
  );
  const isCurrent = observedGeneration >= generation && unsynced === undefined;
  return {
    namespace,
    name,
    selector: spec.selector,
    minAvailable: spec.minAvailable,
    maxUnavailable: spec.maxUnavailable,
    alwaysAllowsUnhealthy: spec.unhealthyPodEvictionPolicy === 'AlwaysAllow',
    status: isCurrent ? { disruptionsAllowed, currentHealthy, desiredHealthy, expectedPods } : undefined,
    ...(unsynced === undefined ? {} : { syncError: unsynced.message ?? 'SyncFailed' }),
  };
}

async function budgetsOf(api: Api, { namespace, name }: DrainPod): Promise<string[]> {
  type Labelled = { metadata: { name: string; labels?: Record<string, string> }; spec?: { selector?: LabelQuery } };
  const [pod, budgets] = await Promise.all([
    api.get<Labelled>({ ...inJson(PODS), namespace }, name),
    api.list({ ...BUDGETS, namespace }, (budget: Labelled) => budget),
  ]);
  const labels = pod?.metadata.labels ?? {};
  return budgets.filter(({ spec }) => matchesQuery(spec?.selector, labels)).map(({ metadata }) => metadata.name);
}

// v1 Pods of one node, for a drain.

const DRAINED_PODS: Resource = { ...PODS, decode: decodeDrainedPod };

/** All pods bound to the node, including terminated ones. @param podSelector a label selector */
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
