/** How many more pods of a kind their ResourceQuotas allow (as the evaluators of k8s.io/kubernetes pkg/quota/v1). */
import { ownValue } from '../nodepool/json.ts';
import { type Amounts, type ReadQuantity, subtractToZero, toAmounts, ZERO } from '../nodepool/quantity/amounts.ts';
import { podLimits, podRequests } from '../nodepool/quantity/pod-resources.ts';
import { addQuantities, type Quantity, QuantityError } from '../nodepool/quantity/quantity.ts';
import type { ResourceList } from '../nodepool/types.ts';
import type { RawClaimSpec, RawPod, RawPodSpec } from './pod/raw-pod.ts';
import { type Requests, requestsOf } from './pod/requests.ts';
import type { PodTraits } from './types.ts';

export interface RawQuota {
  metadata?: { name?: string };
  spec?: {
    scopes?: string[];
    scopeSelector?: { matchExpressions?: { scopeName?: string; operator?: string; values?: string[] }[] };
  };
  status?: { hard?: ResourceList; used?: ResourceList };
}

export interface QuotaLimit {
  /** The quota's name. */
  name: string;
  resource: string;
  /** How many more pods the quota allows. */
  replicas: number;
}

/**
 * The quota that allows the fewest; undefined: no limit. @param className default class @param replaced existing pods
 * whose place is free; they count in the same scopes @throws QuantityError
 */
export function quotaLimit(
  pod: RawPod,
  quotas: readonly RawQuota[],
  read: ReadQuantity,
  className: string,
  replaced: readonly Pick<PodTraits, 'requests'>[] = [],
): QuotaLimit | undefined {
  const { spec = {} } = pod;
  const ofPod = podUsage({ spec }, read);
  const claims = claimsOf(spec);
  const requests = requestsOf({ spec }, read);
  let lowest: QuotaLimit | undefined;
  for (const { metadata = {}, spec: { scopes = [], scopeSelector } = {}, status = {} } of quotas) {
    const wanted = [
      ...scopes.map(scopeName => ({ scopeName, operator: 'Exists', values: [] as string[] })),
      ...(scopeSelector?.matchExpressions ?? []),
    ];
    const counted = claims.filter(claim => wanted.every(scope => isClaimInScope(claim, scope)));
    const usage = new Map([
      ...(wanted.every(scope => isInScope(spec, scope, read)) ? ofPod : []),
      ...claimUsage(counted, read, className),
    ]);
    for (const [resource, each] of usage) {
      const [hard, used] = [amountIn(status.hard, resource, read), amountIn(status.used, resource, read)];
      if (hard === undefined || each.unscaled <= 0n) continue;
      const replicas = timesIn(hard, subtractToZero(used ?? ZERO, freedBy(replaced, resource, each, requests)), each);
      if (lowest === undefined || replicas < lowest.replicas) {
        lowest = { name: metadata.name ?? '', resource, replicas };
      }
    }
  }
  return lowest;
}

/** @param each usage of a new pod @param requests of a new pod */
function freedBy(
  replaced: readonly Pick<PodTraits, 'requests'>[],
  resource: string,
  each: Quantity,
  requests: Requests,
): Quantity {
  const name = resource.replace(/^requests\./, '');
  // The limits of running pods are not read.
  const isAlike = (old: Requests) => [...requests].every(([key, amount]) => old.get(key) === amount);
  const freed = replaced.map((pod): Quantity => {
    if (requests.has(name))
      return { ...ZERO, unscaled: pod.requests.get(name) ?? 0n, exponent: name === 'cpu' ? -3 : 0 };
    return !resource.startsWith('limits.') || isAlike(pod.requests) ? each : ZERO;
  });
  return freed.reduce(addQuantities, ZERO);
}

interface CreatedObjects {
  /** Its own kind, with the group. */
  own?: string;
  /** What its controller creates for each revision or run, besides pods. */
  more: readonly string[];
}

const CREATES: Readonly<Record<string, CreatedObjects>> = {
  Deployment: { own: 'deployments.apps', more: ['replicasets.apps'] },
  ReplicaSet: { own: 'replicasets.apps', more: [] },
  ReplicationController: { own: 'replicationcontrollers', more: [] },
  StatefulSet: { own: 'statefulsets.apps', more: ['controllerrevisions.apps'] },
  DaemonSet: { own: 'daemonsets.apps', more: ['controllerrevisions.apps'] },
  Job: { own: 'jobs.batch', more: [] },
  CronJob: { own: 'cronjobs.batch', more: ['jobs.batch'] },
};

/**
 * A quota that has no room for the objects that a workload needs before its pods. @param isNew it does not exist yet
 * @param isRevised its pod template is new, too
 */
export function objectLimit(
  kind: string,
  { isNew, isRevised }: { isNew: boolean; isRevised: boolean },
  quotas: readonly RawQuota[],
  read: ReadQuantity,
): QuotaLimit | undefined {
  const { own, more = [] } = CREATES[kind] ?? {};
  const needed = [...(isNew && own !== undefined ? [own] : []), ...(isRevised || kind === 'CronJob' ? more : [])];
  for (const { metadata = {}, spec = {}, status = {} } of quotas) {
    // A quota with a scope counts no such objects.
    if ((spec.scopes ?? []).length > 0 || (spec.scopeSelector?.matchExpressions ?? []).length > 0) continue;
    for (const resource of needed.flatMap(name => [`count/${name}`, name])) {
      const hard = amountIn(status.hard, resource, read);
      const used = amountIn(status.used, resource, read) ?? ZERO;
      if (hard !== undefined && timesIn(hard, used, ONE) < 1)
        return { name: metadata.name ?? '', resource, replicas: 0 };
    }
  }
  return undefined;
}

