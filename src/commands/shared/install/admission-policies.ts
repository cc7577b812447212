/** Whether manifests/protect-records.yaml and protect-membership.yaml, which restrict kubelets, are in force. */
import type { ManifestObject, ManifestsPort } from '../../../kube/resources/manifests.ts';
import { isObject, ownValue } from '../../../nodepool/json.ts';
import { valueOrRefusal } from '../refusals.ts';

/** The policy that gives new nodes their pool's labels and taints, and its binding. */
export const BORN_IN_POOL = 'born-in-pool.nodes.lailin.xyz';
/** The policy that keeps kubelets from changing records, including those set at registration, and its binding. */
export const RECORDS = 'protect-records.nodes.lailin.xyz';
/** The policy that protects labels that pools select by from kubelets, and its binding. Needs RECORDS. */
export const MEMBERSHIP = 'protect-membership.nodes.lailin.xyz';

/** What the server adds to a policy, besides empty selectors. */
const DEFAULTS: Readonly<Record<string, unknown>> = { matchPolicy: 'Equivalent', scope: '*' };

/** Names of policies with a missing object, or one that differs from this version. @param policies and bindings */
export async function policiesOff(
  policies: readonly ManifestObject[],
  { get }: Pick<ManifestsPort, 'get'>,
): Promise<string[]> {
  const live = await Promise.all(policies.map(get));
  return [...new Set(policies.flatMap((wanted, at) => (isInForce(wanted, live[at]) ? [] : [wanted.metadata.name])))];
}

/** State of the policy that gives new nodes their pool's labels and taints. */
export type BornInPool =
  | { kind: 'absent' }
  /** See policiesOff(); empty if the policy is in force. */
  | { kind: 'installed'; off: readonly string[] };

/** @param objects the policy and its binding */
export async function bornInPoolOf(
  objects: readonly ManifestObject[],
  port: Pick<ManifestsPort, 'get' | 'isServed'>,
): Promise<BornInPool> {
  const served = await servedOf(objects, port);
  const live = await Promise.all(served.map(port.get));
  if (live.every(object => object === undefined)) return { kind: 'absent' };
  return { kind: 'installed', off: await policiesOff(objects, port) };
}

/** Empty if the server does not serve the kind of the first object, as before Kubernetes 1.36. */
export async function servedOf(
  objects: readonly ManifestObject[],
  { isServed }: Pick<ManifestsPort, 'isServed'>,
): Promise<readonly ManifestObject[]> {
  const [first] = objects;
  return first !== undefined && (await isServed(first)) ? objects : [];
}

/** False if they may not be read. @param policies those that restrict kubelets, which only work together */
export async function isMembershipProtected(
  policies: readonly ManifestObject[],
  port: Pick<ManifestsPort, 'get'>,
): Promise<boolean> {
  const off = await valueOrRefusal(() => policiesOff(policies, port));
  return 'value' in off && off.value.length === 0;
}

/** Whether it is a policy or a binding, in which one more rule can exclude requests. */
export function isPolicy({ apiVersion }: ManifestObject): boolean {
  return apiVersion.startsWith('admissionregistration.k8s.io/');
}

/** Whether a policy or binding on the server matches this version. */
export function isInForce({ spec }: ManifestObject, live: ManifestObject | undefined): boolean {
  return live !== undefined && isAsWanted(spec, live.spec, mayAdd);
}

/** An additional rule or selector would exclude requests. */
function mayAdd(key: string, value: unknown): boolean {
  return isEmpty(value) || value === ownValue(DEFAULTS, key);
}

function isEmpty(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0;
}

/** Whether an object has everything in a manifest; lists must be equal. @param mayAdd for fields not in the manifest */
export function isAsWanted(wanted: unknown, live: unknown, mayAdd: (key: string, value: unknown) => boolean): boolean {
  const isSame = (item: unknown, other: unknown) => isAsWanted(item, other, mayAdd);
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, at) => isSame(item, live[at]));
  }
  if (!isObject(wanted)) return wanted === live;
  if (!isObject(live)) return false;
  return (
    Object.entries(wanted).every(([key, value]) => isSame(value, ownValue(live, key))) &&
    Object.entries(live).every(([key, value]) => Object.hasOwn(wanted, key) || mayAdd(key, value))
  );
}