/** Undefined: missing or invalid. */
export function amountIn(list: ResourceList | undefined, name: string, read: ReadQuantity): Quantity | undefined {
  const text = list === undefined ? undefined : ownValue(list, name);
  try {
    return text === undefined ? undefined : read(text);
  } catch (error) {
    if (!(error instanceof QuantityError)) throw error;
    return undefined;
  }
}

const ONE: Quantity = { ...ZERO, unscaled: 1n };

function podUsage(pod: { spec: RawPodSpec }, read: ReadQuantity): Amounts {
  const usage: Amounts = new Map([
    ['pods', ONE],
    ['count/pods', ONE],
  ]);
  for (const [name, amount] of podRequests(pod, read)) {
    if (isCompute(name)) usage.set(name, amount);
    if (isCompute(name) || name.includes('/')) usage.set(`requests.${name}`, amount);
  }
  for (const [name, amount] of podLimits(pod, read)) if (isCompute(name)) usage.set(`limits.${name}`, amount);
  return usage;
}

function isCompute(name: string): boolean {
  return name === 'cpu' || name === 'memory' || name === 'ephemeral-storage' || name.startsWith('hugepages-');
}

/** The claims that are created with each pod. */
function claimsOf({ volumes = [] }: RawPodSpec): RawClaimSpec[] {
  return volumes.flatMap(({ ephemeral }) =>
    ephemeral === undefined ? [] : [ephemeral.volumeClaimTemplate?.spec ?? {}],
  );
}

function claimUsage(claims: readonly RawClaimSpec[], read: ReadQuantity, defaultClass: string): Amounts {
  const usage: Amounts = new Map();
  const add = (name: string, amount: Quantity) => usage.set(name, addQuantities(usage.get(name) ?? ZERO, amount));
  for (const { storageClassName = defaultClass, resources } of claims) {
    const storage = toAmounts(resources?.requests, read).get('storage') ?? ZERO;
    const ofClass = `${storageClassName}.storageclass.storage.k8s.io/`;
    for (const name of ['persistentvolumeclaims', 'count/persistentvolumeclaims']) add(name, ONE);
    add('requests.storage', storage);
    if (storageClassName === '') continue;
    add(`${ofClass}persistentvolumeclaims`, ONE);
    add(`${ofClass}requests.storage`, storage);
  }
  return usage;
}

interface Scope {
  scopeName?: string;
  operator?: string;
  values?: string[];
}

/** No other scope than this one counts claims. */
function isClaimInScope({ volumeAttributesClassName: name = '' }: RawClaimSpec, scope: Scope): boolean {
  return scope.scopeName === 'VolumeAttributesClass' && isNameInScope(name, scope);
}

function isNameInScope(name: string, { operator, values = [] }: Scope): boolean {
  if (operator === 'In') return values.includes(name);
  if (operator === 'NotIn') return !values.includes(name);
  return (name !== '') === (operator !== 'DoesNotExist');
}

function isInScope(spec: RawPodSpec, scope: Scope, read: ReadQuantity): boolean {
  switch (scope.scopeName) {
    case 'Terminating':
      return spec.activeDeadlineSeconds !== undefined;
    case 'NotTerminating':
      return spec.activeDeadlineSeconds === undefined;
    case 'BestEffort':
      return isBestEffort(spec, read);
    case 'NotBestEffort':
      return !isBestEffort(spec, read);
    case 'CrossNamespacePodAffinity':
      return selectsNamespaces(spec);
    case 'PriorityClass':
      return isNameInScope(spec.priorityClassName ?? '', scope);
    default:
      return false;
  }
}

/** By the rules of the QoS class: no container has requests or limits of CPU or memory; "0" counts as none. */
function isBestEffort({ containers = [], initContainers = [], resources }: RawPodSpec, read: ReadQuantity): boolean {
  const lists = [resources, ...[...containers, ...initContainers].map(container => container.resources)];
  return lists
    .flatMap(list => [list?.requests, list?.limits])
    .every(of => ['cpu', 'memory'].every(name => (amountIn(of, name, read) ?? ZERO).unscaled <= 0n));
}

function selectsNamespaces({ affinity }: RawPodSpec): boolean {
  const { podAffinity, podAntiAffinity } = affinity ?? {};
  const terms = [podAffinity, podAntiAffinity].flatMap(each => [
    ...(each?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
    ...(each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).flatMap(
      ({ podAffinityTerm }) => podAffinityTerm ?? [],
    ),
  ]);
  return terms.some(
    ({ namespaces = [], namespaceSelector }) => namespaces.length > 0 || namespaceSelector !== undefined,
  );
}

/** How many times it fits between the two. */
function timesIn(hard: Quantity, used: Quantity, each: Quantity): number {
  const free = subtractToZero(hard, used);
  const exponent = Math.min(free.exponent, each.exponent);
  const scaled = (quantity: Quantity) => quantity.unscaled * 10n ** BigInt(quantity.exponent - exponent);
  return Number(scaled(free) / scaled(each));
}
